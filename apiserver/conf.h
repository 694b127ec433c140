/* Options of the API server. */
#ifndef BJ_APISERVER_CONF_H
#define BJ_APISERVER_CONF_H

#include "apiserver/prompool.h"
#include "base/program.h"

#include <stdbool.h>

struct bj_api_conf {
    struct bj_strv listen; /* addresses, as in base/listen.h */
    char *socket;          /* path of a unix socket, empty: none */
    char *web_file;        /* names and passwords */
    uint64_t threads;      /* that work for requests */
    uint64_t max_requests, max_connections;
    uint64_t request_usec, flight_bytes;
    char *store; /* path of the SQLite file */
    bool any_filesystem;
    uint64_t cache_bytes;
    uint64_t query_usec; /* how long the store may work for a request */
    uint64_t max_rows;
    uint64_t longest_usec; /* jobs that began longer before a time than this are
                              not looked at */
    struct bj_strv proxies;      /* names whose password is that of a proxy */
    struct bj_strv certificates; /* whose they are: apiserver/certs.h */
    struct bj_strv proxy_users;  /* users that are proxies, on the socket */
    bool trust_loopback;
    uint64_t user_rate, user_burst; /* requests a second, 0: as many as they
                                       like; and at once */
    struct bj_strv admins, coordinators;
    char *access_file, *token_file;
    bool original_strict;
    char *constants; /* file of the site's own numbers; empty: none */
    struct bj_prompool_conf prom;
    struct bj_program program;
    unsigned refs; /* for its owners (apiserver/site.c) */
};

/* Fill a zeroed conf: presets, then the file, then the command line, then see
 * whether it all fits together.  With help or version given, nothing else is
 * looked at.  0 or -errno with a message that names the option, or file and
 * line.  Free it with bj_api_conf_free, whatever was returned. */
int bj_api_conf_load(struct bj_api_conf *conf, int argc, char **argv,
                     struct bj_err *err);
void bj_api_conf_free(struct bj_api_conf *conf);

/* A file that an option names can't be read: turn err, which says how far that
 * got, into -EINVAL with the option's name and the reason. */
int bj_api_conf_unread(const char *option, struct bj_err *err);

/* Append the text of the options for --help. */
void bj_api_conf_help(struct bj_buf *out);

#endif
