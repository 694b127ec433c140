/* Options of the exporter. */
#ifndef BJ_STANDALONE_CONF_H
#define BJ_STANDALONE_CONF_H

#include "base/program.h"
#include "core/conf.h"
#include "standalone/dialect.h"
#include "standalone/push.h"
#include "standalone/trace.h"

#include <stdbool.h>

struct bj_exporter_conf {
    struct bj_conf core;
    struct bj_strv listen; /* addresses, as in base/listen.h */
    bool listen_set;       /* set by the configuration */
    char *telemetry_path;
    char *dialect;       /* of telemetry_path; "native" */
    struct bj_strv also; /* dialects to collect for as well */
    bool exe_count;      /* BJ_EXTRA_EXES */
    char *web_file;      /* TLS, users and passwords */
    uint64_t max_requests;
    uint64_t request_usec;
    bool gzip;
    uint64_t interval_usec; /* between passes; 0: only for scrapes */
    uint64_t max_age_usec;  /* a newer snapshot is served again */
    struct bj_dialect_conf dialect_conf;
    struct bj_trace_conf trace;
    struct bj_push_conf push;
    struct bj_program program;
};

/* Fill a zeroed conf from presets, file and command line, and check it. With
 * help or version set nothing is checked. 0, or -errno with a message that
 * names the option, or file and line. Free it with bj_exporter_conf_free in any
 * case. */
int bj_exporter_conf_load(struct bj_exporter_conf *conf, int argc, char **argv,
                          struct bj_err *err);
void bj_exporter_conf_free(struct bj_exporter_conf *conf);

/* All option tables, with conf as their base. */
enum { BJ_EXPORTER_SETS = 5 + BJ_CONF_SETS };
void bj_exporter_conf_sets(struct bj_exporter_conf *conf,
                           struct bj_optset sets[BJ_EXPORTER_SETS]);

/* Append the text of --help, or of --help=all. */
void bj_exporter_conf_help(bool all, struct bj_buf *out);

#endif
