/* Client of a Prometheus-compatible server (Prometheus, Thanos, Mimir,
 * VictoriaMetrics): GET or POST /api/v1/query and /api/v1/query_range.
 *
 * Sends one query at a time, each with a timeout and a maximum size of the
 * reply. */
#ifndef BJ_STATSDB_PROM_PROM_H
#define BJ_STATSDB_PROM_PROM_H

#include "base/array.h"
#include "base/buf.h"
#include "base/fetch.h"
#include "base/json.h"
#include "base/opt.h"

#include <stdatomic.h>
#include <stdbool.h>

/* The server of a cluster. */
struct bj_prom_conf {
    char *url; /* NULL or empty: none */
    char *user, *password_file, *token_file;
    char *ca_file, *cert_file, *key_file;
    struct bj_strv headers, match;
    uint64_t scrape_usec, history_usec, settle_usec, grace_usec;
    uint64_t timeout_usec;
    uint64_t max_samples;
    uint64_t max_bytes; /* of a reply; 0: 32 MiB */
    char *scratch_place;
    bool factors;
};

/* Options of the client, for a table whose base has a struct bj_prom_conf at
 * offset at. */
#define BJ_PROM_TEXT(at, field, option)                                        \
    .name = "prometheus." option, .kind = BJ_OPT_STR,                          \
    .off = (at) + offsetof(struct bj_prom_conf, field)
#define BJ_PROM_CLIENT_OPTS(at)                                                \
    {BJ_PROM_TEXT(at, user, "user"), .arg = "NAME",                            \
     .help = "User name for the Prometheus server (basic authentication).",    \
     .more = "Set it when the server requires a password."},                   \
        {BJ_PROM_TEXT(at, password_file, "password-file"), .arg = "FILE",      \
         .help = "File with the password for the Prometheus server. Read for " \
                 "each "                                                       \
                 "query.",                                                     \
         .more = "Needed together with prometheus.user."},                     \
        {BJ_PROM_TEXT(at, token_file, "token-file"), .arg = "FILE",            \
         .help =                                                               \
             "File with a bearer token, instead of a password. Read for each " \
             "query.",                                                         \
         .more = "Set it when the server requires a token."},                  \
        {BJ_PROM_TEXT(at, ca_file, "ca-file"), .arg = "FILE",                  \
         .help =                                                               \
             "CA certificates to verify the Prometheus server with. Default: " \
             "the system's.",                                                  \
         .more = "Set it when its certificate is signed by your own CA.",      \
         .rare = true},                                                        \
        {BJ_PROM_TEXT(at, cert_file, "cert-file"), .arg = "FILE",              \
         .help =                                                               \
             "Client certificate of this program for the Prometheus server.",  \
         .more = "Set it when the server requires client certificates.",       \
         .rare = true},                                                        \
        {BJ_PROM_TEXT(at, key_file, "key-file"), .arg = "FILE",                \
         .help =                                                               \
             "Private key of that certificate. Default: in the same file.",    \
         .more = "Set it when the key is in another file.", .rare = true},     \
    {                                                                          \
        .name = "prometheus.header", .kind = BJ_OPT_LIST,                      \
        .off = (at) + offsetof(struct bj_prom_conf, headers),                  \
        .arg = "NAME: VALUE",                                                  \
        .help = "HTTP header of each query, such as X-Scope-OrgID: site.",     \
        .more = "Set it for Mimir and other servers with tenants.",            \
        .rare = true                                                           \
    }

/* The option table; base is a struct bj_prom_conf. */
extern const struct bj_opt bj_prom_opts[];

/* Check that the options are consistent: -EINVAL with a message. check_server:
 * checks only the options of the client, which are url to headers, match,
 * timeout and max_bytes. */
int bj_prom_check(const struct bj_prom_conf *conf, struct bj_err *err);
int bj_prom_check_server(const struct bj_prom_conf *conf, struct bj_err *err);

