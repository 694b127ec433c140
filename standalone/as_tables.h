/* What the tables of flags are written with.  Internal. */
#ifndef BJ_STANDALONE_AS_TABLES_H
#define BJ_STANDALONE_AS_TABLES_H

#include "standalone/as.h"

#define SWITCH(flag) .name = flag, .is_switch = true
#define COPY(flag, option) .name = flag, .to = "--" option "=%s"
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Flags of the toolkit that most of them are made with. */
#define TLS                                                                    \
    {                                                                          \
        .name = "web.config.file", .take = bj_as_take_if_any,                  \
        .to = "--web.config.file=%s"                                           \
    }
#define NO_SOCKET                                                              \
    {                                                                          \
        SWITCH("web.systemd-socket"),                                          \
            .only = "false", .why = "no sockets are taken over from systemd"   \
    }
/* What they would leave out is nothing that we have. */
#define OWN_METRICS                                                            \
    {                                                                          \
        SWITCH("web.disable-exporter-metrics"), .why = "there are none"        \
    }
#define ONE_THREAD                                                             \
    {                                                                          \
        .name = "runtime.gomaxprocs", .only = "1",                             \
        .why = "there is no Go here to have threads"                           \
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

/* For bj_as_flag.take.  Nothing where nothing is given. */
int bj_as_take_if_any(struct bj_as *as, const struct bj_as_flag *flag,
                      const char *value, struct bj_err *err);
/* web.max-requests: 0 is no limit there; connections must be more than requests
 * here. */
int bj_as_take_requests(struct bj_as *as, const struct bj_as_flag *flag,
                        const char *value, struct bj_err *err);

/* as_ceems.c, as_slurm.c */
extern const struct bj_as_program bj_as_ceems;
extern const struct bj_as_program bj_as_prometheus_slurm_exporter;

#endif
