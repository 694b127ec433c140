/* One question to a provider: credentials, login where there is one, request,
 * answer. */
#ifndef BJ_CARBON_ASK_H
#define BJ_CARBON_ASK_H

#include "base/fetch.h"
#include "carbon/plan.h"

/* What became of a question, for counters. */
enum bj_carbon_fault {
    BJ_CARBON_OK,
    BJ_CARBON_CONNECT, /* no such host, or nobody answers */
    BJ_CARBON_TLS,     /* no trust in whoever answers */
    BJ_CARBON_TIMEOUT,
    BJ_CARBON_STATUS,  /* of HTTP: 404, 500, ... */
    BJ_CARBON_LIMITED, /* 429: asked too often */
    BJ_CARBON_DENIED,  /* 401, 403: the token, or what it is good for */
    BJ_CARBON_CONTENT, /* an answer, or a dropped file, that makes no sense */
    BJ_CARBON_EMPTY,   /* a good answer without a value of now */
    BJ_CARBON_LOCAL,   /* our files, our memory */
    BJ_CARBON_FAULTS
};

/* "ok", "connect", "tls", ..., for labels. */
const char *bj_carbon_fault_name(enum bj_carbon_fault fault);

/* Who carries questions: bj_fetch, or a test.  As bj_fetch in all. */
struct bj_carbon_net {
    void *ctx;
    int (*fetch)(void *ctx, const struct bj_fetch_request *req,
                 struct bj_fetch_reply *reply, struct bj_err *err);
};

enum { BJ_CARBON_TOKEN_MAX = 4096 };

/* What is kept from question to question to one provider; zero-initialise. */
struct bj_carbon_session {
    char token[BJ_CARBON_TOKEN_MAX]; /* that a login gave; "" none */
    uint64_t until_usec;             /* on the clock of boot */
};

/* A question. */
struct bj_carbon_question {
    const struct bj_carbon_slot *slot; /* of HTTP */
    const struct bj_carbon_conf *conf;
    const struct bj_carbon_net *net;
    const atomic_bool *abort; /* ends the question when set; may be NULL */
    uint64_t boot_usec, wall_sec;
    struct bj_carbon_session *session;
};

/* Ask and wait, for emissions.timeout at most; three times that with a login,
 * where a token may turn out to be none any more.  OK:
 * *ret is what the answer holds, maybe nothing.  Otherwise err has the message,
 * which never shows a token, and *ret_wait_usec how long the provider wants to
 * be left alone (0: not said).  *ret_aborted: it was the flag, no fault. */
enum bj_carbon_fault bj_carbon_ask(const struct bj_carbon_question *q,
                                   struct bj_carbon_reply *ret,
                                   uint64_t *ret_wait_usec, bool *ret_aborted,
                                   struct bj_err *err);

#endif
