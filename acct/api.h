/* batchjob_acct reads jobs from the API, which returns only jobs that the user
 * may see. */
#ifndef BJ_ACCT_API_H
#define BJ_ACCT_API_H

#include "acct/source.h"

/* Options of the API source; NULL or "": not set. */
struct bj_acct_api_conf {
    char *server;     /* http://HOST, https://HOST or unix:/PATH */
    char *token_file; /* "~/" at the start means the home directory */
    char *ca_file, *cert_file, *key_file;
    uint64_t timeout_usec; /* of each request */
};

/* Check a server: 0, or -EINVAL with a message. */
int bj_acct_api_check(const char *server, struct bj_err *err);

/* conf must outlive the source.  No request is sent yet.
 *   -EACCES  the token file cannot be used
 *   -ENOSYS  libcurl is not installed */
int bj_acct_api_open(const struct bj_acct_api_conf *conf,
                     struct bj_acct_source *ret, struct bj_err *err);

#endif
