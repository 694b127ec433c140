/* Pushing the page to a Pushgateway, for sites whose exporter did that.
 *
 * Each time the group that was pushed before is deleted first, so that what has
 * gone leaves no flat line; an empty page is not pushed.  When the exporter
 * stops, its group is deleted.  All of that in a thread of its own: a gateway
 * that does not answer holds up nothing.
 * Sources: Pushgateway, README ("API"); petricore, jobs_exporter.py. */
#ifndef BJ_STANDALONE_PUSH_H
#define BJ_STANDALONE_PUSH_H

#include "base/buf.h"
#include "base/opt.h"
#include "core/host.h"

struct bj_push_conf {
    char *url; /* of the gateway; empty: nothing is pushed */
    char *job; /* label of the group */
    uint64_t interval_usec;
};

extern const struct bj_opt bj_push_opts[];

/* Whether the options make sense.  -EINVAL with a message. */
int bj_push_check(const struct bj_push_conf *conf, struct bj_err *err);

struct bj_push;

/* conf must outlive it.  -ENOMEM, -ENOSYS without libcurl, no thread. */
int bj_push_new(const struct bj_push_conf *conf, const struct bj_host *host,
                struct bj_push **ret, struct bj_err *err);

/* Hand a page over, in the text format; page is empty afterwards.  One that
 * waits still is dropped for it. */
void bj_push_give(struct bj_push *p, struct bj_buf *page);

/* Delete the group and end, within some seconds.  NULL is fine. */
void bj_push_free(struct bj_push *p);

#endif
