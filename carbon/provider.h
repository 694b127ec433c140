/* Providers of emission factors: one row each says how to ask and how to read
 * the answer. */
#ifndef BJ_CARBON_PROVIDER_H
#define BJ_CARBON_PROVIDER_H

#include "base/buf.h"
#include "base/err.h"
#include "carbon/reply.h"

#include <stddef.h>

enum bj_carbon_source {
    BJ_CARBON_HTTP,
    BJ_CARBON_FILE,    /* what the site drops (carbon/drop.h) */
    BJ_CARBON_TABLE,   /* by year and country (carbon/table.h) */
    BJ_CARBON_CONSTANT /* the operator's */
};

/* How a provider knows us.  The secret is the content of a file. */
enum bj_carbon_auth {
    BJ_CARBON_OPEN,
    BJ_CARBON_HEADER, /* the token in a header, "auth_header: token" */
    BJ_CARBON_LOGIN   /* "user:password" by HTTP basic at login_path gives a
                         token for some time, which is sent as bearer */
};

/* A provider.  What is NULL or 0 does not apply. */
struct bj_carbon_provider {
    const char *name; /* as in options and labels */
    enum bj_carbon_source source;
    bool zoned;          /* a zone must be named by the operator */
    const char *zone;    /* the only zone, of a national provider */
    const char *country; /* the same as ISO 3166-1 alpha-2 */
    const char *origin;
    enum bj_carbon_auth auth;
    const char *auth_header;
    const char *login_path;
    uint32_t login_sec;  /* a token is used so long */
    uint32_t period_sec; /* between questions, the preset */
    size_t max_bytes;    /* of an answer */
    /* Append the URL of a question. */
    void (*url)(const struct bj_carbon_ask *ask, struct bj_buf *out);
    /* Read the body of an answer about a zone; text is any bytes.  -EINVAL
     * with a message when it is not what was asked for (a page of HTML,
     * another zone, another unit), -EFBIG, -ENOMEM; *ret is then of no use.
     * No values are no failure: n is 0. */
    int (*parse)(struct bj_slice text, const char *zone,
                 struct bj_carbon_reply *ret, struct bj_err *err);
};

/* All providers; ends with name NULL. */
extern const struct bj_carbon_provider bj_carbon_providers[];

/* The one of that name; NULL when there is none. */
const struct bj_carbon_provider *bj_carbon_provider(struct bj_slice name);

#endif
