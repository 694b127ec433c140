/* Shared by the files of base/fetch.c; private to them. */
#ifndef BJ_BASE_FETCH_PRIV_H
#define BJ_BASE_FETCH_PRIV_H

#include "base/fetch.h"
#include "base/libcurl.h"

#include <time.h>

/* The origin of a URL; slices point into it. */
struct bj_fetch_origin {
    bool https;
    struct bj_slice host; /* without brackets; case does not matter */
    unsigned port;
};

/* -EINVAL: not a URL, or neither http nor https. */
int bj_fetch_origin(const char *url, struct bj_fetch_origin *ret);
bool bj_fetch_same_origin(const char *a, const char *b);

/* Add a header line; a status line deletes those before.  -EFBIG: more than 64
 * KiB, -ENOMEM. */
int bj_fetch_take_header(struct bj_fetch_reply *reply, struct bj_slice line);

/* Fill in the fields of reply that come from headers.  date parses a date as
 * libcurl does. */
typedef time_t bj_fetch_date(const char *text, const time_t *unused);
void bj_fetch_read_headers(struct bj_fetch_reply *reply, bj_fetch_date *date);

struct bj_fetch {
    struct bj_libcurl lib;
    CURL *curl;
    char message[CURL_ERROR_SIZE]; /* libcurl's message of the last failure */
};

/* One call of bj_fetch(); with redirects, several requests. */
struct bj_fetch_call {
    struct bj_fetch *f;
    const struct bj_fetch_request *req;
    struct bj_fetch_reply *reply;
    struct bj_err *err;
    const char *method, *url; /* url: of the current request */
    char *location;           /* owned; the url of a redirect */
    bool foreign;             /* it left the origin of the request */
    struct curl_slist *headers;
    uint64_t deadline;
    size_t got;
    int verdict; /* why a callback ended it; 0: none did */
    enum bj_fetch_fault fault;
};

/* Fill in the failure of a call: "METHOD URL: fault: message".  Returns code.
 */
int bj_fetch_fail(struct bj_fetch_call *c, enum bj_fetch_fault fault, int code,
                  const char *message);

/* As bj_fetch_fail(), for an error code of libcurl. */
int bj_fetch_explain(struct bj_fetch_call *c, CURLcode code);

/* Check that the files of the request are readable; -EACCES. */
int bj_fetch_check_files(struct bj_fetch_call *c);

/* The headers of the request; -EINVAL, -ENOMEM. */
int bj_fetch_make_headers(struct bj_fetch_call *c);

/* Set an option of h, unless an earlier one has failed (bad). */
#define BJ_FETCH_SET(option, value)                                            \
    (bad = bad || c->f->lib.easy_setopt(h, option, value))

/* Set all options of libcurl but its callbacks; false on failure. */
bool bj_fetch_set_options(struct bj_fetch_call *c);

#endif
