/* Many HTTP requests at once in the poll loop of the program, whose replies
 * arrive in pieces as the server sent them (not decompressed).  Nothing here
 * waits.  Errors and options are those of base/fetch.h; redirects are not
 * followed. */
#ifndef BJ_BASE_FETCHES_H
#define BJ_BASE_FETCHES_H

#include "base/fetch.h"

#include <poll.h>

/* All functions are for one thread. */
struct bj_fetches;
/* One request, until its end or bj_fetches_cancel(). */
struct bj_flow;

/* What to do after a piece. */
enum bj_flow_next {
    BJ_FLOW_MORE,
    BJ_FLOW_PAUSE,  /* no further piece before bj_flow_resume() */
    BJ_FLOW_REFUSED /* as PAUSE; this piece is delivered again, as a copy */
};

/* Called from bj_fetches_run().  These functions must not start or cancel
 * requests. */
struct bj_flow_events {
    /* The headers of the reply are complete (read them with bj_fetch_header()).
     * Called at most once, before piece. */
    void (*head)(void *ctx, const struct bj_fetch_reply *reply);
    /* A piece of the body, at most piece_bytes of the request. */
    enum bj_flow_next (*piece)(void *ctx, struct bj_slice piece);
    /* The request has ended.  code is as bj_fetch() returns it, but 0 for every
     * HTTP status.  The flow is invalid afterwards. */
    void (*end)(void *ctx, const struct bj_fetch_reply *reply, int code,
                const struct bj_err *err);
};

/* Starts libcurl, as bj_fetch_new() does. */
int bj_fetches_new(struct bj_fetches **ret, struct bj_err *err);
/* All requests must have ended. */
void bj_fetches_free(struct bj_fetches *fs); /* NULL is fine */

/* Start a request.  req and its data, events and ctx must outlive it; max_bytes
 * counts as sent; sink and abort are ignored. */
int bj_fetches_start(struct bj_fetches *fs, const struct bj_fetch_request *req,
                     const struct bj_flow_events *events, void *ctx,
                     struct bj_flow **ret, struct bj_err *err);

/* Continue after a pause, in the next bj_fetches_run(). */
void bj_flow_resume(struct bj_flow *f);
/* End a request without calling its end. */
void bj_fetches_cancel(struct bj_fetches *fs, struct bj_flow *f);

/* What to poll: *ret_n descriptors, valid until the next call of another
 * function. */
const struct pollfd *bj_fetches_poll(const struct bj_fetches *fs,
                                     nfds_t *ret_n);

/* When to call bj_fetches_run() although no descriptor is ready; boot clock,
 * UINT64_MAX: never. */
uint64_t bj_fetches_due(const struct bj_fetches *fs);

/* Process the descriptors of bj_fetches_poll() that poll(2) reports as ready,
 * and timers that are due. */
void bj_fetches_run(struct bj_fetches *fs, const struct pollfd *fds, nfds_t n,
                    uint64_t now_usec);

#endif
