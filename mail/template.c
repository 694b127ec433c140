#include "mail/template.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/html.h"
#include "base/save.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The built-in templates. */

extern const char bj_mail_job_text[], bj_mail_job_html[];
extern const char bj_mail_warning_text[], bj_mail_warning_html[];
extern const char bj_mail_digest_text[], bj_mail_digest_html[];

const char bj_mail_job_text[] = "Subject: {{title}}, {{state}}: {{verdict}}\n"
                                "\n"
                                "{{report}}\n"
                                "{{link}}\n"
                                "-- \n"
                                "{{stop}}\n";

const char bj_mail_digest_text[] = "Subject: {{title}}\n"
                                   "\n"
                                   "{{report}}\n"
                                   "{{link}}\n"
                                   "-- \n"
                                   "{{stop}}\n";

/* The style of the web pages, in colours with a contrast of at least 4.5:1 on
 * light and dark backgrounds. */
#define HEAD                                                                   \
    "<!DOCTYPE html>\n"                                                        \
    "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"                       \
    "<meta name=\"viewport\" content=\"width=device-width\">\n"                \
    "<meta name=\"color-scheme\" content=\"light dark\">\n"                    \
    "<title>{{title}}</title>\n"                                               \
    "<style>\n"                                                                \
    ":root{color-scheme:light dark}\n"                                         \
    "body{margin:0;padding:1rem;font:15px/1.45 system-ui,sans-serif;"          \
    "color:#1a1a1a;background:#fff}\n"                                         \
    "main{max-width:600px;margin:0 auto}\n"                                    \
    "h1{font-size:1.3rem;margin:.2rem 0 .4rem}\n"                              \
    "h2{font-size:1.05rem;margin:1.4rem 0 .4rem}\n"                            \
    "p{margin:.3rem 0}table+p{margin-top:.8rem}\n"                             \
    "a{color:#005a9c}\n"                                                       \
    "ul{margin:.3rem 0;padding-left:1.2rem}li{margin:.3rem 0}\n"               \
    "table{border-collapse:collapse;width:100%}\n"                             \
    "th,td{padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top;"    \
    "border-bottom:1px solid #d9d9d9;overflow-wrap:anywhere}\n"                \
    "th{font-weight:normal;color:#595959}\n"                                   \
    "td.n,th.n{text-align:right;white-space:nowrap}\n"                         \
    "code{background:#f5f5f5;border:1px solid #d9d9d9;padding:.1rem .3rem;"    \
    "overflow-wrap:anywhere}\n"                                                \
    ".option{display:inline-block;max-width:100%;overflow-wrap:anywhere}\n"    \
    ".sub,.stop{color:#595959}.stop{font-size:.85rem;margin-top:1.6rem;"       \
    "border-top:1px solid #d9d9d9;padding-top:.6rem}\n"                        \
    ".verdict{border-left:.4rem solid #595959;background:#f5f5f5;"             \
    "padding:.6rem .9rem;margin:.8rem 0}\n"                                    \
    ".verdict h2{margin:0 0 .3rem}\n"                                          \
    ".critical{border-color:#9a3324}h2.critical,b.critical{color:#9a3324}\n"   \
    ".warning{border-color:#7a4b00}h2.warning,b.warning{color:#7a4b00}\n"      \
    ".info{border-color:#005a9c}b.info{color:#005a9c}\n"                       \
    ".good{border-color:#006e51}h2.good{color:#006e51}\n"                      \
    ".bar{background:#e4e4e4;height:.6rem;width:5rem;margin-top:.45rem}\n"     \
    ".bar div{background:#005a9c;height:.6rem}\n"                              \
    "img{max-width:100%;height:auto;background:#fff}\n"                        \
    "@media(max-width:30rem){.phone{display:none}.bar{width:2.6rem}}\n"        \
    "@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:"         \
    "#121212}\n"                                                               \
    "a,b.info{color:#7cc4ff}.bar div{background:#7cc4ff}.bar{background:"      \
    "#3d3d3d}\n"                                                               \
    "th,td,code,.stop{border-color:#3d3d3d}th,.sub,.stop{color:#b3b3b3}\n"     \
    "code,.verdict{background:#1f1f1f}\n"                                      \
    "h2.critical,b.critical{color:#ff9a8a}.critical{border-color:#ff9a8a}\n"   \
    "h2.warning,b.warning{color:#f0b050}.warning{border-color:#f0b050}\n"      \
    "h2.good{color:#4fd0a5}.good{border-color:#4fd0a5}"                        \
    ".info{border-color:#7cc4ff}}\n"                                           \
    "</style></head>\n"                                                        \
    "<body><main>\n"                                                           \
    "<h1>{{title}}</h1>\n"

