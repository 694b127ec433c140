/* What options and files say, and a thread's own view of it. */
#ifndef BJ_APISERVER_SITE_H
#define BJ_APISERVER_SITE_H

#include "apiserver/server.h"

/* Read what conf names; it is the site's, whatever is returned. */
int bj_site_new(struct bj_api_conf *conf, struct bj_site **ret,
                struct bj_err *err);
/* The same options with files read anew. */
int bj_site_renew(struct bj_site *old, struct bj_site **ret,
                  struct bj_err *err);
struct bj_site *bj_site_ref(struct bj_site *s);
void bj_site_unref(struct bj_site *s); /* NULL is fine */

/* Let a thread work with a site, by a reader and words of its own.  Takes over
 * the reference; on failure all is as before. */
int bj_worker_use(struct bj_api *a, struct bj_site *site, struct bj_err *err);
void bj_worker_release(struct bj_api *a);

/* Add what its reader has counted to the server's figures. */
void bj_worker_report(struct bj_api *a);

#endif
