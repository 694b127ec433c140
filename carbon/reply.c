#include "carbon/reply.h"

#include "base/html.h"
#include "base/stamp.h"
#include "base/text.h"

enum { KIB = 1024 };

/* --- replies ---------------------------------------------------------------*/

/* The most common reply that is not JSON is an HTML page of a proxy or a
 * captive portal. */
static bool is_markup(struct bj_slice text)
{
    text = bj_slice_trim(text);
    if (bj_slice_starts(text, BJ_SLICE("\xef\xbb\xbf")))
        text = (struct bj_slice){text.p + 3, text.n - 3};
    return text.n > 0 && *text.p == '<';
}

static int parse_tree(struct bj_arena *a, struct bj_slice text,
                      const struct bj_json **ret, struct bj_err *err)
{
    static const struct bj_json_limits limits = {
        .bytes = 256 * KIB, .values = 20000, .depth = 16};
    if (is_markup(text))
        return bj_err_set(err, -EINVAL, "a page of HTML or XML, not JSON");
    return bj_json_parse(a, text, "answer", &limits, ret, err);
}

int bj_carbon_reply_parse(struct bj_slice text, const char *zone,
                          bj_carbon_row_fn *read, struct bj_carbon_reply *ret,
                          struct bj_err *err)
{
    ret->n = ret->unknown = 0;
    struct bj_arena a = {0};
    const struct bj_json *doc;
    int r = parse_tree(&a, text, &doc, err);
    if (r == 0)
        r = read(doc, zone, ret, err);
    bj_arena_free(&a);
    return r;
}

int bj_carbon_reply_rows(const struct bj_json *array, const char *what,
                         const char *zone, bj_carbon_row_fn *read,
                         struct bj_carbon_reply *ret, struct bj_err *err)
{
    if (bj_json_kind(array) != BJ_JSON_ARRAY)
        return bj_err_set(err, -EINVAL, "%s: expected an array, got %s", what,
                          bj_json_kind_name(array));
    BJ_JSON_EACH(row, array)
    {
        int r = read(row, zone, ret, err);
        if (r < 0)
            return r;
    }
    return 0;
}

void bj_carbon_reply_add(struct bj_carbon_reply *ret,
                         const struct bj_json *start,
                         struct bj_carbon_point point)
{
    int64_t sec;
    if (point.mg_per_kwh == 0 ||
        bj_stamp_sec(bj_json_text(start), BJ_STAMP_BARE_UTC, &sec) < 0 ||
        sec <= 0) {
        ret->unknown++;
        return;
    }
    if (ret->n == BJ_CARBON_REPLY_POINTS)
        return;
    point.start_sec = (uint64_t)sec;
    ret->v[ret->n++] = point;
}

int bj_carbon_reply_bad(const char *what, struct bj_slice got,
                        const char *expected, struct bj_err *err)
{
    char text[64];
    bj_text_clean(got, text, sizeof(text));
    return bj_err_set(err, -EINVAL, "%s: '%s' instead of '%s'", what, text,
                      expected);
}

static int login_token(struct bj_slice text, struct bj_arena *a,
                       struct bj_slice *ret, struct bj_err *err)
{
    const struct bj_json *doc;
    int r = parse_tree(a, text, &doc, err);
    if (r < 0)
        return r;
    *ret = bj_json_text(bj_json_get(doc, "token"));
    if (ret->n == 0)
        return bj_err_set(err, -EINVAL, "no token in the reply");
    for (size_t i = 0; i < ret->n; i++)
        if ((unsigned char)ret->p[i] <= ' ' || (unsigned char)ret->p[i] > '~')
            return bj_err_set(err, -EINVAL,
                              "a token with blanks or control characters");
    return 0;
}

int bj_carbon_login_parse(struct bj_slice text, char *tok, size_t cap,
                          struct bj_err *err)
{
    struct bj_arena a = {0};
    struct bj_slice s;
    int r = login_token(text, &a, &s, err);
    if (r == 0 && s.n >= cap)
        r = bj_err_set(err, -EINVAL, "a token of more than %zu bytes", cap - 1);
    if (r == 0) {
        memcpy(tok, s.p, s.n);
        tok[s.n] = '\0';
    }
    bj_arena_free(&a);
    return r;
}

/* --- requests --------------------------------------------------------------*/

void bj_carbon_url(struct bj_buf *out, const char *origin, const char *path)
{
    struct bj_slice o = bj_slice_str(origin);
    while (o.n > 0 && o.p[o.n - 1] == '/')
        o.n--;
    bj_buf_slice(out, o);
    bj_buf_str(out, path);
}

void bj_carbon_param(struct bj_buf *out, const char *name, const char *value)
{
    bool first = out->len == 0 || !memchr(out->p, '?', out->len);
    bj_buf_str(out, first ? "?" : "&");
    bj_buf_str(out, name);
    bj_buf_str(out, "=");
    bj_url_text(out, bj_slice_str(value));
}
