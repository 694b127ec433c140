/* Options of the API server. */
#ifndef BJ_APISERVER_CONF_CONF_H
#define BJ_APISERVER_CONF_CONF_H

#include "apiserver/conf/gate_conf.h"
#include "apiserver/conf/prompool.h"
#include "base/program.h"

#include <stdbool.h>

struct bj_api_conf {
    struct bj_strv listen;          /* addresses, as in base/listen.h */
    char *socket;                   /* path of a unix socket, empty: none */
    char *web_file;                 /* TLS, names and passwords */
    struct bj_strv frame_ancestors; /* origins that may show pages in frames */
    uint64_t threads;               /* number of threads that query the store */
    uint64_t max_requests;
    uint64_t request_usec, flight_bytes;
    char *store; /* path of the SQLite file */
    bool any_filesystem;
    uint64_t cache_bytes;
    uint64_t query_usec; /* time limit of the queries of a request */
    uint64_t max_rows;
    uint64_t longest_usec;  /* lists omit jobs that started longer than this
                               before the requested time */
    struct bj_strv proxies; /* names of proxies in web.config.file */
    struct bj_strv certificates; /* rules of apiserver/access/certs.h */
    struct bj_strv proxy_users;  /* system users that are proxies */
    char *proxy_header;          /* in which a proxy names the user */
    bool trust_loopback;
    uint64_t user_rate; /* requests per second of each user, 0: unlimited */
    struct bj_strv admins, coordinators;
    char *access_file, *token_file;
    bool original_strict;
    char *constants; /* file with numbers of the site; empty: none */
    char *faculties; /* file with faculties of accounts; empty: none */
    char *storage;   /* file with projects and quotas; empty: none */
    char *script_sacct, *script_scontrol; /* programs; empty: not used */
    struct bj_prompool_conf prom;
    struct bj_gate_conf gate;
    struct bj_program program;
    unsigned refs; /* number of owners (apiserver/frame/settings.c) */
};

/* Are batch scripts shown? */
static inline bool bj_api_conf_scripts(const struct bj_api_conf *c)
{
    return bj_is_set(c->script_sacct) || bj_is_set(c->script_scontrol);
}

/* Fill a zeroed conf: defaults, then the file, then the command line, then
 * check that the options are consistent.  With --help or --version, nothing is
 * checked.  0, or -errno with the option, or file and line, in the message.
 * Free it with bj_api_conf_free in any case. */
int bj_api_conf_load(struct bj_api_conf *conf, int argc, char **argv,
                     struct bj_err *err);
void bj_api_conf_free(struct bj_api_conf *conf);

/* Change the error of reading an option's file into -EINVAL, with the name of
 * the option and the reason in the message. */
int bj_api_conf_unread(const char *option, struct bj_err *err);

/* Most bytes of all origins, with a blank before each. */
enum { BJ_FRAME_ANCESTORS_MAX = 400 };

/* All option tables, with conf as their base. */
enum { BJ_API_SETS = 4 };
void bj_api_conf_sets(struct bj_api_conf *conf,
                      struct bj_optset sets[BJ_API_SETS]);

/* Append the text of --help, or of --help=all. */
void bj_api_conf_help(bool all, struct bj_buf *out);

#endif