const char bj_mail_job_html[] = HEAD "<p class=\"sub\">{{about}}</p>\n"
                                     "{{report}}\n"
                                     "<p>{{link}}</p>\n"
                                     "<p class=\"stop\">{{stop}}</p>\n"
                                     "</main></body></html>\n";

const char bj_mail_digest_html[] = HEAD "{{report}}\n"
                                        "<p>{{link}}</p>\n"
                                        "<p class=\"stop\">{{stop}}</p>\n"
                                        "</main></body></html>\n";

const char bj_mail_warning_text[] = "Subject: {{title}}: {{verdict}}\n"
                                    "\n"
                                    "{{next}}\n"
                                    "\n"
                                    "{{report}}\n"
                                    "{{link}}\n"
                                    "-- \n"
                                    "{{stop}}\n";

const char bj_mail_warning_html[] = HEAD "<p class=\"sub\">{{about}}</p>\n"
                                         "<p><b>{{next}}</b></p>\n"
                                         "{{report}}\n"
                                         "<p>{{link}}</p>\n"
                                         "<p class=\"stop\">{{stop}}</p>\n"
                                         "</main></body></html>\n";

enum { FILE_BYTES = 1 << 18 };

/* A text, followed by the value of a word unless it is the last piece. */
struct piece {
    struct bj_slice text;
    int word; /* -1: none */
    struct piece *next;
};

struct bj_mail_templates {
    struct bj_arena arena;
    const struct piece *form[BJ_MAIL_KINDS][BJ_MAIL_FORMS];
};

static const char *const word_names[BJ_MAIL_WORD_COUNT] = {
#define NAME(upper, lower) #lower,
    BJ_MAIL_WORDS(NAME)
#undef NAME
};

/* Can this kind of mail have the word?  A digest has no single job; only a
 * warning has a next action. */
static bool is_of(enum bj_mail_kind kind, int word)
{
    if (word == BJ_MAIL_NEXT)
        return kind == BJ_MAIL_WARNING;
    return kind != BJ_MAIL_DIGEST || word == BJ_MAIL_TITLE ||
           word == BJ_MAIL_USER || word == BJ_MAIL_REPORT ||
           word == BJ_MAIL_LINK || word == BJ_MAIL_STOP;
}

static const struct builtin {
    const char *name;
    const char *text;
    enum bj_mail_kind kind;
    bool html;
} builtins[] = {
    {"job.txt", bj_mail_job_text, BJ_MAIL_OF_JOB, false},
    {"job.html", bj_mail_job_html, BJ_MAIL_OF_JOB, true},
    {"digest.txt", bj_mail_digest_text, BJ_MAIL_DIGEST, false},
    {"digest.html", bj_mail_digest_html, BJ_MAIL_DIGEST, true},
    {"warning.txt", bj_mail_warning_text, BJ_MAIL_WARNING, false},
    {"warning.html", bj_mail_warning_html, BJ_MAIL_WARNING, true},
};

enum { BUILTINS = sizeof(builtins) / sizeof(builtins[0]) };

/* --- parsing ---------------------------------------------------------------
 */

struct parse {
    struct bj_arena *arena;
    const char *name; /* of the file */
    struct bj_slice all;
    enum bj_mail_kind kind;
    struct bj_err *err;
};

