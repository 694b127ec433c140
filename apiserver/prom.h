/* The Prometheus server that has the time series of jobs.
 * Source: Prometheus, docs/querying/api.md, "range queries". */
#ifndef BJ_APISERVER_PROM_H
#define BJ_APISERVER_PROM_H

#include "base/err.h"
#include "base/json.h"
#include "base/opt.h"

#include <stdbool.h>

/* Options prometheus.*. */
struct bj_prom_conf {
    char *url;                  /* empty: there is none */
    char *user, *password_file; /* basic auth */
    char *bearer_file;          /* or a token */
    char *ca_file, *cert_file, *key_file;
    char *match;         /* more matchers for every selector; empty: none */
    char *cluster_label; /* label with the cluster's name; empty: none */
    uint64_t timeout_usec, scrape_usec;
    uint64_t queries; /* at a time */
};
extern const struct bj_opt bj_prom_opts[];

/* Does it fit together?  -EINVAL with a message that names the option. */
int bj_prom_check(const struct bj_prom_conf *conf, struct bj_err *err);

/* A client.  Threads may share it: each question takes a connection out of a
 * pool.  conf is copied where it is needed.  Reads the files that conf names.
 * *ret is NULL when no server is configured. */
struct bj_prom;
int bj_prom_new(const struct bj_prom_conf *conf, struct bj_prom **ret,
                struct bj_err *err);

/* One more owner, and one less; NULL is fine. */
struct bj_prom *bj_prom_ref(struct bj_prom *p);
void bj_prom_unref(struct bj_prom *p);

/* A range of time in whole seconds. */
struct bj_prom_range {
    int64_t from, to, step;
};

/* Ask for a range and wait.  series is called for each element of the result.
 * -EBUSY: as many questions as there may be are being asked; else what bj_fetch
 * or bj_json_stream_feed say, or series. */
int bj_prom_ask(struct bj_prom *p, struct bj_slice query,
                const struct bj_prom_range *range,
                int (*series)(void *ctx, const struct bj_json *v,
                              struct bj_err *err),
                void *ctx, struct bj_err *err);

#endif
