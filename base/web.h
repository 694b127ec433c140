/* A web configuration in force: read once, shared by those who use it, replaced
 * as a whole when its files change. */
#ifndef BJ_BASE_WEB_H
#define BJ_BASE_WEB_H

#include "base/err.h"
#include "base/web_conf.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_tls;

enum { BJ_WEB_FILES = 4 };

/* What tells whether a file is another than before. */
struct bj_web_stamp {
    int64_t nsec;
    uint64_t dev, ino, size;
};

/* Only read after it was made; counted references, from any thread. */
struct bj_web {
    struct bj_web_conf conf;
    struct bj_tls *tls; /* NULL: no TLS */
    char *path;         /* NULL: there is no file */
    struct bj_web_stamp stamp[BJ_WEB_FILES];
    unsigned refs; /* atomic */
};

/* Read the file and what it names; path NULL or empty: an empty one.  -EINVAL
 * with a message that names the file. */
int bj_web_new(const char *path, struct bj_web **ret, struct bj_err *err);
struct bj_web *bj_web_ref(struct bj_web *w);
void bj_web_unref(struct bj_web *w); /* NULL is fine */

/* When to look at the files again. */
struct bj_web_watch {
    uint64_t next_usec;
    struct bj_web_stamp tried[BJ_WEB_FILES]; /* what was wrong */
};

/* Have the files changed, so that there is a newer one to be had?  Looks at
 * them once a second at most, and says so once for a set of files: what turned
 * out to be wrong is not tried again before it changes. */
bool bj_web_changed(const struct bj_web *w, struct bj_web_watch *watch,
                    uint64_t now_usec);

/* Requests a second: one each interval, a number of them at once. */
struct bj_bucket {
    uint64_t full_usec; /* when it will be full again */
};

/* Take one request's share.  0, or for how many microseconds to wait. */
uint64_t bj_bucket_take(struct bj_bucket *b, uint64_t interval_usec,
                        uint64_t burst, uint64_t now_usec);

#endif
