#include "base/file.h"
#include "base/opt.h"
#include "base/opt_priv.h"
#include "base/text.h"
#include "base/yaml.h"

#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>

enum { FILE_BYTES = 1 << 20, NAME_BYTES = 128 };

/* A file being read. */
struct walk {
    const struct bj_optset *sets;
    size_t n;
    struct bj_yaml yaml;
    struct bj_optseen seen;
    char name[NAME_BYTES]; /* dotted name of the current section */
    size_t len;
};

/* Options need no anchors, aliases or tags; without them a small file cannot
 * expand to a large one. */
static const char *unwanted(const yaml_event_t *ev)
{
    const void *anchor = NULL, *tag = NULL;
    switch (ev->type) {
    case YAML_ALIAS_EVENT:
        return "aliases are not supported";
    case YAML_SCALAR_EVENT:
        anchor = ev->data.scalar.anchor;
        tag = ev->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = ev->data.sequence_start.anchor;
        tag = ev->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = ev->data.mapping_start.anchor;
        tag = ev->data.mapping_start.tag;
        break;
    default:
        break;
    }
    return anchor ? "anchors are not supported"
           : tag  ? "tags are not supported"
                  : NULL;
}

static int opt_yaml_next(struct walk *w, yaml_event_t *ev)
{
    int r = bj_yaml_event(&w->yaml, ev);
    const char *why = r == 0 ? unwanted(ev) : NULL;
    return why ? bj_yaml_wrong(&w->yaml, ev->start_mark, "%s", why) : r;
}

static struct bj_slice scalar(const yaml_event_t *ev)
{
    return (struct bj_slice){(const char *)ev->data.scalar.value,
                             ev->data.scalar.length};
}

/* Nothing, "~" or "null" without quotes. */
static bool is_null(const yaml_event_t *ev)
{
    struct bj_slice s = scalar(ev);
    return ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (s.n == 0 || bj_slice_eq(s, BJ_SLICE("~")) ||
            bj_slice_eq(s, BJ_SLICE("null")));
}

/* What a key names: an option, a section, or both ("collector.process" and
 * "collector.process.place"), which its value decides.  A section is identified
 * by its first option. */
struct key {
    const struct bj_optset *set;
    const struct bj_opt *opt, *section; /* NULL: none */
    yaml_mark_t mark;
};

static const struct bj_opt *find_section(const struct walk *w)
{
    for (size_t i = 0; i < w->n; i++)
        for (const struct bj_opt *o = w->sets[i].opts; o->name; o++)
            if (strlen(o->name) > w->len && o->name[w->len] == '.' &&
                strncasecmp(o->name, w->name, w->len) == 0)
                return o;
    return NULL;
}

static int find_key(struct walk *w, struct key *k)
{
    struct bj_slice name = {w->name, w->len};
    k->opt = bj_opt_find(w->sets, w->n, name, &k->set);
    k->section = find_section(w);
    if (k->opt || k->section)
        return 0;
    char shown[NAME_BYTES], meant[BJ_OPT_SUGGESTION];
    bj_text_clean(name, shown, sizeof(shown));
    return bj_err_set(w->yaml.err, -EINVAL, "unknown option '%s'%s", shown,
                      bj_opt_suggest(w->sets, w->n, name, meant));
}

/* Nothing may come twice. */
static int opt_yaml_note(struct walk *w, const struct key *k, bool section)
{
    int r = section ? bj_optseen_add(&w->seen, k->section, w->len)
                    : bj_optseen_add(&w->seen, k->opt, 0);
    if (r > 0)
        return 0;
    r = r < 0 ? bj_err_set(w->yaml.err, r, "%s", w->name)
              : bj_err_set(w->yaml.err, -EINVAL, "%s: given twice", w->name);
    return bj_yaml_position(&w->yaml, k->mark, r);
}

/* Append ".key" to the name of the section. */
static int push_key(struct walk *w, struct bj_slice key)
{
    char shown[64];
    if (key.n + 2 > sizeof(w->name) - w->len ||
        (key.n > 0 && memchr(key.p, '\0', key.n))) {
        bj_text_clean(key, shown, sizeof(shown));
        return bj_err_set(w->yaml.err, -EINVAL, "unknown option '%s'", shown);
    }
    if (w->len > 0)
        w->name[w->len++] = '.';
    if (key.n > 0)
        memcpy(w->name + w->len, key.p, key.n);
    w->len += key.n;
    w->name[w->len] = '\0';
    return 0;
}

static int set_scalar(struct walk *w, const struct key *k,
                      const yaml_event_t *ev)
{
    int r = 0;
    if (k->opt && is_null(ev))
        r = bj_err_set(w->yaml.err, -EINVAL, "%s: has no value", w->name);
    else if (k->opt)
        r = bj_opt_assign(k->set, k->opt, scalar(ev), w->yaml.err);
    else if (!is_null(ev))
        r = bj_err_set(w->yaml.err, -EINVAL,
                       "%s: is a section, not an option; write '%s: VALUE', or "
                       "its options indented below it",
                       w->name, k->section->name);
    return r < 0 ? bj_yaml_position(&w->yaml, ev->start_mark, r) : 0;
}

