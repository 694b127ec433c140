/* One query of a provider: credentials, login where necessary, request, reply.
 */
#ifndef BJ_CARBON_QUERY_H
#define BJ_CARBON_QUERY_H

#include "base/fetch.h"
#include "carbon/conf.h"

/* The result of a query, for counters. */
enum bj_carbon_fault {
    BJ_CARBON_OK,
    BJ_CARBON_CONNECT, /* no address, or no connection */
    BJ_CARBON_TLS,     /* the provider's certificate is not trusted */
    BJ_CARBON_TIMEOUT,
    BJ_CARBON_STATUS,  /* HTTP status: 404, 500, ... */
    BJ_CARBON_LIMITED, /* 429: too many requests */
    BJ_CARBON_DENIED,  /* 401, 403: a wrong token, or one without access */
    BJ_CARBON_CONTENT, /* a malformed reply, or a malformed factor file */
    BJ_CARBON_EMPTY,   /* a valid reply without a current value */
    BJ_CARBON_LOCAL,   /* local files, memory */
    BJ_CARBON_FAULTS
};

/* "ok", "connect", "tls", ..., for labels. */
const char *bj_carbon_fault_name(enum bj_carbon_fault fault);

/* Sends requests: bj_fetch, or a test.  As bj_fetch in all respects. */
struct bj_carbon_net {
    void *ctx;
    int (*fetch)(void *ctx, const struct bj_fetch_request *req,
                 struct bj_fetch_reply *reply, struct bj_err *err);
};

enum { BJ_CARBON_TOKEN_MAX = 4096 };

/* State between the queries of one provider; zero-initialise. */
struct bj_carbon_session {
    char token[BJ_CARBON_TOKEN_MAX]; /* from a login; "": none */
    uint64_t until_usec;             /* on the boot clock */
};

/* A query. */
struct bj_carbon_query {
    const struct bj_carbon_slot *slot; /* of source BJ_CARBON_HTTP */
    const struct bj_carbon_conf *conf;
    const struct bj_carbon_net *net;
    const atomic_bool *abort; /* ends the query when set; may be NULL */
    uint64_t boot_usec, wall_sec;
    struct bj_carbon_session *session;
};

/* Send a query and wait for at most 20 s; three times that with a login, where
 * the token may have expired.  OK: *ret is the content of the
 * reply, maybe empty.  Otherwise err has the message, which never contains a
 * token, and *ret_wait_usec how long the provider wants no requests (0: not
 * reported). *ret_aborted: the flag ended it, not a fault. */
enum bj_carbon_fault bj_carbon_send_query(const struct bj_carbon_query *q,
                                          struct bj_carbon_reply *ret,
                                          uint64_t *ret_wait_usec,
                                          bool *ret_aborted,
                                          struct bj_err *err);

#endif
