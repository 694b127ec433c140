/* Pushes the page to a Pushgateway.
 *
 * Before each push the group is deleted, so that ended jobs leave no stale
 * series; an empty page is not pushed. The group is deleted again when the
 * exporter stops. Runs in its own thread: a gateway that does not respond
 * delays nothing else. Sources: Pushgateway, README ("API"); petricore,
 * jobs_exporter.py. */
#ifndef BJ_STANDALONE_PUSH_H
#define BJ_STANDALONE_PUSH_H

#include "base/buf.h"
#include "base/opt.h"
#include "core/host.h"

struct bj_push_conf {
    char *url; /* of the gateway; empty: disabled */
    char *job; /* label of the group */
    uint64_t interval_usec;
};

extern const struct bj_opt bj_push_opts[];

/* Check the options. -EINVAL with a message. */
int bj_push_check(const struct bj_push_conf *conf, struct bj_err *err);

struct bj_push;

/* conf must outlive it.  -ENOMEM, -ENOSYS without libcurl, no thread. */
int bj_push_new(const struct bj_push_conf *conf, const struct bj_host *host,
                struct bj_push **ret, struct bj_err *err);

/* Queue a page in the text format; page is empty afterwards. Replaces a page
 * that is still queued. */
void bj_push_page(struct bj_push *p, struct bj_buf *page);

/* Delete the group and stop, within a few seconds. NULL is fine. */
void bj_push_free(struct bj_push *p);

#endif
