/* Metrics pages of other exporters. */
#ifndef BJ_STANDALONE_DIALECT_H
#define BJ_STANDALONE_DIALECT_H

#include "core/view/dialect.h"
#include "standalone/dialect_options.h"
#include "standalone/page.h"

/* Append the page of a dialect to out. room is kept between pages. OpenMetrics
 * only for dialects that have it (d->openmetrics). 0 or -ENOMEM, with
 * out->failed set. Sources: as for bj_page_write. */
int bj_dialect_page(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_dialect_options *options,
                    enum bj_page_format format, struct bj_dialect_room *room,
                    struct bj_buf *out);

#endif
