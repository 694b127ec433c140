/* The texts of pages as replaced by the site (base/local.h), its time zone
 * (base/tz.h), and the levels of efficiencies by its rules, from the store. */
#ifndef BJ_APISERVER_FRAME_TEXTS_H
#define BJ_APISERVER_FRAME_TEXTS_H

#include "report/model/catalogue.h"

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

/* Let the thread use these texts, this zone and these levels from now on; NULL:
 * English, UTC and no levels. */
void bj_texts_use(const struct bj_texts *t);

/* The levels that this thread uses; NULL: none. */
const struct bj_levels *bj_texts_levels(enum bj_level_of of);

#endif
