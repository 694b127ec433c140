#include "standalone/dialect.h"

#include "base/digits.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Space for the end of a line: brace, blank, sign, value, newline. */
enum {
    TAIL_BYTES = BJ_DIGITS_ROOM + 4,
    KEYS = BJ_INFO_MAX,
    NAME_BYTES = 100 /* of a family; tested */
};

struct page {
    struct bj_buf *out;
    enum bj_page_format format;
    const struct bj_dialect_options *options;
    /* The current family. */
    bool excluded;
    size_t start_len, key_len[KEYS];
    char start[BJ_PREFIX_BYTES + NAME_BYTES + 1]; /* name{ */
    const char *const *key;
};

/* HELP texts need no escapes; tested. */
static void put_comment(struct page *p, const char *what, size_t name_len,
                        const char *text)
{
    bj_buf_str(p->out, what);
    bj_buf_put(p->out, p->start, name_len);
    bj_buf_put(p->out, " ", 1);
    bj_buf_str(p->out, text);
    bj_buf_put(p->out, "\n", 1);
}

static int on_family(void *ctx, const struct bj_dialect_row *row,
                     const char *const *key)
{
    struct page *p = ctx;
    const char *prefix = p->options->prefix ? p->options->prefix : "";
    size_t before = strnlen(prefix, BJ_PREFIX_BYTES);
    size_t family = before + strnlen(row->name, NAME_BYTES);
    memcpy(p->start, prefix, before);
    memcpy(p->start + before, row->name, family - before);
    p->key = key;
    for (size_t i = 0; key[i]; i++)
        p->key_len[i] = strlen(key[i]);
    p->start[family] = '{';
    p->start_len = family + 1;
    p->excluded = bj_dialect_options_excludes(
        p->options, (struct bj_slice){p->start, family});
    if (p->excluded)
        return 0;
    if (p->format == BJ_PAGE_OPENMETRICS && row->kind == BJ_COUNTER)
        family -= strlen("_total");
    put_comment(p, "# HELP ", family, row->help);
    put_comment(p, "# TYPE ", family,
                row->kind == BJ_COUNTER ? "counter" : "gauge");
    return p->out->failed ? -ENOMEM : 0;
}

static inline char *dialect_put(char *at, const char *from, size_t n)
{
    memcpy(at, from, n);
    return at + n;
}

/* A label value, its closing quote and a comma. */
static char *dialect_put_value(char *at, struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '\\' || c == '"' || c == '\n')
            *at++ = '\\';
        *at++ = c == '\n' ? 'n' : c;
    }
    *at++ = '"';
    *at++ = ',';
    return at;
}

static size_t key_bytes(const struct page *p, const struct bj_slice *value)
{
    size_t n = 0;
    for (size_t i = 0; p->key[i]; i++)
        n += p->key_len[i] + 2 + 2 * value[i].n + 2;
    return n;
}

/* The end of a line. Replaces the comma after the last label, or the brace when
 * there is no label. */
static inline void dialect_put_end(struct page *p,
                                   const struct bj_dialect_sample *s, char *at)
{
    if (at[-1] == ',') {
        at[-1] = '}';
        *at++ = ' ';
    } else {
        at[-1] = ' ';
    }
    if (s->digits == BJ_DIGITS_MINUS)
        *at++ = '-';
    at = s->digits == BJ_DIGITS_MICRO ? bj_digits_micro(at, s->value)
                                      : bj_digits_u64(at, s->value);
    *at++ = '\n';
    p->out->len = (size_t)(at - p->out->p);
}

/* A sample with the family's own labels. */
__attribute__((noinline)) static int
put_other(struct page *p, const struct bj_dialect_sample *s)
{
    struct bj_buf *out = p->out;
    if (!bj_buf_room(out, p->start_len + s->labels.n + key_bytes(p, s->key) +
                              TAIL_BYTES))
        return -ENOMEM;
    char *at = dialect_put(out->p + out->len, p->start, p->start_len);
    if (s->labels.n > 0)
        at = dialect_put(at, s->labels.p, s->labels.n);
    for (size_t i = 0; p->key[i]; i++) {
        at = dialect_put(at, p->key[i], p->key_len[i]);
        at = dialect_put(at, "=\"", 2);
        at = dialect_put_value(at, s->key[i]);
    }
    dialect_put_end(p, s, at);
    return 0;
}