static int template_wrong(const struct parse *p, const char *at,
                          const char *what, struct bj_slice word)
{
    unsigned line = 1;
    for (const char *c = p->all.p; c < at; c++)
        line += *c == '\n';
    return bj_err_set(p->err, -EINVAL, "%s, line %u: %s%.*s", p->name, line,
                      what, (int)(word.n < 40 ? word.n : 40), word.p);
}

static int word_of(const struct parse *p, struct bj_slice name, int *ret)
{
    struct bj_slice word = bj_slice_trim(name);
    for (int i = 0; i < BJ_MAIL_WORD_COUNT; i++)
        if (bj_slice_eq(word, bj_slice_str(word_names[i]))) {
            *ret = i;
            return is_of(p->kind, i)
                       ? 0
                       : template_wrong(p, name.p,
                                        "this mail has no placeholder ", word);
        }
    return template_wrong(p, name.p, "unknown placeholder ", word);
}

/* Cut the text before the next "{{" off *rest, and the name up to "}}". */
static int template_cut(const struct parse *p, struct bj_slice *rest,
                        struct piece *piece)
{
    const char *open = memmem(rest->p, rest->n, "{{", 2);
    piece->word = -1;
    piece->text = *rest;
    if (!open) {
        rest->n = 0;
        return 0;
    }
    piece->text.n = (size_t)(open - rest->p);
    struct bj_slice name = {open + 2, rest->n - piece->text.n - 2};
    const char *close = memmem(name.p, name.n, "}}", 2);
    if (!close)
        return template_wrong(
            p, open, "}} is missing after ",
            (struct bj_slice){open, name.n + 2 < 20 ? name.n + 2 : 20});
    rest->n = (size_t)(rest->p + rest->n - close - 2);
    rest->p = close + 2;
    name.n = (size_t)(close - name.p);
    return word_of(p, name, &piece->word);
}

static int template_parse(const struct parse *p, struct bj_slice text,
                          const struct piece **ret, unsigned *ret_words)
{
    struct piece *first = NULL, **last = &first;
    while (text.n > 0) {
        struct piece *piece = bj_arena_alloc(p->arena, sizeof(*piece));
        if (!piece)
            return bj_err_set(p->err, -ENOMEM, "%s", p->name);
        int r = template_cut(p, &text, piece);
        if (r < 0)
            return r;
        if (piece->word >= 0)
            *ret_words |= 1u << piece->word;
        *last = piece;
        last = &piece->next;
    }
    *ret = first;
    return 0;
}

/* The first line of a text is its subject. */
static int parse_subject(const struct parse *p, struct bj_slice *text,
                         const struct piece **ret)
{
    struct bj_slice line, empty, prefix = BJ_SLICE("Subject: ");
    unsigned words = 0;
    if (!bj_slice_line(text, &line) || !bj_slice_starts(line, prefix) ||
        !bj_slice_line(text, &empty) || bj_slice_trim(empty).n > 0)
        return template_wrong(p, p->all.p,
                              "expected 'Subject: TEXT' and an empty line",
                              BJ_SLICE(""));
    line.p += prefix.n;
    line.n -= prefix.n;
    return template_parse(p, line, ret, &words);
}

static int parse_file(struct bj_arena *arena, const char *name,
                      struct bj_slice text, enum bj_mail_kind kind, bool html,
                      const struct piece **form, struct bj_err *err)
{
    static const int required[] = {BJ_MAIL_REPORT, BJ_MAIL_STOP};
    text = bj_arena_copy(arena, text);
    const struct parse p = {arena, name, text, kind, err};
    struct bj_slice body = text;
    unsigned words = 0;
    int r = html ? 0 : parse_subject(&p, &body, &form[BJ_MAIL_SUBJECT]);
    if (r == 0)
        r = template_parse(&p, body, &form[html ? BJ_MAIL_HTML : BJ_MAIL_TEXT],
                           &words);
    for (unsigned i = 0; r == 0 && i < 2; i++)
        if (!(words & 1u << required[i]))
            r = bj_err_set(err, -EINVAL, "%s: {{%s}} is missing", name,
                           word_names[required[i]]);
    return r == 0 && arena->failed ? bj_err_set(err, -ENOMEM, "%s", name) : r;
}

