/* Receives final records of nodes over HTTP: POST /records, with one record per
 * line.  The response (statsdb/record/record_body.h) is sent after the records
 * are committed.  One thread serves the connections, another one stores the
 * records. */
#ifndef BJ_STATSDB_RECORD_RECEIVER_H
#define BJ_STATSDB_RECORD_RECEIVER_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/conf/conf.h"
#include "statsdb/metrics/metrics_page.h"
#include "statsdb/tables/store.h"

struct bj_receiver;

/* Check the options and their files: clients must be able to authenticate.
 * -EINVAL with the option in the message. */
int bj_receiver_check(const struct bj_receiver_conf *c, struct bj_err *err);

/* Listen on the addresses of conf->receiver and serve.  conf and store must
 * outlive it. */
int bj_receiver_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                    struct bj_receiver **ret, struct bj_err *err);

/* Stop, and refuse requests whose records are not committed.  NULL is fine. */
void bj_receiver_free(struct bj_receiver *v);

/* Fill in the counters of received records; from any thread. */
void bj_receiver_report(const struct bj_receiver *v,
                        struct bj_metrics_values *r);

/* --- record tokens ---*/

/* Tokens of nodes that send final records, from a file with one line for each
 * token,
 *     HOST TOKEN
 * HOST is the host of the records that a client with this token may write, or
 * '*' for any host; '#' begins a comment. */

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
