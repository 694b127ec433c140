#include "collectd-plugin/name.h"

#include "base/hash.h"
#include "base/text.h"

#include <stdio.h>

enum {
    HASH_DIGITS = 12,
    HASH_ROOM = HASH_DIGITS + 2, /* and the "--" before it */
    TEXT_MAX = 3 * BJ_LABEL_MAX + 2,
};

/* A name under construction. */
struct text {
    char p[TEXT_MAX];
    size_t n;
    bool hashed; /* it needs a hash */
    uint64_t hash;
};

static bool holds(struct bj_slice s, char c)
{
    return s.n > 0 && memchr(s.p, c, s.n);
}

/* Append a part. A part that contains a separator would make the name
 * ambiguous, so the name gets a hash. */
static void text_add(struct text *t, char before, struct bj_slice part)
{
    if (before != '\0') {
        if (holds(part, before))
            t->hashed = true;
        t->p[t->n++] = before;
    }
    /* NUL separates the parts; clean text has none. */
    t->hash = bj_hash(bj_hash(t->hash, part), BJ_SLICE("\0"));
    if (part.n > BJ_LABEL_MAX) {
        t->hashed = true;
        part.n = BJ_LABEL_MAX;
    }
    if (part.n > 0)
        memcpy(t->p + t->n, part.p, part.n);
    t->n += part.n;
}

static bool ends_like_hash(const struct text *t)
{
    if (t->n < HASH_ROOM || memcmp(t->p + t->n - HASH_ROOM, "--", 2) != 0)
        return false;
    for (size_t i = t->n - HASH_DIGITS; i < t->n; i++)
        if (!memchr("0123456789abcdef", t->p[i], 16))
            return false;
    return true;
}

/* Replace the characters of a path, or of a word in parentheses, by valid ones.
 * Reversible unless the text contains the replacements. */
static void text_shape(struct text *t)
{
    static const char from[] = "/()", to[] = ":[]";

    if (t->n == 0)
        return;
    if (t->p[0] == ':' || t->p[0] == '[')
        t->hashed = true;
    if (t->p[0] != '/' && t->p[0] != '(')
        return;
    for (size_t i = 0; i < t->n; i++) {
        const char *at = memchr(from, t->p[i], sizeof(from) - 1);
        if (at)
            t->p[i] = to[at - from];
        else if (memchr(to, t->p[i], sizeof(to) - 1))
            t->hashed = true;
    }
}

static void text_finish(struct text *t, char dst[BJ_NAME_SIZE])
{
    if (ends_like_hash(t))
        t->hashed = true;
    text_shape(t);
    struct bj_slice shaped = {t->p, t->n};
    size_t n = bj_text_ident(shaped, dst, BJ_NAME_SIZE);
    if (!t->hashed && bj_slice_eq(shaped, (struct bj_slice){dst, n}))
        return;
    if (n > BJ_NAME_SIZE - 1 - HASH_ROOM)
        n = BJ_NAME_SIZE - 1 - HASH_ROOM;
    uint64_t h = (t->hash ^ t->hash >> 48) & 0xffffffffffffU;
    snprintf(dst + n, BJ_NAME_SIZE - n, "--%0*llx", HASH_DIGITS,
             (unsigned long long)h);
}

static const struct text empty = {.hash = BJ_HASH};

void bj_name_text(struct bj_slice text, char dst[BJ_NAME_SIZE])
{
    struct text t = empty;
    text_add(&t, '\0', text);
    text_finish(&t, dst);
}

void bj_name_pair(struct bj_slice a, struct bj_slice b, char dst[BJ_NAME_SIZE])
{
    struct text t = empty;
    text_add(&t, '\0', a);
    if (holds(a, ':'))
        t.hashed = true;
    text_add(&t, ':', b);
    text_finish(&t, dst);
}

/* The id, with the node if several slurmd share the host. */
static bool text_job(struct text *t, const struct bj_ident *ident)
{
    struct bj_slice id = ident->f[BJ_ID_JOBID];
    if (id.n == 0)
        id = ident->f[BJ_ID_SLUID];
    if (id.n == 0)
        return false;
    text_add(t, '\0', id);
    /* The id "5@n" of another scheduler is not job 5 of node n. */
    if (holds(id, '@'))
        t->hashed = true;
    if (ident->f[BJ_ID_NODE].n > 0)
        text_add(t, '@', ident->f[BJ_ID_NODE]);
    return true;
}

void bj_name_job(const struct bj_ident *ident, char dst[BJ_NAME_SIZE])
{
    struct text t = empty;
    dst[0] = '\0';
    if (text_job(&t, ident))
        text_finish(&t, dst);
}

void bj_name_step(const struct bj_ident *ident, struct bj_slice step,
                  char dst[BJ_NAME_SIZE])
{
    struct text t = empty;
    dst[0] = '\0';
    if (!text_job(&t, ident))
        return;
    text_add(&t, '.', step);
    text_finish(&t, dst);
}
