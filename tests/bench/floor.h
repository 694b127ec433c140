/* floor: the minimum of an exporter of job metrics, to measure real ones
 * against.  Finds the jobs, reads six files of each, parses, formats, serves
 * HTTP on loopback.  One thread, no library, no code shared with the product,
 * no limits, no handling of errors. */
#ifndef BJ_TESTS_BENCH_FLOOR_H
#define BJ_TESTS_BENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FLOOR_DIRS = 3, FLOOR_FILES = 6, FLOOR_CPUS = 256 };

enum floor_value {
    FLOOR_USED,
    FLOOR_PEAK,
    FLOOR_LIMIT,
    FLOOR_CACHE,
    FLOOR_RSS,
    FLOOR_HUGE,
    FLOOR_MAPPED,
    FLOOR_ACTIVE,
    FLOOR_INACTIVE,
    FLOOR_UNEVICTABLE,
    FLOOR_PROCESSES, /* with process detail only */
    FLOOR_VALUES
};

struct floor_job {
    uint64_t id;
    unsigned seen; /* the last pass that found it */
    int dir[FLOOR_DIRS], file[FLOOR_FILES];
    char label[256];
    size_t label_len;
    uint64_t value[FLOOR_VALUES];
    uint64_t core_ns[FLOOR_CPUS];
    unsigned core[FLOOR_CPUS], cores;
    unsigned state[128]; /* threads by the letter of their state */
};

struct floor {
    int version; /* of cgroup: 1 or 2 */
    const char *root;
    bool keep;      /* keep the files open, read with pread */
    bool processes; /* read the processes' and threads' stat as well */
    unsigned pass;
    struct floor_job **jobs;
    size_t njobs;
    struct floor_job *slot[8192]; /* jobs by id, open addressing */
    char read[1 << 16];           /* the file read last, terminated */
    char *page;
    size_t page_len, page_cap;
};

/* Find the jobs; sets seen = pass of each. */
void floor_find(struct floor *f);
/* Read and parse one job's files. */
void floor_collect(struct floor *f, struct floor_job *j);
/* Write the page. */
void floor_write(struct floor *f);

/* Read a file in a directory into f->read; returns bytes or -1. */
ssize_t floor_read(struct floor *f, int dir, const char *name);

/* Walk the cgroups below a job's first directory.  With identify, make the
 * job's label from the first process that is not root's; else count processes
 * and threads. */
void floor_walk_processes(struct floor *f, struct floor_job *j, bool identify);

#endif