static int set_item(struct walk *w, const struct key *k, const yaml_event_t *ev)
{
    int r;
    if (ev->type != YAML_SCALAR_EVENT)
        r = bj_err_set(w->yaml.err, -EINVAL,
                       "%s: a list may contain only texts", w->name);
    else if (scalar(ev).n == 0 || is_null(ev))
        r = bj_err_set(w->yaml.err, -EINVAL, "%s: an entry is empty", w->name);
    else
        r = bj_opt_assign(k->set, k->opt, scalar(ev), w->yaml.err);
    return r < 0 ? bj_yaml_position(&w->yaml, ev->start_mark, r) : 0;
}

static int set_list(struct walk *w, const struct key *k,
                    const yaml_mark_t *mark)
{
    if (!k->opt || k->opt->kind != BJ_OPT_LIST)
        return bj_yaml_wrong(&w->yaml, *mark, "%s: %s, not a list", w->name,
                             k->opt ? "takes one value" : "is a section");
    /* An empty list is a setting too. */
    int r = bj_opt_assign(k->set, k->opt, BJ_SLICE(""), w->yaml.err);
    if (r < 0)
        return bj_yaml_position(&w->yaml, *mark, r);
    for (;;) {
        bj_autoevent ev = {0};
        r = opt_yaml_next(w, &ev);
        if (r == 0 && ev.type == YAML_SEQUENCE_END_EVENT)
            return 0;
        if (r == 0)
            r = set_item(w, k, &ev);
        if (r < 0)
            return r;
    }
}

static int read_section(struct walk *w);

static int read_value(struct walk *w, const struct key *k)
{
    bj_autoevent ev = {0};
    int r = opt_yaml_next(w, &ev);
    bool mapping = r == 0 && ev.type == YAML_MAPPING_START_EVENT;
    if (mapping && !k->section)
        r = bj_yaml_position(&w->yaml, ev.start_mark,
                             bj_err_set(w->yaml.err, -EINVAL,
                                        "%s: is an option, not a section",
                                        w->name));
    if (r == 0)
        r = opt_yaml_note(w, k, mapping || !k->opt);
    if (r < 0)
        return r;
    if (mapping)
        return read_section(w);
    if (k->opt)
        bj_opt_restart(k->set, k->opt);
    return ev.type == YAML_SCALAR_EVENT ? set_scalar(w, k, &ev)
                                        : set_list(w, k, &ev.start_mark);
}

static int read_key(struct walk *w, const yaml_event_t *ev)
{
    struct key k = {.mark = ev->start_mark};
    size_t len = w->len;
    int r;
    if (ev->type != YAML_SCALAR_EVENT)
        r = bj_err_set(w->yaml.err, -EINVAL,
                       "the name of an option must be text");
    else
        r = push_key(w, scalar(ev));
    if (r == 0)
        r = find_key(w, &k);
    if (r < 0)
        return bj_yaml_position(&w->yaml, k.mark, r);
    r = read_value(w, &k);
    w->len = len;
    w->name[len] = '\0';
    return r;
}

/* Keys and values up to the end of the mapping.  Only names of sections
 * recurse, so the options limit the depth. */
static int read_section(struct walk *w)
{
    for (;;) {
        bj_autoevent ev = {0};
        int r = opt_yaml_next(w, &ev);
        if (r == 0 && ev.type == YAML_MAPPING_END_EVENT)
            return 0;
        if (r == 0)
            r = read_key(w, &ev);
        if (r < 0)
            return r;
    }
}

static int read_document(struct walk *w, const yaml_event_t *ev)
{
    if (ev->type == YAML_MAPPING_START_EVENT)
        return read_section(w);
    if (ev->type == YAML_SCALAR_EVENT && is_null(ev))
        return 0;
    return bj_yaml_wrong(&w->yaml, ev->start_mark,
                         "expected options, \"name: value\"");
}

static int read_stream(struct walk *w)
{
    for (unsigned documents = 0;;) {
        bj_autoevent ev = {0};
        int r = opt_yaml_next(w, &ev);
        if (r < 0 || ev.type == YAML_STREAM_END_EVENT)
            return r;
        if (ev.type == YAML_DOCUMENT_START_EVENT && ++documents > 1)
            return bj_yaml_wrong(&w->yaml, ev.start_mark, "a second document");
        if (ev.type != YAML_STREAM_START_EVENT &&
            ev.type != YAML_DOCUMENT_START_EVENT &&
            ev.type != YAML_DOCUMENT_END_EVENT)
            r = read_document(w, &ev);
        if (r < 0)
            return r;
    }
}

int bj_opt_yaml_text(const struct bj_optset *sets, size_t n, const char *name,
                     struct bj_slice text, struct bj_err *err)
{
    struct walk w = {
        .sets = sets, .n = n, .yaml = {.name = name, .text = text, .err = err}};
    int r = bj_yaml_open(&w.yaml);
    if (r < 0)
        return r;
    r = read_stream(&w);
    bj_yaml_close(&w.yaml);
    bj_optseen_free(&w.seen);
    return r;
}

int bj_opt_yaml(const struct bj_optset *sets, size_t n, const char *path,
                struct bj_err *err)
{
    char *buf = malloc(FILE_BYTES + 1);
    struct bj_slice text;
    if (!buf)
        return bj_err_set(err, -ENOMEM, "%s", path);
    int r = bj_file_read_all(AT_FDCWD, path, buf, FILE_BYTES + 1, &text, err);
    if (r == 0)
        r = bj_opt_yaml_text(sets, n, path, text, err);
    free(buf);
    return r;
}
