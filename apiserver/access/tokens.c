#include "apiserver/access/tokens.h"

#include "apiserver/access/access.h"
#include "apiserver/conf/conf.h"
#include "base/file.h"
#include "base/stamp.h"

#include <crypt.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum { FILE_BYTES = 1 << 20 };

struct bj_tokens {
    struct bj_token *v;
    size_t n;
};

void bj_tokens_free(struct bj_tokens *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++) {
        free(t->v[i].id);
        free(t->v[i].hash);
        free(t->v[i].user);
    }
    free(t->v);
    free(t);
}

const struct bj_token *bj_tokens_find(const struct bj_tokens *t,
                                      struct bj_slice id)
{
    for (size_t i = 0; t && i < t->n; i++)
        if (bj_slice_eq(bj_slice_str(t->v[i].id), id))
            return &t->v[i];
    return NULL;
}

const char *bj_tokens_like(const struct bj_tokens *t)
{
    return t && t->n > 0 ? t->v[0].hash : NULL;
}

int bj_token_expiry(struct bj_slice word, int64_t *ret)
{
    *ret = INT64_MAX;
    if (bj_slice_eq(word, BJ_SLICE("never")))
        return 0;
    /* EXPIRES is one word of a line. */
    return memchr(word.p, ' ', word.n) ||
                   bj_stamp_sec(word, BJ_STAMP_BARE_UTC, ret) < 0
               ? -EINVAL
               : 0;
}

static int tokens_read_line(struct bj_tokens *t, struct bj_slice line,
                            struct bj_err *err)
{
    struct bj_slice id, hash, user, expires;
    if (line.n > 0 && memchr(line.p, '\0', line.n))
        return bj_err_set(err, -EINVAL, "the line contains a NUL");
    if (!bj_slice_word(&line, &id) || id.p[0] == '#')
        return 0;
    if (!bj_slice_word(&line, &hash) || !bj_slice_word(&line, &user) ||
        !bj_slice_word(&line, &expires))
        return bj_err_set(err, -EINVAL, "expected: ID HASH USER EXPIRES");
    if (!bj_access_is_name(user))
        return bj_err_set(err, -EINVAL,
                          "the third word is not a valid user name");
    if (id.n != 8 || bj_tokens_find(t, id))
        return bj_err_set(err, -EINVAL,
                          "the ID must have 8 characters and be unique");
    struct bj_token *v = reallocarray(t->v, t->n + 1, sizeof(*v));
    if (!v)
        return bj_err_set(err, -ENOMEM, "tokens");
    t->v = v;
    v += t->n++;
    *v = (struct bj_token){.id = strndup(id.p, id.n),
                           .hash = strndup(hash.p, hash.n),
                           .user = strndup(user.p, user.n)};
    if (!v->id || !v->hash || !v->user)
        return bj_err_set(err, -ENOMEM, "tokens");
    if (!bj_secret_usable(v->hash))
        return bj_err_set(err, -EINVAL,
                          "the second word is not a password hash");
    if (bj_token_expiry(expires, &v->expires_sec) < 0)
        return bj_err_set(err, -EINVAL, "'%.*s' is not a date or \"never\"",
                          expires.n < 60 ? (int)expires.n : 60, expires.p);
    return 0;
}

int bj_tokens_read(const char *path, struct bj_tokens **ret, struct bj_err *err)
{
    struct bj_slice text, line;
    struct bj_tokens *t = calloc(1, sizeof(*t));
    char *buf = malloc(FILE_BYTES);
    int r = t && buf ? 0 : bj_err_set(err, -ENOMEM, "tokens");
    if (r == 0 &&
        bj_file_read_trusted(AT_FDCWD, path, buf, FILE_BYTES, &text, err) < 0)
        r = bj_api_conf_unread("access.token-file", err);
    for (unsigned n = 1; r == 0 && bj_slice_line(&text, &line); n++) {
        r = tokens_read_line(t, line, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s:%u", path, n);
    }
    free(buf);
    if (r < 0)
        bj_tokens_free(t);
    else
        *ret = t;
    return r;
}
/* --- making tokens ----------------------------------------------------------
 */

int bj_token_make(char id[static 16], char token[static BJ_TOKEN_BYTES],
                  char hash[static BJ_HASH_BYTES], struct bj_err *err)
{
    unsigned char random[4 + 24 + 16];
    char secret[2 * 24 + 1], salt[CRYPT_GENSALT_OUTPUT_SIZE];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return bj_err_set(err, -EIO, "no random numbers");
    for (unsigned i = 0; i < 4; i++)
        snprintf(id + 2 * i, 3, "%02x", random[i]);
    for (unsigned i = 0; i < 24; i++)
        snprintf(secret + 2 * i, 3, "%02x", random[4 + i]);
    snprintf(token, BJ_TOKEN_BYTES, "bj_%s_%s", id, secret);
    /* The secret is random, so more rounds would not make it safer. */
    if (!crypt_gensalt_rn("$5$", 1000, (const char *)random + 28, 16, salt,
                          sizeof(salt)))
        return bj_err_set(err, -errno, "crypt_gensalt");
    struct crypt_data *data = calloc(1, sizeof(*data));
    const char *got = data ? crypt_rn(secret, salt, data, sizeof(*data)) : NULL;
    if (got)
        snprintf(hash, BJ_HASH_BYTES, "%s", got);
    free(data);
    return got ? 0 : bj_err_set(err, -ENOMEM, "crypt");
}

bool bj_token_split(struct bj_slice token, struct bj_slice *ret_id,
                    struct bj_slice *ret_secret)
{
    if (token.n < 13 || !bj_slice_starts(token, BJ_SLICE("bj_")) ||
        token.p[11] != '_')
        return false;
    *ret_id = (struct bj_slice){token.p + 3, 8};
    *ret_secret = (struct bj_slice){token.p + 12, token.n - 12};
    return true;
}
