/* Lists of hosts as schedulers write them: counted without expanding them, read
 * one name at a time.  Nothing here allocates, so "n[0-999999999]" costs no
 * memory. */
#ifndef BJ_SCHED_HOSTLIST_H
#define BJ_SCHED_HOSTLIST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bj_hosts_grammar {
    /* Slurm: "n[1-3,5],gpu-[001-004]-ib,a[1-2]b[3-4]".  Names are separated by
     * commas; brackets contain numbers and ranges; the first number of a range
     * sets the width to which the others are padded with zeros; several
     * brackets in a name multiply, the last one counting fastest.  Source:
     * Slurm, src/common/hostlist.c. */
    BJ_HOSTS_SLURM,
    /* PBS exec_host "n1/0*4+n2/1", exec_vnode "(n1:ncpus=4)+(n2:ncpus=1)" (one
     * pair of brackets may contain several vnodes; the name of a vnode "n1[0]"
     * is its host n1), and exec_host of Torque, "n1/0+n1/1" or "n1/0-3".  A
     * host that
     * appears several times is returned several times. Source: OpenPBS,
     * pbs_job_attributes(7). */
    BJ_HOSTS_PBS,
    /* LSF "4*hostA hostB", also separated by ':' as in bjobs. */
    BJ_HOSTS_LSF,
};

enum {
    BJ_HOST_MAX = 255,    /* most bytes of a name (RFC 1035) */
    BJ_HOST_BRACKETS = 8, /* most brackets in a name */
};

/* Count the names in s, repeated ones again.  Texts for "no hosts" ("", "None
 * assigned", "(null)", ...) have 0.
 *   -EINVAL  not a host list: unmatched or nested brackets, a reversed range or
 * one without digits, an empty name, blanks or control characters -E2BIG   more
 * than 2^62 names, a name of more than BJ_HOST_MAX bytes or BJ_HOST_BRACKETS
 * brackets, a number of more than 18 digits *ret is unchanged on failure. */
int bj_hostlist_count(struct bj_slice s, enum bj_hosts_grammar g,
                      uint64_t *ret);

/* One [...] of the current name. */
struct bj_host_range {
    struct bj_slice text; /* between the brackets */
    size_t next;          /* start of the next range in it */
    uint64_t at, last;    /* current number, last of its range */
    unsigned width;
    struct bj_slice before; /* text in front of it */
};

/* A position in a list. */
struct bj_hostlist {
    struct bj_slice rest; /* after the current element */
    enum bj_hosts_grammar grammar;
    struct bj_host_range range[BJ_HOST_BRACKETS];
    unsigned ranges;
    struct bj_slice tail; /* text after the last bracket */
    bool more;            /* the current element has further names */
    uint64_t slots; /* of the last host, where the grammar has them (PBS "/0*4",
                       Torque "/0-3", LSF "4*"); else 1 */
    char name[BJ_HOST_MAX + 1];
};

/* Start reading a list.  Fails as bj_hostlist_count does, so that reading
 * cannot fail.  s must outlive it. */
int bj_hostlist_begin(struct bj_hostlist *l, struct bj_slice s,
                      enum bj_hosts_grammar g);

/* The next name, terminated, in l->name until the next call; false at the end.
 * The caller limits the number of names. */
bool bj_hostlist_next(struct bj_hostlist *l, struct bj_slice *ret_name);

/* --- hostfold ---*/

/* The hosts of a job in Slurm's notation, whatever its scheduler: "n[1-3,5]".
 * So node lists of all schedulers are stored, shown and read in one form. */

/* Memory of a list.  Zero-initialise; free with bj_hostfold_free. */
struct bj_hostfold {
    struct bj_arena arena; /* names */
    struct bj_folded_host *host;
    size_t cap;
    struct bj_buf text;
};

struct bj_hosts {
    struct bj_slice text; /* valid until the next call */
    uint64_t hosts;       /* each counted once */
    uint64_t slots;
};

/* Read a list: each host once, in the order of names and numbers.  Vnodes
 * "n1[0]" and "n1[1]" of PBS are one host, n1.  0, -ENOMEM, -E2BIG for slots of
 * more than 64 bits, or an error of bj_hostlist_count; *ret is unchanged on
 * failure.  It reads every name: not for lists of unknown size of Slurm. */
int bj_hostfold(struct bj_hostfold *f, struct bj_slice list,
                enum bj_hosts_grammar g, struct bj_hosts *ret);
void bj_hostfold_free(struct bj_hostfold *f);

#endif
