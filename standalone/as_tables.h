/* Macros and functions for the flag tables. Private to as*.c. */
#ifndef BJ_STANDALONE_AS_TABLES_H
#define BJ_STANDALONE_AS_TABLES_H

#include "standalone/as.h"

#define SWITCH(flag) .name = flag, .is_switch = true
#define COPY(flag, option) .name = flag, .to = "--" option "=%s"
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Flags of the Prometheus exporter toolkit. */
#define TLS                                                                    \
    {                                                                          \
        .name = "web.config.file", .take = bj_as_take_if_any,                  \
        .to = "--web.config.file=%s"                                           \
    }
#define NO_SOCKET                                                              \
    {                                                                          \
        SWITCH("web.systemd-socket"),                                          \
            .only = "false", .why = "systemd sockets are not supported"        \
    }
/* Flags that exclude metrics of the exporter itself: we have no such
 * metrics. */
#define OWN_METRICS                                                            \
    {                                                                          \
        SWITCH("web.disable-exporter-metrics"), .why = "not exported"          \
    }
#define ONE_THREAD                                                             \
    {                                                                          \
        .name = "runtime.gomaxprocs", .only = "1", .why = "not a Go program"   \
    }
#define LOGGING                                                                \
    {COPY("log.level", "log.level")},                                          \
    {                                                                          \
        COPY("log.format", "log.format")                                       \
    }
#define VERSION                                                                \
    {                                                                          \
        SWITCH("version"), .to = "--version"                                   \
    }

/* For bj_as_flag.take. Adds nothing for an empty value. */
int bj_as_take_if_any(struct bj_as *as, const struct bj_as_flag *flag,
                      const char *value, struct bj_err *err);
/* web.max-requests, where 0 means no limit. */
int bj_as_take_requests(struct bj_as *as, const struct bj_as_flag *flag,
                        const char *value, struct bj_err *err);

/* as_ceems.c, as_slurm.c */
extern const struct bj_as_program bj_as_ceems;
extern const struct bj_as_program bj_as_prometheus_slurm_exporter;

#endif
