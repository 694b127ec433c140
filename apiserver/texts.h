/* The texts of pages as replaced by the site, from the store (base/local.h). */
#ifndef BJ_APISERVER_TEXTS_H
#define BJ_APISERVER_TEXTS_H

#include "base/err.h"

struct bj_api_worker;
struct bj_reader;
struct bj_texts; /* counts its references */

/* Read the texts for a thread that has begun to read the store, if the store
 * has changed since it last read them.  0 or an error of the store. */
int bj_texts_read(struct bj_api_worker *a, struct bj_reader *r,
                  struct bj_err *err);

/* Add a reference; NULL stays NULL. */
struct bj_texts *bj_texts_ref(struct bj_texts *t);
void bj_texts_unref(struct bj_texts *t);

/* Let the thread use these texts from now on; NULL: English. */
void bj_texts_use(const struct bj_texts *t);

#endif
