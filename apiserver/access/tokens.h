/* Tokens for scripts, from a file with one line for each token,
 *     ID HASH USER EXPIRES [NOTE]
 * EXPIRES is a date, a time with its zone, or "never"; '#' begins a comment.
 * The command make-token prints such a line. */
#ifndef BJ_APISERVER_ACCESS_TOKENS_H
#define BJ_APISERVER_ACCESS_TOKENS_H

#include "base/err.h"
#include "base/secret.h"
#include "base/slice.h"

#include <stdint.h>

struct bj_token {
    char *id, *hash, *user;
    int64_t expires_sec; /* INT64_MAX: never */
};

struct bj_tokens;

/* Read the file; it must be owned by root or the user of the program, and
 * others must not be able to write it. -EINVAL with file and line. */
int bj_tokens_read(const char *path, struct bj_tokens **ret,
                   struct bj_err *err);
void bj_tokens_free(struct bj_tokens *t); /* NULL is fine */

/* Find a token by its id; NULL: unknown; t may be NULL. */
const struct bj_token *bj_tokens_find(const struct bj_tokens *t,
                                      struct bj_slice id);

/* Return a hash to check if the token is unknown, so that the response time
 * does not reveal that (base/secret.h). */
const char *bj_tokens_like(const struct bj_tokens *t);

enum { BJ_TOKEN_BYTES = 80 };

/* Make a token, "bj_ID_SECRET", and the hash of its secret (both terminated);
 * id is public. */
int bj_token_make(char id[static 16], char token[static BJ_TOKEN_BYTES],
                  char hash[static BJ_HASH_BYTES], struct bj_err *err);

/* Parse EXPIRES of a token into a time; -EINVAL: not a date, a time or "never".
 */
int bj_token_expiry(struct bj_slice word, int64_t *ret_sec);

/* Split a token into id and secret; false: not the form of a token. */
bool bj_token_split(struct bj_slice token, struct bj_slice *ret_id,
                    struct bj_slice *ret_secret);

#endif
