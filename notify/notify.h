/* Notifications: findings on running jobs, nodes and GPUs that need attention,
 * and late imports become alerts, which are posted to the targets of the site
 * while they last (docs/notify.md).
 *
 * What is not known does not end an alert: it lasts until its end is seen, or
 * until nothing was known of it for a day. */
#ifndef BJ_NOTIFY_NOTIFY_H
#define BJ_NOTIFY_NOTIFY_H

#include "base/buf.h"
#include "statsdb/conf/conf.h"
#include "statsdb/tables/store.h"

#include <stdatomic.h>

struct bj_notify;

/* Are there any targets? */
bool bj_notify_is_on(const struct bj_statsdb_conf *conf);

/* Check options and files of all targets, without a request: -EINVAL, or
 * -EACCES of a secret. */
int bj_notify_check(const struct bj_statsdb_conf *conf, struct bj_err *err);

/* Post no alerts to each Alertmanager, which shows that it answers and takes
 * the password; other targets have no such request. */
int bj_notify_greet(const struct bj_statsdb_conf *conf, const atomic_bool *stop,
                    struct bj_err *err);

/* Print each target with its host, without secrets. */
void bj_notify_print(const struct bj_statsdb_conf *conf);

/* Start a thread, with its own connection to the store, that posts until *ret
 * is freed; *ret is NULL if there are no targets.  thread false: only
 * bj_notify_round posts.  conf, store and stop must outlive *ret. */
int bj_notify_new(const struct bj_statsdb_conf *conf, struct bj_store *store,
                  const atomic_bool *stop, bool thread, struct bj_notify **ret,
                  struct bj_err *err);
void bj_notify_free(struct bj_notify *n); /* NULL is fine */

/* Find what is wrong and post once; only without thread.  An error of the
 * store; those of targets are logged. */
int bj_notify_round(struct bj_notify *n, struct bj_err *err);

/* Append metrics. */
void bj_notify_page(struct bj_notify *n, struct bj_buf *out);

#endif
