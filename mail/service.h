/* Sends mails while the daemon runs: a thread with a connection to the store of
 * its own, so that a slow mail server delays no import. */
#ifndef BJ_MAIL_SERVICE_H
#define BJ_MAIL_SERVICE_H

#include "base/err.h"
#include "statsdb/mail_conf.h"
#include "statsdb/store.h"

#include <stdatomic.h>
#include <stdbool.h>

struct bj_mail_service;

/* Check the options and the files that they name.  -EINVAL and others with the
 * option in the message. */
int bj_mail_check(const struct bj_mail_conf *conf, struct bj_err *err);

/* Turn mails on in the store, or off, as conf says; *ret is NULL when they are
 * off.  plots: where their plots come from; NULL: they have none.  With thread,
 * rounds are made until it is freed.  conf, store, stop and plots must outlive
 * it. */
struct bj_mail_plots_from;
int bj_mail_service_new(const struct bj_mail_conf *conf, struct bj_store *store,
                        const atomic_bool *stop,
                        struct bj_mail_plots_from *plots, bool thread,
                        struct bj_mail_service **ret, struct bj_err *err);

/* Send what is due; without thread only. */
int bj_mail_service_round(struct bj_mail_service *m, struct bj_err *err);

/* Stop the thread.  A mail that is being sent is given up only when *stop is
 * set.  NULL is fine. */
void bj_mail_service_free(struct bj_mail_service *m);

#endif