/* Nearly all samples have only the labels of their job. Space is reserved once
 * a line. */
static int on_sample(void *ctx, const struct bj_dialect_sample *s)
{
    struct page *p = ctx;
    struct bj_buf *out = p->out;
    if (p->excluded)
        return 0;
    if (s->key)
        return put_other(p, s);
    if (!bj_buf_room(out, p->start_len + s->labels.n + TAIL_BYTES))
        return -ENOMEM;
    char *at = dialect_put(out->p + out->len, p->start, p->start_len);
    if (s->labels.n > 0)
        at = dialect_put(at, s->labels.p, s->labels.n);
    dialect_put_end(p, s, at);
    return 0;
}

int bj_dialect_page(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_dialect_options *options,
                    enum bj_page_format format, struct bj_dialect_room *room,
                    struct bj_buf *out)
{
    struct page p = {.out = out, .format = format, .options = options};
    const struct bj_dialect_sink sink = {&p, on_family, on_sample};
    if (bj_view_dialect(d, snap, &options->env, room, &sink) < 0)
        out->failed = true;
    if (format == BJ_PAGE_OPENMETRICS)
        bj_buf_str(out, "# EOF\n");
    return out->failed ? -ENOMEM : 0;
}

/* --- options ---------------------------------------------------------------*/

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define AT(member) offsetof(struct bj_dialect_conf, member)

enum { FILE_BYTES = 1 << 16, MATCH_LIMIT = 100000 };

struct bj_dialect_regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static void regex_free(struct bj_dialect_regex *r)
{
    if (!r)
        return;
    pcre2_match_context_free(r->limits);
    pcre2_match_data_free(r->match);
    pcre2_code_free(r->code);
    free(r);
}

static int regex_new(const char *text, struct bj_dialect_regex **ret,
                     struct bj_err *err)
{
    int code;
    PCRE2_SIZE at;
    struct bj_dialect_regex *r = calloc(1, sizeof(*r));
    *ret = r;
    if (!r)
        return bj_err_set(err, -ENOMEM, "regular expression");
    r->code =
        pcre2_compile((PCRE2_SPTR)text, strlen(text), 0, &code, &at, NULL);
    if (!r->code) {
        PCRE2_UCHAR why[120];
        pcre2_get_error_message(code, why, sizeof(why));
        return bj_err_set(err, -EINVAL, "at byte %zu: %s", (size_t)at,
                          (const char *)why);
    }
    r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
    r->limits = pcre2_match_context_create(NULL);
    if (!r->match || !r->limits)
        return bj_err_set(err, -ENOMEM, "regular expression");
    pcre2_set_match_limit(r->limits, MATCH_LIMIT);
    return 0;
}

static int check_regex(const char *text, struct bj_err *err)
{
    struct bj_dialect_regex *regex;
    int r = regex_new(text, &regex, err);
    regex_free(regex);
    return r;
}

/* Check a prefix: valid characters and length. */
static int check_prefix(const char *s, struct bj_err *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789";
    if (strlen(s) < BJ_PREFIX_BYTES && s[strspn(s, plain)] == '\0' &&
        (*s < '0' || *s > '9'))
        return 0;
    return bj_err_set(err, -EINVAL,
                      "'%.40s' is not a valid prefix of metric names", s);
}

