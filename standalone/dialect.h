/* Metrics pages of other exporters. */
#ifndef BJ_STANDALONE_DIALECT_H
#define BJ_STANDALONE_DIALECT_H

#include "core/conf.h"
#include "core/view/dialect.h"
#include "standalone/page.h"

enum { BJ_HOST_BYTES = 128, BJ_PREFIX_BYTES = 32 };

struct bj_dialect_conf {
    bool strict;     /* reproduce errors of the originals */
    char *exclude;   /* regular expression of families to leave out; or empty */
    char *prefix;    /* prefix of all families */
    char *skip_uids; /* file with uids; empty: none */
};

extern const struct bj_opt bj_dialect_opts[];

struct bj_dialect_options {
    struct bj_dialect_env env;
    const char *prefix; /* or NULL */
    /* private */
    char host[BJ_HOST_BYTES];
    struct bj_dialect_regex *exclude;
    uint64_t *uids;
};

/* Fill *ret, which must stay at its address; conf must live as long. -EINVAL,
 * -ENOMEM, errors of the file. Free it in any case. */
int bj_dialect_options_init(const struct bj_dialect_conf *conf,
                            const struct bj_conf *core,
                            struct bj_dialect_options *ret, struct bj_err *err);
void bj_dialect_options_free(struct bj_dialect_options *s);

/* Whether a family is left out. */
bool bj_dialect_options_excludes(const struct bj_dialect_options *s,
                                 struct bj_slice family);

/* Append the page of a dialect to out. room is kept between pages. OpenMetrics
 * only for dialects that have it (d->openmetrics). 0 or -ENOMEM, with
 * out->failed set. Sources: as for bj_page_write. */
int bj_dialect_page(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_dialect_options *options,
                    enum bj_page_format format, struct bj_dialect_room *room,
                    struct bj_buf *out);

#endif
