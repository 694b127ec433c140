/* Tokens of nodes that send final records, from a file with one line for each
 * token,
 *     HOST TOKEN
 * HOST is the host of the records that a client with this token may write, or
 * '*' for any host; '#' begins a comment. */
#ifndef BJ_STATSDB_RECORD_RECORD_TOKENS_H
#define BJ_STATSDB_RECORD_RECORD_TOKENS_H

#include "base/err.h"
#include "base/slice.h"

enum { BJ_RECORD_TOKEN_MIN = 16, BJ_RECORD_TOKEN_MAX = 256 };

struct bj_record_tokens;

/* Read the file, which other users must not be able to read
 * (bj_file_read_private).  -EINVAL with file and line: a line without exactly
 * two words, or a token that is too short or occurs twice. */
int bj_record_tokens_read(const char *path, struct bj_record_tokens **ret,
                          struct bj_err *err);
void bj_record_tokens_free(struct bj_record_tokens *t); /* NULL is fine */

/* Return the host of a token; {NULL, 0}: unknown token.  The duration does not
 * reveal how much of the token is right. */
struct bj_slice bj_record_tokens_host(const struct bj_record_tokens *t,
                                      struct bj_slice token);

#endif
