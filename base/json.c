#include "base/json.h"
#include "base/json_priv.h"

#include <string.h>
#include <strings.h>

enum bj_json_kind bj_json_kind(const struct bj_json *v)
{
    return v ? (enum bj_json_kind)v->kind : BJ_JSON_NONE;
}

const char *bj_json_kind_name(const struct bj_json *v)
{
    static const char *const names[] = {
        [BJ_JSON_NONE] = "nothing",  [BJ_JSON_NULL] = "null",
        [BJ_JSON_BOOL] = "boolean",  [BJ_JSON_NUMBER] = "number",
        [BJ_JSON_STRING] = "string", [BJ_JSON_ARRAY] = "array",
        [BJ_JSON_OBJECT] = "object",
    };
    return names[bj_json_kind(v)];
}

const struct bj_json *bj_json_first(const struct bj_json *v)
{
    enum bj_json_kind kind = bj_json_kind(v);
    return kind == BJ_JSON_ARRAY || kind == BJ_JSON_OBJECT ? v->first : NULL;
}

const struct bj_json *bj_json_next(const struct bj_json *v)
{
    return v ? v->next : NULL;
}

size_t bj_json_len(const struct bj_json *v)
{
    enum bj_json_kind kind = bj_json_kind(v);
    return kind == BJ_JSON_ARRAY || kind == BJ_JSON_OBJECT ? v->n : 0;
}

struct bj_slice bj_json_key(const struct bj_json *v)
{
    return v ? (struct bj_slice){v->key, v->key_n} : (struct bj_slice){0};
}

const struct bj_json *bj_json_find(const struct bj_json *v, struct bj_slice key)
{
    const struct bj_json *found = NULL;
    if (bj_json_kind(v) != BJ_JSON_OBJECT)
        return NULL;
    BJ_JSON_EACH(m, v)
    {
        if (bj_slice_eq(bj_json_key(m), key))
            found = m;
    }
    return found;
}

const struct bj_json *bj_json_get(const struct bj_json *v, const char *key)
{
    return bj_json_find(v, bj_slice_str(key));
}

const struct bj_json *bj_json_at(const struct bj_json *v, size_t i)
{
    if (i >= bj_json_len(v))
        return NULL;
    const struct bj_json *c = bj_json_first(v);
    while (i-- > 0)
        c = c->next;
    return c;
}

struct bj_json_steps bj_json_steps(const char *path)
{
    char sep = path[0] == '/' ? '/' : '.';
    struct bj_slice rest = bj_slice_str(path[0] == '/' ? path + 1 : path);
    return (struct bj_json_steps){rest, sep, path[0] != '\0'};
}

/* Unlike bj_slice_field, an empty step after the last separator counts: "/a/"
 * is the key "" in "a". */
bool bj_json_step(struct bj_json_steps *s, struct bj_slice *ret)
{
    if (!s->more)
        return false;
    const char *end =
        s->rest.n > 0 ? memchr(s->rest.p, s->sep, s->rest.n) : NULL;
    size_t len = end ? (size_t)(end - s->rest.p) : s->rest.n;
    *ret = (struct bj_slice){s->rest.p, len};
    s->more = end != NULL;
    s->rest.p += end ? len + 1 : len;
    s->rest.n -= end ? len + 1 : len;
    return true;
}

const struct bj_json *bj_json_path(const struct bj_json *v, const char *path)
{
    struct bj_json_steps steps = bj_json_steps(path);
    struct bj_slice step;
    while (v && bj_json_step(&steps, &step)) {
        uint64_t i;
        if (v->kind == BJ_JSON_ARRAY)
            v = bj_slice_u64(step, &i) == 0 ? bj_json_at(v, i) : NULL;
        else
            v = bj_json_find(v, step);
    }
    return v;
}

struct bj_slice bj_json_text(const struct bj_json *v)
{
    enum bj_json_kind kind = bj_json_kind(v);
    if (kind == BJ_JSON_STRING || kind == BJ_JSON_NUMBER)
        return (struct bj_slice){v->text, v->n};
    return (struct bj_slice){0};
}

bool bj_json_is_null(const struct bj_json *v)
{
    return bj_json_kind(v) == BJ_JSON_NULL;
}

/* The text of a scalar: 0, -ENOENT or -EINVAL. */
static int scalar_text(const struct bj_json *v, struct bj_slice *ret)
{
    enum bj_json_kind kind = bj_json_kind(v);
    if (kind == BJ_JSON_NONE || kind == BJ_JSON_NULL)
        return -ENOENT;
    struct bj_slice s = bj_slice_trim(bj_json_text(v));
    if (!s.p)
        return -EINVAL;
    if (s.n == 0)
        return -ENOENT;
    *ret = s;
    return 0;
}

int bj_json_u64(const struct bj_json *v, uint64_t *ret)
{
    struct bj_slice s;
    int r = scalar_text(v, &s);
    return r < 0 ? r : bj_decimal_u64(s, 0, ret);
}

int bj_json_i64(const struct bj_json *v, int64_t *ret)
{
    return bj_json_fixed(v, 0, ret);
}

int bj_json_fixed(const struct bj_json *v, unsigned digits, int64_t *ret)
{
    struct bj_slice s;
    int r = scalar_text(v, &s);
    return r < 0 ? r : bj_decimal_i64(s, digits, ret);
}

uint64_t bj_json_u64_or(const struct bj_json *v, uint64_t otherwise)
{
    uint64_t n;
    return bj_json_u64(v, &n) == 0 ? n : otherwise;
}

int bj_json_bool(const struct bj_json *v, bool *ret)
{
    static const char *const words[] = {"false", "true", "0", "1"};
    if (bj_json_kind(v) == BJ_JSON_BOOL) {
        *ret = v->n != 0;
        return 0;
    }
    struct bj_slice s;
    int r = scalar_text(v, &s);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0) {
            *ret = i % 2 != 0;
            return 0;
        }
    }
    return -EINVAL;
}

int bj_json_slurm_u64(const struct bj_json *v, uint64_t *ret)
{
    if (bj_json_kind(v) != BJ_JSON_OBJECT)
        return bj_json_u64(v, ret);
    bool set = false, infinite = false;
    int r = bj_json_bool(bj_json_get(v, "infinite"), &infinite);
    if (r == 0 && infinite)
        return 1;
    r = bj_json_bool(bj_json_get(v, "set"), &set);
    if (r < 0)
        return r == -ENOENT ? -EINVAL : r;
    return set ? bj_json_u64(bj_json_get(v, "number"), ret) : -ENOENT;
}