/* A request with the headers and credentials of conf, which must outlive it.
 * Zero-initialise. */
struct bj_prom_request {
    struct bj_fetch_request fetch;
    struct bj_buf url;
    const char *header[20];
    char token[8192], password[1024];
};

/* Fill in URL, headers and credentials; the caller adds method, body and
 * limits.  path: below conf's URL; query: behind its '?', empty: none; header:
 * one more, or NULL.  -ENOMEM, or an error of a file. */
int bj_prom_request_make(struct bj_prom_request *q,
                         const struct bj_prom_conf *conf, const char *path,
                         struct bj_slice query, const char *header,
                         struct bj_err *err);

/* Free the memory of a request and erase its secrets.  It is zero afterwards.
 */
void bj_prom_request_clear(struct bj_prom_request *q);

struct bj_prom;

/* conf and stop must outlive *ret; setting *stop ends a query within a second.
 */
int bj_prom_new(const struct bj_prom_conf *conf, const atomic_bool *stop,
                struct bj_prom **ret, struct bj_err *err);
void bj_prom_free(struct bj_prom *p);

/* Limit the time of the next queries, if conf's limit is longer; 0: only conf's
 * limit. */
void bj_prom_limit(struct bj_prom *p, uint64_t usec);

/* Receives the series of a reply. metric: labels. value: [time, "value"], or
 * for a range an array of these. A negative return ends the query. */
struct bj_prom_sink {
    void *ctx;
    int (*series)(void *ctx, const struct bj_json *metric,
                  const struct bj_json *value, struct bj_err *err);
};

/* Query values at one time, or in a range from start to end in steps. Errors
 * are those of base/fetch.h with the server's message, and
 * -EPROTO: not a reply of Prometheus
 * -EAGAIN: an incomplete reply */
int bj_prom_query(struct bj_prom *p, const char *query, int64_t at_sec,
                  const struct bj_prom_sink *sink, struct bj_err *err);
int bj_prom_range(struct bj_prom *p, const char *query, int64_t start_sec,
                  int64_t end_sec, int64_t step_sec,
                  const struct bj_prom_sink *sink, struct bj_err *err);

/* Check an option for the form LABEL=VALUE. */
int bj_prom_check_match(const char *text, struct bj_err *err);

/* Append the matchers of conf->match as PromQL ('cluster="alpha",'); %c is
 * replaced by the cluster. -EINVAL: one is not LABEL=VALUE. */
int bj_prom_matchers(const struct bj_strv *match, const char *cluster,
                     struct bj_buf *out, struct bj_err *err);

/* --- texts of queries -----------------------------------------------------*/

/* Append a query from a template: for each "$X", put appends the value of X. */
void bj_prom_expand(struct bj_buf *out, const char *template,
                    void (*put)(const void *ctx, char x, struct bj_buf *out),
                    const void *ctx);

/* Append text between the quotes of a PromQL string; regex: of one that holds a
 * regular expression, which then matches this text. */
void bj_prom_put(struct bj_buf *out, struct bj_slice text, bool regex);

/* --- replies in pieces ----------------------------------------------------*/

struct bj_prom_reply;

/* range: the reply must be a matrix; else a vector. */
int bj_prom_reply_new(bool range, const struct bj_prom_sink *sink,
                      struct bj_prom_reply **ret, struct bj_err *err);
int bj_prom_reply_feed(struct bj_prom_reply *r, struct bj_slice piece,
                       struct bj_err *err);
int bj_prom_reply_end(struct bj_prom_reply *r, struct bj_err *err);
void bj_prom_reply_free(struct bj_prom_reply *r);

/* Return the cleaned error message of a reply; "" if it has none. */
void bj_prom_reply_why(struct bj_slice body, char *ret, size_t cap);

/* Read [time, "value"]: the value times 10^digits, and the time. -EINVAL: not a
 * finite number. */
int bj_prom_value(const struct bj_json *pair, unsigned digits, int64_t *ret,
                  int64_t *ret_sec);

#endif