int bj_mail_template_check(const char *name, struct bj_slice text,
                           enum bj_mail_kind kind, bool html,
                           struct bj_err *err)
{
    struct bj_arena arena = {0};
    const struct piece *form[BJ_MAIL_FORMS];
    int r = parse_file(&arena, name, text, kind, html, form, err);
    bj_arena_free(&arena);
    return r;
}

/* --- files -----------------------------------------------------------------
 */

static int path_of(const char *dir, const struct builtin *b, char *path,
                   size_t cap, struct bj_err *err)
{
    return snprintf(path, cap, "%s/%s", dir, b->name) < (int)cap
               ? 0
               : bj_err_set(err, -ENAMETOOLONG, "%s", dir);
}

static int template_load(struct bj_mail_templates *t, const char *dir,
                         const struct builtin *b, char *buf, struct bj_err *err)
{
    char path[PATH_MAX];
    struct bj_slice text = bj_slice_str(b->text);
    const char *name = b->name;
    if (dir && dir[0]) {
        int r = path_of(dir, b, path, sizeof(path), err);
        if (r < 0)
            return r;
        r = bj_file_read_all(AT_FDCWD, path, buf, FILE_BYTES, &text, err);
        if (r < 0 && r != -ENOENT)
            return r;
        name = r == 0 ? path : name;
    }
    int r = parse_file(&t->arena, name, text, b->kind, b->html,
                       t->form[b->kind], err);
    return r < 0 ? bj_err_wrap(err, r, "mail.template-dir") : 0;
}

int bj_mail_templates_new(const char *dir, struct bj_mail_templates **ret,
                          struct bj_err *err)
{
    struct bj_mail_templates *t = calloc(1, sizeof(*t));
    char *buf = malloc(FILE_BYTES);
    int fd = dir && dir[0] ? bj_dir_open(AT_FDCWD, dir) : -1;
    int r = t && buf ? 0 : bj_err_set(err, -ENOMEM, "templates");
    if (r == 0 && dir && dir[0] && fd < 0)
        r = bj_err_set(err, -EINVAL, "mail.template-dir: cannot open %s", dir);
    bj_close_fd(&fd);
    for (unsigned i = 0; r == 0 && i < BUILTINS; i++)
        r = template_load(t, dir, &builtins[i], buf, err);
    free(buf);
    if (r < 0) {
        bj_mail_templates_free(t);
        return r;
    }
    *ret = t;
    return 0;
}

void bj_mail_templates_free(struct bj_mail_templates *t)
{
    if (!t)
        return;
    bj_arena_free(&t->arena);
    free(t);
}

int bj_mail_templates_write(const char *dir, struct bj_err *err)
{
    char path[PATH_MAX];
    int r = 0;
    for (unsigned i = 0; r == 0 && i < BUILTINS; i++) {
        r = path_of(dir, &builtins[i], path, sizeof(path), err);
        if (r == 0)
            r = bj_save(path, bj_slice_str(builtins[i].text), 0644, BJ_SAVE_NEW,
                        err);
    }
    return r;
}

/* --- values ----------------------------------------------------------------
 */

static bool is_html(int word)
{
    return word == BJ_MAIL_REPORT || word == BJ_MAIL_LINK ||
           word == BJ_MAIL_STOP;
}

void bj_mail_fill(const struct bj_mail_templates *t, enum bj_mail_kind kind,
                  enum bj_mail_form form, const struct bj_slice *value,
                  struct bj_buf *out)
{
    for (const struct piece *p = t->form[kind][form]; p; p = p->next) {
        bj_buf_slice(out, p->text);
        if (p->word < 0)
            continue;
        if (form == BJ_MAIL_HTML && !is_html(p->word))
            bj_html_text(out, value[p->word]);
        else
            bj_buf_slice(out, value[p->word]);
    }
}
