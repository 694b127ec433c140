/* A web configuration in use: read once, shared, replaced as a whole when its
 * files change. */
#ifndef BJ_BASE_WEB_H
#define BJ_BASE_WEB_H

#include "base/err.h"
#include "base/web_conf.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_tls;

enum { BJ_WEB_FILES = 4 };

/* Identifies a version of a file. */
struct bj_web_stamp {
    int64_t nsec;
    uint64_t dev, ino, size;
};

/* Read-only once made; counted references, from any thread. */
struct bj_web {
    struct bj_web_conf conf;
    struct bj_tls *tls; /* NULL: no TLS */
    char *path;         /* NULL: there is no file */
    struct bj_web_stamp stamp[BJ_WEB_FILES];
    unsigned refs; /* atomic */
};

/* Read the file and the files that it names; path NULL or empty: an empty
 * configuration.  -EINVAL with a message that names option and file. */
int bj_web_new(const char *option, const char *path, struct bj_web **ret,
               struct bj_err *err);
struct bj_web *bj_web_ref(struct bj_web *w);
void bj_web_unref(struct bj_web *w); /* NULL is fine */

/* State of the checks for changed files. */
struct bj_web_watch {
    uint64_t next_usec;
    struct bj_web_stamp tried[BJ_WEB_FILES]; /* versions that failed */
};

/* Have the files changed?  Checks them at most once a second, and reports each
 * version of the files once: a bad version is not read again before the file
 * changes. */
bool bj_web_changed(const struct bj_web *w, struct bj_web_watch *watch,
                    uint64_t now_usec);

/* A rate limit: one request each interval, a number of them at once. */
struct bj_bucket {
    uint64_t full_usec; /* when it is full again */
};

/* Take one request.  0, or the microseconds to wait. */
uint64_t bj_bucket_take(struct bj_bucket *b, uint64_t interval_usec,
                        uint64_t burst, uint64_t now_usec);

#endif
