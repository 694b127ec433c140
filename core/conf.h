/* Options of the collection core, the same in every host. */
#ifndef BJ_CORE_CONF_H
#define BJ_CORE_CONF_H

#include "base/opt.h"

#include <stdbool.h>

/* Collectors, in the order in which they run.  The names are in
 * core/collect/collector.h. */
enum bj_collector_id {
    BJ_COLLECT_CPU,
    BJ_COLLECT_MEMORY,
    BJ_COLLECT_PIDS,
    BJ_COLLECT_BLOCK,
    BJ_COLLECT_PRESSURE,
    BJ_COLLECT_PERCORE,
    BJ_COLLECT_PROCESS,
    BJ_COLLECT_NODE,
    BJ_COLLECTORS
};

struct bj_conf {
    char *procfs, *sysfs, *cgroupfs; /* mount points */
    bool collect[BJ_COLLECTORS];
    bool basic; /* only the files that every peer reads */
    char *cluster;
    bool label_user, label_account;
    char *steps; /* "off", "steps", "tasks" */
    uint64_t grace_usec, slow_usec, ident_wait_usec;
    uint64_t max_jobs, max_processes, max_steps, max_files;
    struct bj_strv job_files; /* directories with prolog files */
    struct bj_strv patterns;  /* operator-defined layouts */
    uint64_t exe_top;
    bool open_fds;
    struct bj_strv places; /* name=path */
    uint64_t pressure_usec;
    /* No option, the host sets it: kept descriptors get numbers of at least
     * this (bj_fdpool.base), clear of those that select(2) needs.  0: any. */
    uint64_t fd_base;
};

/* The option table; use with a struct bj_conf as base. */
extern const struct bj_opt bj_conf_opts[];

#endif
