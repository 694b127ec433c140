/* Options with the content of their files, and the connection of each thread to
 * the store. */
#ifndef BJ_APISERVER_FRAME_SETTINGS_H
#define BJ_APISERVER_FRAME_SETTINGS_H

#include "apiserver/frame/state.h"

/* Read the files that conf names; the settings take ownership of conf in any
 * case. secrets must outlive the settings. */
int bj_settings_new(struct bj_api_conf *conf, struct bj_secrets *secrets,
                    struct bj_settings **ret, struct bj_err *err);
/* Make new settings from the same options, with their files read again. */
int bj_settings_renew(struct bj_settings *old, struct bj_settings **ret,
                      struct bj_err *err);
struct bj_settings *bj_settings_ref(struct bj_settings *s);
void bj_settings_unref(struct bj_settings *s); /* NULL is fine */

/* Switch a thread to these settings, with its own reader and words. Takes
 * ownership of the reference; a failure changes nothing. */
int bj_worker_use(struct bj_api_worker *a, struct bj_settings *settings,
                  struct bj_err *err);
void bj_worker_release(struct bj_api_worker *a);

/* Add the counters of the thread's reader to those of the server. */
void bj_worker_report(struct bj_api_worker *a);

#endif