const struct bj_opt bj_dialect_opts[] = {
    {.name = "dialect.strict",
     .kind = BJ_OPT_BOOL,
     .off = AT(strict),
     .preset = "false",
     .help = "Reproduce the errors of another exporter that dashboards may "
             "depend on. docs/dialects.md lists them.",
     .more = "Enable it only when a dashboard shows wrong values without it.",
     .rare = true},
    {.name = "dialect.exclude",
     .kind = BJ_OPT_STR,
     .off = AT(exclude),
     .preset = "",
     .arg = "REGEX",
     .check = check_regex,
     .help = "Regular expression; leave out the metrics of another exporter's "
             "page whose names match.",
     .more = "Set it to reduce the number of series.",
     .rare = true},
    {.name = "dialect.prefix",
     .kind = BJ_OPT_STR,
     .off = AT(prefix),
     .preset = "",
     .arg = "TEXT",
     .check = check_prefix,
     .help = "Prefix for the metric names of another exporter's page.",
     .more = "Set it when the original ran with a prefix.",
     .rare = true},
    {.name = "dialect.skip-uids",
     .kind = BJ_OPT_STR,
     .off = AT(skip_uids),
     .preset = "",
     .arg = "FILE",
     .help = "File with user ids, one a line, whose jobs another exporter's "
             "page leaves out. Read at the start.",
     .more = "Set it to hide the jobs of system users.",
     .rare = true},
    {.name = NULL},
};

bool bj_dialect_options_excludes(const struct bj_dialect_options *s,
                                 struct bj_slice family)
{
    const struct bj_dialect_regex *r = s->exclude;
    return r && pcre2_match(r->code, (PCRE2_SPTR)family.p, family.n, 0, 0,
                            r->match, r->limits) >= 0;
}

static int read_uids(struct bj_dialect_options *s, const char *path,
                     struct bj_err *err)
{
    char text[FILE_BYTES];
    struct bj_slice rest, line;
    size_t lines = 1, n = 0;
    int r = bj_file_read_all(AT_FDCWD, path, text, sizeof(text), &rest, err);
    if (r < 0)
        return bj_err_wrap(err, r, "dialect.skip-uids");
    for (size_t i = 0; i < rest.n; i++)
        lines += rest.p[i] == '\n';
    s->uids = calloc(lines, sizeof(*s->uids));
    if (!s->uids)
        return bj_err_set(err, -ENOMEM, "dialect.skip-uids");
    while (bj_slice_line(&rest, &line)) {
        line = bj_slice_trim(line);
        if (line.n > 0 && bj_slice_u64(line, &s->uids[n++]) < 0)
            return bj_err_set(err, -EINVAL,
                              "dialect.skip-uids: %s: '%.*s' is not a number",
                              path, (int)(line.n < 40 ? line.n : 40), line.p);
    }
    s->env.skip_uids = s->uids;
    s->env.nskip_uids = n;
    return 0;
}

int bj_dialect_options_init(const struct bj_dialect_conf *conf,
                            const struct bj_conf *core,
                            struct bj_dialect_options *ret, struct bj_err *err)
{
    struct utsname name;
    size_t n = 0;
    char path[512];
    if (uname(&name) == 0)
        n = bj_text_clean(bj_slice_str(name.nodename), ret->host,
                          BJ_HOST_BYTES);
    snprintf(path, sizeof(path), "%s/cgroup.controllers",
             core->cgroupfs ? core->cgroupfs : "");
    ret->env = (struct bj_dialect_env){.unified = access(path, F_OK) == 0,
                                       .strict = conf->strict,
                                       .host = {ret->host, n},
                                       .hide_user = !core->label_user,
                                       .hide_account = !core->label_account};
    if (bj_is_set(conf->prefix))
        ret->prefix = conf->prefix;
    int r = 0;
    if (bj_is_set(conf->exclude))
        r = regex_new(conf->exclude, &ret->exclude, err);
    if (r == 0 && bj_is_set(conf->skip_uids))
        r = read_uids(ret, conf->skip_uids, err);
    return r;
}

void bj_dialect_options_free(struct bj_dialect_options *s)
{
    regex_free(s->exclude);
    free(s->uids);
    *s = (struct bj_dialect_options){0};
}
