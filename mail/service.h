/* Sends mails while the daemon runs, in a thread with its own connection to the
 * store, so that a slow mail server delays no import. */
#ifndef BJ_MAIL_SERVICE_H
#define BJ_MAIL_SERVICE_H

#include "base/err.h"
#include "statsdb/conf/mail_conf.h"
#include "statsdb/tables/store.h"

#include <stdatomic.h>
#include <stdbool.h>

struct bj_mail_service;

/* Check the options and the files that they name.  -EINVAL and other errors
 * with the option in the message. */
int bj_mail_check(const struct bj_mail_conf *conf, struct bj_err *err);

/* Turn mails on or off in the store according to conf; *ret is NULL if they are
 * off.  plots: source of plots; NULL: mails have no plots.  With thread, mails
 * are sent until *ret is freed.  conf, store, stop and plots must outlive *ret.
 */
struct bj_mail_plots_from;
int bj_mail_service_new(const struct bj_mail_conf *conf, struct bj_store *store,
                        const atomic_bool *stop,
                        struct bj_mail_plots_from *plots, bool thread,
                        struct bj_mail_service **ret, struct bj_err *err);

/* Send the mails that are due; only without thread. */
int bj_mail_service_round(struct bj_mail_service *m, struct bj_err *err);

/* Stop the thread.  A mail that is being sent is aborted only if *stop is set.
 * NULL is fine. */
void bj_mail_service_free(struct bj_mail_service *m);

#endif
