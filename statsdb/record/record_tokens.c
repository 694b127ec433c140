#include "statsdb/record/record_tokens.h"

#include "base/file.h"
#include "statsdb/tables/cache.h"

#include <fcntl.h>
#include <stdlib.h>

enum { FILE_BYTES = 8 << 20, SLOTS_MIN = 16 };

struct line {
    uint64_t hash;
    struct bj_slice host, token; /* host.p NULL: an empty slot */
};

struct bj_record_tokens {
    uint64_t seed;
    char *text; /* text of the file; slots point into it */
    struct line *slot;
    size_t n, cap; /* cap: a power of two, at least twice n */
};

void bj_record_tokens_free(struct bj_record_tokens *t)
{
    if (!t)
        return;
    free(t->text);
    free(t->slot);
    free(t);
}

/* Always compares all bytes, so that the duration reveals nothing. */
static bool tokens_same(struct bj_slice a, struct bj_slice b)
{
    unsigned differ = a.n != b.n;
    for (size_t i = 0; i < a.n && i < b.n; i++)
        differ |= (unsigned char)(a.p[i] ^ b.p[i]);
    return differ == 0;
}

/* Find the slot of a token, or the empty slot for it. */
static struct line *tokens_find(const struct bj_record_tokens *t, uint64_t hash,
                                struct bj_slice token)
{
    size_t i = hash & (t->cap - 1);
    while (t->slot[i].host.p &&
           (t->slot[i].hash != hash || !tokens_same(t->slot[i].token, token)))
        i = (i + 1) & (t->cap - 1);
    return &t->slot[i];
}

static int tokens_grow(struct bj_record_tokens *t)
{
    struct bj_record_tokens more = *t;
    more.cap = t->cap ? 2 * t->cap : SLOTS_MIN;
    more.slot = calloc(more.cap, sizeof(*more.slot));
    if (!more.slot)
        return -ENOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slot[i].host.p)
            *tokens_find(&more, t->slot[i].hash, t->slot[i].token) = t->slot[i];
    free(t->slot);
    *t = more;
    return 0;
}

static int tokens_read_line(struct bj_record_tokens *t, struct bj_slice line,
                            struct bj_err *err)
{
    struct bj_slice host, token, more;
    if (line.n > 0 && memchr(line.p, '\0', line.n))
        return bj_err_set(err, -EINVAL, "the line contains a NUL");
    if (!bj_slice_word(&line, &host) || host.p[0] == '#')
        return 0;
    if (!bj_slice_word(&line, &token) || bj_slice_word(&line, &more))
        return bj_err_set(err, -EINVAL, "expected: HOST TOKEN");
    if (token.n < BJ_RECORD_TOKEN_MIN || token.n > BJ_RECORD_TOKEN_MAX)
        return bj_err_set(err, -EINVAL, "a token must have %d to %d characters",
                          BJ_RECORD_TOKEN_MIN, BJ_RECORD_TOKEN_MAX);
    if (2 * (t->n + 1) > t->cap && tokens_grow(t) < 0)
        return bj_err_set(err, -ENOMEM, "tokens");
    uint64_t hash = bj_cache_hash(t->seed, token);
    struct line *l = tokens_find(t, hash, token);
    if (l->host.p)
        return bj_err_set(err, -EINVAL, "an earlier line has the same token");
    *l = (struct line){hash, host, token};
    t->n++;
    return 0;
}

int bj_record_tokens_read(const char *path, struct bj_record_tokens **ret,
                          struct bj_err *err)
{
    struct bj_slice text, line;
    struct bj_record_tokens *t = calloc(1, sizeof(*t));
    if (!t || !(t->text = malloc(FILE_BYTES))) {
        bj_record_tokens_free(t);
        return bj_err_set(err, -ENOMEM, "tokens");
    }
    t->seed = bj_cache_seed();
    int r =
        bj_file_read_private(AT_FDCWD, path, t->text, FILE_BYTES, &text, err);
    for (unsigned n = 1; r == 0 && bj_slice_line(&text, &line); n++) {
        r = tokens_read_line(t, line, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s:%u", path, n);
    }
    if (r == 0 && t->n == 0)
        r = bj_err_set(err, -EINVAL, "%s: expected a line HOST TOKEN", path);
    if (r < 0)
        bj_record_tokens_free(t);
    else
        *ret = t;
    return r;
}

struct bj_slice bj_record_tokens_host(const struct bj_record_tokens *t,
                                      struct bj_slice token)
{
    return tokens_find(t, bj_cache_hash(t->seed, token), token)->host;
}
