/* The thread that stores the records of requests: those of all waiting requests
 * in one transaction.  The requests are answered after the commit. */
#ifndef BJ_STATSDB_RECORD_RECORD_WRITER_H
#define BJ_STATSDB_RECORD_RECORD_WRITER_H

#include "base/httpd.h"
#include "statsdb/conf/conf.h"
#include "statsdb/record/record_body.h"
#include "statsdb/tables/store.h"

enum { BJ_RECORD_BODY_BYTES = 1 << 20 }; /* of a request, decompressed */

/* A request.  Everything that it points to must stay valid until it is
 * answered. */
struct bj_record_post {
    struct bj_record_post *next;
    const struct bj_http_request *req; /* for its owner */
    struct bj_slice body;
    bool packed; /* the body is gzip */
    struct bj_record_client client;
    char host[256]; /* host of the token; client.host may point here */
    struct bj_http_reply reply;
};

/* Counters since the start. */
struct bj_record_counts {
    uint64_t stored, malformed, denied; /* records */
    uint64_t commits, failures;         /* transactions */
};

struct bj_record_writer;

/* conf and store must outlive *ret.  The thread calls wake when posts are
 * answered. */
int bj_record_writer_new(const struct bj_statsdb_conf *conf,
                         struct bj_store *store, void (*wake)(void *ctx),
                         void *ctx, struct bj_record_writer **ret,
                         struct bj_err *err);

/* Finish the transaction, answer waiting posts with status 503, and end the
 * thread.  Call bj_record_writer_answered() once more, then free. */
void bj_record_writer_stop(struct bj_record_writer *w);
void bj_record_writer_free(struct bj_record_writer *w); /* NULL is fine */

void bj_record_writer_add(struct bj_record_writer *w,
                          struct bj_record_post *post);

/* Return the list of answered posts, which the caller then owns; NULL: none. */
struct bj_record_post *bj_record_writer_answered(struct bj_record_writer *w);

/* Return the counters, from any thread. */
void bj_record_writer_counts(const struct bj_record_writer *w,
                             struct bj_record_counts *ret);

/* Fill a reply with an error as JSON. */
void bj_record_fail(struct bj_http_reply *r, unsigned status, const char *text);

#endif
