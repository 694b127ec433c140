/* How the pages of other exporters are written: the options, and what they come
 * to while the exporter runs. */
#ifndef BJ_STANDALONE_STYLE_H
#define BJ_STANDALONE_STYLE_H

#include "core/conf.h"
#include "core/view/dialect.h"

enum { BJ_HOST_BYTES = 128, BJ_PREFIX_BYTES = 32 };

struct bj_style_conf {
    bool strict;     /* with the peers' errors */
    char *exclude;   /* families whose name it matches are left out; empty:
                        none */
    char *prefix;    /* before the names of all families */
    char *skip_uids; /* file of users' numbers; empty: none */
};

extern const struct bj_opt bj_style_opts[];

struct bj_style {
    struct bj_dialect_env env;
    const char *prefix; /* or NULL */
    /* inside */
    char host[BJ_HOST_BYTES];
    struct bj_style_regex *exclude;
    uint64_t *uids;
};

/* Fill *ret, which must then stay where it is; conf is only borrowed, and must
 * live as long.  -EINVAL, -ENOMEM, errors of the file.  Free it in any case. */
int bj_style_init(const struct bj_style_conf *conf, const struct bj_conf *core,
                  struct bj_style *ret, struct bj_err *err);
void bj_style_free(struct bj_style *s);

/* Whether a family is to be left out. */
bool bj_style_excludes(const struct bj_style *s, struct bj_slice family);

#endif
