/* The web configuration file that Prometheus' exporters share.
 * Source: prometheus/exporter-toolkit, docs/web-configuration.md. */
#ifndef BJ_APISERVER_WEBCONF_H
#define BJ_APISERVER_WEBCONF_H

#include "base/err.h"
#include "base/slice.h"

#include <stddef.h>

/* Users and the hashes of their passwords. */
struct bj_webconf {
    struct bj_webuser {
        char *name, *hash;
    } * user;
    size_t users;
};

/* Read it into a zeroed structure.  Of its sections only basic_auth_users is
 * known; the others are refused and not ignored, since whoever writes them
 * counts on them.  -EINVAL with file and line.  Free it whatever came of it. */
int bj_webconf_read(struct bj_webconf *c, const char *path, struct bj_err *err);
void bj_webconf_free(struct bj_webconf *c);

/* The hash of a user, or NULL. */
const char *bj_webconf_hash(const struct bj_webconf *c, struct bj_slice name);

#endif
