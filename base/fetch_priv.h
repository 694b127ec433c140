/* What the parts of base/fetch.c share; nobody else needs it. */
#ifndef BJ_BASE_FETCH_PRIV_H
#define BJ_BASE_FETCH_PRIV_H

#include "base/fetch.h"
#include "base/libcurl.h"

#include <time.h>

/* Where a URL leads; slices point into it. */
struct bj_fetch_origin {
    bool https;
    struct bj_slice host; /* without brackets; compared without case */
    unsigned port;
};

/* -EINVAL: it is none, or neither http nor https. */
int bj_fetch_origin(const char *url, struct bj_fetch_origin *ret);
bool bj_fetch_same_origin(const char *a, const char *b);

enum { BJ_FETCH_SHOWN = 120 };

/* A URL as it may be shown: without user, password, query and fragment, clean,
 * cut.  Returns buf. */
const char *bj_fetch_show(const char *url, char buf[static BJ_FETCH_SHOWN]);

/* Take a line of headers; a status line forgets those before.  -EFBIG: more
 * than 64 KiB, -ENOMEM. */
int bj_fetch_take_header(struct bj_fetch_reply *reply, struct bj_slice line);

/* Fill in what the headers say.  date reads a date as libcurl does. */
typedef time_t bj_fetch_date(const char *text, const time_t *unused);
void bj_fetch_read_headers(struct bj_fetch_reply *reply, bj_fetch_date *date);

/* Forget the last answer, keep the memory. */
void bj_fetch_reply_reset(struct bj_fetch_reply *reply);

struct bj_fetch {
    struct bj_libcurl lib;
    CURL *curl;
    char words[CURL_ERROR_SIZE]; /* of libcurl about the last failure */
};

/* One call; one request after the other when there are redirects. */
struct bj_fetch_call {
    struct bj_fetch *f;
    const struct bj_fetch_request *req;
    struct bj_fetch_reply *reply;
    struct bj_err *err;
    const char *method, *url; /* url: of the request under way */
    char *location;           /* owned; what url points to after a redirect */
    bool foreign;             /* it left the origin that was asked for */
    struct curl_slist *headers;
    uint64_t deadline;
    size_t got;
    int verdict; /* why we ended it; 0: we did not */
    enum bj_fetch_fault fault;
};

/* Fill in what the call has failed with: "METHOD URL: fault: words".  Returns
 * code. */
int bj_fetch_fail(struct bj_fetch_call *c, enum bj_fetch_fault fault, int code,
                  const char *words);

/* Look whether the files of the request can be read; -EACCES. */
int bj_fetch_check_files(struct bj_fetch_call *c);

/* The headers of the request; -EINVAL, -ENOMEM. */
int bj_fetch_make_headers(struct bj_fetch_call *c);

/* Set an option of h, unless one before has failed (bad). */
#define BJ_FETCH_SET(option, value)                                            \
    (bad = bad || c->f->lib.easy_setopt(h, option, value))

/* All options of libcurl but its callbacks; false when one is refused. */
bool bj_fetch_set_options(struct bj_fetch_call *c);

#endif
