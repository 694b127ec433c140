/* The line of /proc/PID/stat.  Source: proc(5). */
#ifndef BJ_CORE_COLLECT_PROCSTAT_H
#define BJ_CORE_COLLECT_PROCSTAT_H

#include "base/slice.h"

/* The fields that we use of a line of /proc/PID/stat or
 * /proc/PID/task/TID/stat.  The comments give their numbers in proc(5). */
struct bj_procstat {
    struct bj_slice comm;              /* 2, without its parentheses */
    char state;                        /* 3 */
    uint64_t ppid;                     /* 4 */
    uint64_t utime_ticks, stime_ticks; /* 14, 15 */
    uint64_t threads;                  /* 20 */
    uint64_t start_ticks;              /* 22, since boot */
    uint64_t stack;                    /* 28; 0 or 1 without permission */
    uint64_t sigignore;                /* 33 */
    uint64_t cpu;                      /* 39; BJ_ABSENT: missing */
};

/* Parse a line.  The name may contain any characters, also parentheses and
 * newlines: it ends at the last ")".  0, or -EINVAL when a field up to 22 is
 * not a number. */
int bj_procstat_parse(struct bj_slice line, struct bj_procstat *ret);

/* Fields 16 and 17: CPU time of children that it has waited for.  0 or
 * -EINVAL. */
int bj_procstat_children(struct bj_slice line, uint64_t *ticks);

/* Only the state; '?' if the line has none. */
char bj_procstat_state(struct bj_slice line);

#endif
