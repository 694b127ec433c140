/* HTTP(S) requests to others: BMCs, schedulers' REST services, providers of
 * emission factors.
 *
 * By libcurl.  http and https only, redirects within one origin only unless
 * asked for, every call has a deadline and a limit of bytes, no signals. */
#ifndef BJ_BASE_FETCH_H
#define BJ_BASE_FETCH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What went wrong, for counters and for deciding whether to try again. */
enum bj_fetch_fault {
    BJ_FETCH_OK,
    BJ_FETCH_DNS,      /* no such host, or nobody to ask */
    BJ_FETCH_CONNECT,  /* nobody answers at the address */
    BJ_FETCH_TLS,      /* no agreement, or a certificate that is not trusted */
    BJ_FETCH_TIMEOUT,  /* a deadline has passed */
    BJ_FETCH_HTTP,     /* a complete answer whose status is no success */
    BJ_FETCH_TOO_BIG,  /* the answer has more than max_bytes */
    BJ_FETCH_PROTOCOL, /* the answer is no HTTP, or ends early */
    BJ_FETCH_ABORTED,  /* the caller's flag */
    BJ_FETCH_LOCAL,    /* a bad request, no memory, the caller's sink */
};

/* Is text a URL that can be asked: http://HOST[:PORT]... or https?  0, or
 * -EINVAL with a message that does not show it, as it may hold a password. */
int bj_fetch_check(const char *text, struct bj_err *err);

/* "ok", "dns", "connect", ..., for labels. */
const char *bj_fetch_fault_name(enum bj_fetch_fault fault);

/* What to ask.  Only url must be set; everything stays the caller's and must
 * live during the call.  0 and NULL stand for the value in brackets. */
struct bj_fetch_request {
    const char *method;         /* [GET; POST when there is a body] */
    const char *url;            /* http://... or https://... */
    const char *const *headers; /* "Name: value", NULL at the end [none] */
    struct bj_slice body; /* JSON unless a Content-Type says else [none] */

    /* Credentials; they go to the origin of url only. */
    const char *user, *password; /* HTTP basic [none] */
    const char *bearer;          /* Authorization: Bearer ... [none] */

    /* TLS: files in PEM. */
    const char *ca_file;   /* trusted instead of the system's [system's] */
    const char *cert_file; /* our certificate [none] */
    const char *key_file;  /* its key [in cert_file] */
    bool insecure;         /* believe any certificate and any name */

    const char *unix_socket; /* connect to this socket instead [none] */
    bool no_proxy;           /* do not look at http_proxy and its like */
    bool cross_origin;       /* follow redirects to other hosts, without the
                                credentials and headers above */
    unsigned redirects;      /* how many to follow, of GET and HEAD; never from
                                https to http [0: none] */

    uint64_t connect_usec; /* until connected, TLS included [5 s] */
    uint64_t total_usec;   /* for all, redirects included [30 s] */
    size_t max_bytes;      /* of the body, unpacked [16 MiB] */

    /* Where the body of a successful answer goes, piece by piece [reply's
     * body].  A negative return ends the call with that code; err is then to
     * be filled in. */
    int (*sink)(void *ctx, struct bj_slice piece, struct bj_err *err);
    void *ctx;

    /* Set by another thread, ends the call within a second [never]. */
    const atomic_bool *abort;
};

/* The answer.  Zero-initialise, use as often as wanted, free in the end with
 * bj_fetch_reply_free.  It holds until the next call. */
struct bj_fetch_reply {
    enum bj_fetch_fault fault;
    unsigned status; /* of the last answer; 0: there was none */
    struct bj_buf body;
    uint64_t retry_after_usec; /* from now; 0: not sent; at most 1 d */
    struct bj_buf headers;     /* of the last answer, as sent */
};

void bj_fetch_reply_free(struct bj_fetch_reply *reply);

/* A header of the answer, blanks around it gone, the first when there are
 * several; {NULL, 0} when there is none.  name is matched without case. */
struct bj_slice bj_fetch_header(const struct bj_fetch_reply *reply,
                                const char *name);

/* A handle keeps its connections from call to call.  One thread at a time. */
struct bj_fetch;

/* Starts libcurl when it is the first; then no other thread should be starting
 * it (hosts make their handles while they are configured).  -ENOMEM, or -ENOSYS
 * when libcurl does not start. */
int bj_fetch_new(struct bj_fetch **ret, struct bj_err *err);

/* Close its connections; NULL is fine.  May wait for a name look-up that is
 * under way in the system's resolver. */
void bj_fetch_free(struct bj_fetch *f);

/* Ask and wait.  0 when the status is 200 to 299.  Else *reply has the
 * fault, and as much of the answer as came (for a status that is no success,
 * its body up to 64 KiB; a sink sees only success), and the message names
 * method and URL, without user, password and query: "GET
 * https://bmc7/redfish/v1: HTTP 401", "...: connect: refused" -EHOSTUNREACH
 * dns, -ECONNREFUSED connect, -EKEYREJECTED tls, -ETIMEDOUT timeout, -EFBIG too
 * big, -EPROTO protocol, -ECANCELED aborted; http: -EACCES for 401 and 403,
 * -EAGAIN for 408, 429 and 503, else -EREMOTEIO (404, too: see status); a
 * redirect that is not followed, too; local: -EINVAL (the request), -ENOMEM,
 * -EACCES (certificate files), the sink's own. */
int bj_fetch(struct bj_fetch *f, const struct bj_fetch_request *req,
             struct bj_fetch_reply *reply, struct bj_err *err);

#endif
