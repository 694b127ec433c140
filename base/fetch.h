/* HTTP(S) client: for BMCs, REST services of schedulers, providers of emission
 * factors.
 *
 * By libcurl.  http and https only, redirects within one origin unless
 * requested otherwise; every call has a deadline and a limit of bytes; no
 * signals. */
#ifndef BJ_BASE_FETCH_H
#define BJ_BASE_FETCH_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of a failure, for counters and retries. */
enum bj_fetch_fault {
    BJ_FETCH_OK,
    BJ_FETCH_DNS,      /* the name has no address */
    BJ_FETCH_CONNECT,  /* the address does not accept a connection */
    BJ_FETCH_TLS,      /* no common protocol, or an untrusted certificate */
    BJ_FETCH_TIMEOUT,  /* the deadline has passed */
    BJ_FETCH_HTTP,     /* a complete reply with an error status */
    BJ_FETCH_TOO_BIG,  /* the reply has more than max_bytes */
    BJ_FETCH_PROTOCOL, /* the reply is not HTTP, or ends early */
    BJ_FETCH_ABORTED,  /* the caller's flag */
    BJ_FETCH_LOCAL,    /* a bad request, no memory, the caller's sink */
};

/* Check a URL: http://HOST[:PORT]... or https.  0, or -EINVAL with a message
 * that does not show it, since it may contain a password. */
int bj_fetch_check(const char *text, struct bj_err *err);

/* Does a request for this URL pass a network in the clear: http, to a host
 * other than localhost, 127.0.0.0/8 and ::1? */
bool bj_fetch_is_clear(const char *url);

/* Is the host in capitals, as a document writes a placeholder? */
bool bj_fetch_is_placeholder(const char *url);

enum { BJ_FETCH_SHOWN = 120 };

/* A URL for messages: without user, password, query and fragment, clean, cut.
 * Returns buf. */
const char *bj_fetch_show(const char *url, char buf[static BJ_FETCH_SHOWN]);

/* "ok", "dns", "connect", ..., for labels. */
const char *bj_fetch_fault_name(enum bj_fetch_fault fault);

/* The request.  Only url is required; the caller keeps everything, which must
 * live during the call.  0 and NULL mean the default in brackets. */
struct bj_fetch_request {
    const char *method;         /* [GET; with a body POST] */
    const char *url;            /* http://... or https://... */
    const char *const *headers; /* "Name: value", NULL at the end [none] */
    struct bj_slice body; /* JSON unless headers have a Content-Type [none] */
    bool form;            /* no: application/x-www-form-urlencoded */

    /* Credentials, sent to the origin of url only. */
    const char *user, *password; /* HTTP basic [none] */
    const char *bearer;          /* Authorization: Bearer ... [none] */

    /* TLS: files in PEM. */
    const char *ca_file;   /* trusted CAs [the system's] */
    const char *cert_file; /* client certificate [none] */
    const char *key_file;  /* its key [in cert_file] */
    bool insecure;         /* accept any certificate and name */

    const char *unix_socket; /* connect to this socket instead [none] */
    bool no_proxy;           /* ignore http_proxy and similar variables */
    bool cross_origin;       /* follow redirects to other hosts, without the
                                credentials and headers above */
    unsigned redirects; /* most redirects of GET and HEAD; never from https to
                           http [0] */

    uint64_t connect_usec; /* until connected, TLS included [5 s] */
    uint64_t total_usec;   /* of all requests, with redirects [30 s] */
    size_t max_bytes;      /* of the body, decompressed [16 MiB] */
    size_t piece_bytes;    /* of bj_fetches_start(): most of a piece [16 KiB] */

    /* Receives the body of a successful reply, piece by piece [the reply's
     * body]. A negative return ends the call with that code; it must fill in
     * err. */
    int (*sink)(void *ctx, struct bj_slice piece, struct bj_err *err);
    void *ctx;

    /* When another thread sets it, the call ends within a second [never]. */
    const atomic_bool *abort;
};

/* The reply.  Zero-initialise, use any number of times, free with
 * bj_fetch_reply_free.  Valid until the next call. */
struct bj_fetch_reply {
    enum bj_fetch_fault fault;
    unsigned status; /* of the last reply; 0: none */
    struct bj_buf body;
    uint64_t
        retry_after_usec;  /* Retry-After from now; 0: not sent; at most 1 d */
    struct bj_buf headers; /* of the last reply, as sent */
};

void bj_fetch_reply_free(struct bj_fetch_reply *reply);

/* A header of the reply without blanks around it, the first of several; {NULL,
 * 0}: none.  The case of name does not matter. */
struct bj_slice bj_fetch_header(const struct bj_fetch_reply *reply,
                                const char *name);

/* A handle keeps its connections between calls.  For one thread at a time. */
struct bj_fetch;

/* The first call starts libcurl; no other thread may start libcurl meanwhile
 * (hosts make their handles while they are configured).  -ENOMEM, or -ENOSYS
 * when libcurl does not start. */
int bj_fetch_new(struct bj_fetch **ret, struct bj_err *err);

/* Close its connections; NULL is fine.  May wait for a name look-up in the
 * system's resolver. */
void bj_fetch_free(struct bj_fetch *f);

/* Send a request and wait for the reply; 0 when the status is 200 to 299.  Else
 * *reply has the fault and the reply so far (for an error status, its body up
 * to 64 KiB; a sink receives only success), and the message names method and
 * URL without user, password and query: "GET https://bmc7/redfish/v1: http:
 * status 401".
 *   -EHOSTUNREACH dns, -ECONNREFUSED connect, -EKEYREJECTED tls,
 *   -ETIMEDOUT timeout, -EFBIG too big, -EPROTO protocol, -ECANCELED aborted
 *   http: -EACCES for 401 and 403, -EAGAIN for 408, 429 and 503, else
 *         -EREMOTEIO (also for a redirect that is not followed)
 *   local: -EINVAL (the request), -ENOMEM, -EACCES (certificate files), the
 *         sink's own */
int bj_fetch(struct bj_fetch *f, const struct bj_fetch_request *req,
             struct bj_fetch_reply *reply, struct bj_err *err);

#endif
