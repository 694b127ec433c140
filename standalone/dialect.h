/* Pages of other exporters: a snapshot under their names. */
#ifndef BJ_STANDALONE_DIALECT_H
#define BJ_STANDALONE_DIALECT_H

#include "core/view/dialect.h"
#include "standalone/page.h"
#include "standalone/style.h"

/* Append the page of a dialect to out.  room is kept from page to page.
 * OpenMetrics is for dialects that have it (d->openmetrics).  0 or -ENOMEM;
 * out->failed is set then too.
 * Sources: as for bj_page_write. */
int bj_dialect_page(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_style *style, enum bj_page_format format,
                    struct bj_dialect_room *room, struct bj_buf *out);

#endif
