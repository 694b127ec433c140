/* The web configuration file that Prometheus' exporters share: TLS, users with
 * hashed passwords, response headers, a rate limit.
 * Source: prometheus/exporter-toolkit, docs/web-configuration.md. */
#ifndef BJ_BASE_WEB_CONF_H
#define BJ_BASE_WEB_CONF_H

#include "base/err.h"
#include "base/opt.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is required of a client's certificate; the names are those of Go's
 * crypto/tls, which the file uses. */
enum bj_client_auth {
    BJ_CLIENT_NONE,     /* NoClientCert */
    BJ_CLIENT_REQUEST,  /* RequestClientCert: requested, not verified */
    BJ_CLIENT_ANY,      /* RequireAnyClientCert: any, not verified */
    BJ_CLIENT_IF_GIVEN, /* VerifyClientCertIfGiven */
    BJ_CLIENT_REQUIRED, /* RequireAndVerifyClientCert */
};

enum { BJ_WEB_HEADERS = 5, BJ_TLS_VERSIONS = 4 /* TLS 1.0 to 1.3 */ };

/* A certificate, key or list of such: the name of a file, or PEM itself. */
struct bj_pem {
    char *file, *text;
};

struct bj_tls_conf {
    bool given; /* TLS is served */
    struct bj_pem cert, key, client_ca;
    unsigned client_auth;   /* enum bj_client_auth */
    struct bj_strv sans;    /* one of them must be in a client's certificate */
    unsigned lowest, upper; /* versions: N of TLS 1.N */
    bool server_order;      /* prefer the server's order of ciphers */
    struct bj_strv curves;  /* GnuTLS' names of groups; none: its default */
};

struct bj_web_conf {
    struct bj_webuser {
        char *name, *hash;
    } * user;
    size_t users;
    struct bj_tls_conf tls;
    struct {
        const char *name; /* static */
        char *value;
    } header[BJ_WEB_HEADERS]; /* from the start; name NULL: none */
    uint64_t rate_usec;       /* interval per request; 0: no limit */
    uint64_t burst;
};

/* Read it into a zeroed structure.  Unsupported, unknown and contradictory keys
 * are errors that name them, never ignored.  Names of files are relative to the
 * directory of path; the files are not read.  -EINVAL with file and line, or
 * the error of reading the file.  Free it also after a failure. */
int bj_web_conf_read(struct bj_web_conf *c, const char *path,
                     struct bj_err *err);

/* The same for text in memory; path is for messages and the directory. */
int bj_web_conf_parse(struct bj_web_conf *c, const char *path,
                      struct bj_slice text, struct bj_err *err);
void bj_web_conf_free(struct bj_web_conf *c);

/* The hash of a user, or NULL. */
const char *bj_web_conf_hash(const struct bj_web_conf *c, struct bj_slice name);

/* A hash of the file, for argument like of bj_secret_check(). */
const char *bj_web_conf_any_hash(const struct bj_web_conf *c);

#endif
