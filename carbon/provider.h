/* Providers of emission factors: one row each describes requests and replies.
 */
#ifndef BJ_CARBON_PROVIDER_H
#define BJ_CARBON_PROVIDER_H

#include "base/buf.h"
#include "base/err.h"
#include "carbon/reply.h"

#include <stddef.h>

enum bj_carbon_source {
    BJ_CARBON_HTTP,
    BJ_CARBON_FILE,    /* a file of the site (carbon/factor_file.h) */
    BJ_CARBON_TABLE,   /* by year and country (carbon/table.h) */
    BJ_CARBON_CONSTANT /* configured */
};

/* How to authenticate.  The secret is the content of a file. */
enum bj_carbon_auth {
    BJ_CARBON_OPEN,
    BJ_CARBON_HEADER, /* the token in a header, "auth_header: token" */
    BJ_CARBON_LOGIN   /* HTTP basic authentication with "user:password" at
                         login_path returns a token, valid for some time, to send
                         as bearer */
};

/* A provider.  NULL or 0: does not apply. */
struct bj_carbon_provider {
    const char *name; /* as in options and labels */
    enum bj_carbon_source source;
    bool zoned;          /* the configuration must name a zone */
    const char *zone;    /* the only zone, of a national provider */
    const char *country; /* its ISO 3166-1 alpha-2 code */
    const char *origin;
    enum bj_carbon_auth auth;
    const char *auth_header;
    const char *login_path;
    uint32_t login_sec;  /* how long a token is used */
    uint32_t period_sec; /* default interval of queries */
    size_t max_bytes;    /* of a reply */
    /* Append the URL of a request. */
    void (*url)(const struct bj_carbon_target *target, struct bj_buf *out);
    /* Read the body of a reply about a zone; text may be any bytes.  -EINVAL
     * with a message if it is not the requested data (a page of HTML, another
     * zone, another unit), -EFBIG, -ENOMEM; *ret is then undefined.  A reply
     * without values is valid: n is 0. */
    int (*parse)(struct bj_slice text, const char *zone,
                 struct bj_carbon_reply *ret, struct bj_err *err);
};

/* All providers; ends with name NULL. */
extern const struct bj_carbon_provider bj_carbon_providers[];

/* The provider of that name; NULL: unknown. */
const struct bj_carbon_provider *bj_carbon_provider(struct bj_slice name);

#endif
