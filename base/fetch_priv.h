/* What the parts of base/fetch.c share; nobody else needs it. */
#ifndef BJ_BASE_FETCH_PRIV_H
#define BJ_BASE_FETCH_PRIV_H

#include "base/fetch.h"

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

/* Fill in what the headers say. */
void bj_fetch_read_headers(struct bj_fetch_reply *reply);

/* Forget the last answer, keep the memory. */
void bj_fetch_reply_reset(struct bj_fetch_reply *reply);

#endif
