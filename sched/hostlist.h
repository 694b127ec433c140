/* Lists of hosts as schedulers write them: counted without being expanded,
 * walked through one name at a time.  Nothing here allocates, so that
 * "n[0-999999999]" costs no memory. */
#ifndef BJ_SCHED_HOSTLIST_H
#define BJ_SCHED_HOSTLIST_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum bj_hosts_grammar {
    /* Slurm: "n[1-3,5],gpu-[001-004]-ib,a[1-2]b[3-4]".  Names are separated by
     * commas; brackets hold numbers and ranges, the first number of a range
     * says to how many digits the others are filled with zeros; several
     * brackets in a name multiply, the last one counting fastest.
     * Source: Slurm, src/common/hostlist.c. */
    BJ_HOSTS_SLURM,
    /* PBS exec_host "n1/0*4+n2/1", exec_vnode "(n1:ncpus=4)+(n2:ncpus=1)" (in
     * which one pair of brackets may hold several vnodes, and a vnode of a host
     * is "n1[0]": the host is told), and exec_host of Torque, "n1/0+n1/1".  A
     * host comes as often as it is named. Source: OpenPBS,
     * pbs_job_attributes(7). */
    BJ_HOSTS_PBS,
    /* LSF "4*hostA hostB", also separated by ':' as bjobs does. */
    BJ_HOSTS_LSF,
};

enum {
    BJ_HOST_MAX = 255,    /* bytes of a name, at most (RFC 1035) */
    BJ_HOST_BRACKETS = 8, /* brackets in a name, at most */
};

/* How many names s has, repeated ones counted again.  Texts for "no hosts" (""
 * "None assigned", "(null)", ...) have 0.
 *   -EINVAL  no such list: brackets that do not match or lie in each other, a
 *            range that runs backwards or has no digits, an empty name, blanks
 *            or control characters in one
 *   -E2BIG   more than 2^62 names, a name of more than BJ_HOST_MAX bytes or
 *            BJ_HOST_BRACKETS brackets, a number of more than 18 digits
 * *ret is untouched on failure. */
int bj_hostlist_count(struct bj_slice s, enum bj_hosts_grammar g,
                      uint64_t *ret);

/* One [...] of the name at hand. */
struct bj_host_range {
    struct bj_slice text; /* inside of the brackets */
    size_t next;          /* where the next range begins in it */
    uint64_t at, last;    /* number at hand, last of its range */
    unsigned width;
    struct bj_slice before; /* text in front of it */
};

/* A walk through a list. */
struct bj_hostlist {
    struct bj_slice rest; /* what is behind the element at hand */
    enum bj_hosts_grammar grammar;
    struct bj_host_range range[BJ_HOST_BRACKETS];
    unsigned ranges;
    struct bj_slice tail; /* text behind the last bracket */
    bool more;            /* the element at hand has further names */
    uint64_t slots; /* of the host last told, where the grammar says so (PBS
                       "/0*4", LSF "4*"); else 1 */
    char name[BJ_HOST_MAX + 1];
};

/* Begin a walk; fails as bj_hostlist_count does, so that a walk does not.  s
 * must outlive it. */
int bj_hostlist_begin(struct bj_hostlist *l, struct bj_slice s,
                      enum bj_hosts_grammar g);

/* The next name, terminated, in l->name until the next call; false at the end.
 * The caller bounds how many it takes. */
bool bj_hostlist_next(struct bj_hostlist *l, struct bj_slice *ret_name);

#endif
