/* Files of /proc/PID as numbers, and the entries of its directories.  Source:
 * proc(5). */
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

/* Fields of /proc/PID/io, in the order of the file. */
enum bj_procio_field {
    BJ_PROCIO_RCHAR,
    BJ_PROCIO_WCHAR,
    BJ_PROCIO_SYSCR,
    BJ_PROCIO_SYSCW,
    BJ_PROCIO_READ_BYTES,
    BJ_PROCIO_WRITE_BYTES,
    BJ_PROCIO_CANCELLED,
    BJ_PROCIO_FIELDS
};

/* Parse /proc/PID/io: 0, or -EINVAL if a field is missing. */
int bj_procio_parse(struct bj_slice text, uint64_t ret[BJ_PROCIO_FIELDS]);

/* A hash that shows whether text has changed. */
uint64_t bj_proc_hash(struct bj_slice s);

/* Reads a directory without allocating.  Call bj_dents_next until it returns
 * NULL. */
struct bj_dents {
    int fd;
    int error; /* 0 or -errno, after bj_dents_next returned NULL */
    long n, at;
    char buf[4096] __attribute__((aligned(8)));
};
/* An entry as the kernel returns it (getdents64(2)). */
struct bj_dent {
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type; /* DT_... */
    char name[];
};
/* fd must be at the start of the directory; the caller keeps it. */
void bj_dents_init(struct bj_dents *d, int fd);
/* The next entry, "." and ".." left out; NULL at the end or on error. */
const struct bj_dent *bj_dents_next(struct bj_dents *d);

#endif
