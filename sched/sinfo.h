/* The nodes of a Slurm cluster: sinfo with selected fields, separated as in
 * sched/squeue.h, the reason (free text) at the end. */
#ifndef BJ_SCHED_SINFO_H
#define BJ_SCHED_SINFO_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* The arguments: one line for each node and partition of it.  NULL at the end.
 * Source: sinfo(1). */
extern const char *const bj_sinfo_argv[];

/* Base states of a node, and flags in addition to any of them. Source: Slurm,
 * slurm/slurm.h, enum node_states, NODE_STATE_*. */
enum bj_node_base {
    BJ_NODE_UNKNOWN,
    BJ_NODE_DOWN,
    BJ_NODE_IDLE,
    BJ_NODE_ALLOCATED,
    BJ_NODE_ERROR,
    BJ_NODE_MIXED,
    BJ_NODE_FUTURE,
    BJ_NODE_BASES
};
enum bj_node_flag {
    BJ_NODE_BLOCKED,
    BJ_NODE_CLOUD,
    BJ_NODE_COMPLETING,
    BJ_NODE_DRAIN,
    BJ_NODE_DYNAMIC_FUTURE,
    BJ_NODE_DYNAMIC_NORM,
    BJ_NODE_EXTERNAL,
    BJ_NODE_FAIL,
    BJ_NODE_INVALID_REG,
    BJ_NODE_MAINTENANCE,
    BJ_NODE_NOT_RESPONDING,
    BJ_NODE_PERFCTRS,
    BJ_NODE_PLANNED,
    BJ_NODE_POWER_DOWN, /* requested */
    BJ_NODE_POWER_DRAIN,
    BJ_NODE_POWERED_DOWN,
    BJ_NODE_POWERING_DOWN,
    BJ_NODE_POWERING_UP,
    BJ_NODE_POWER_UP, /* requested */
    BJ_NODE_REBOOT_CANCEL,
    BJ_NODE_REBOOT_ISSUED,
    BJ_NODE_REBOOT_REQUESTED,
    BJ_NODE_RESERVED,
    BJ_NODE_RESUME,
    BJ_NODE_UNDRAIN,
    BJ_NODE_FLAGS
};

enum { BJ_NODE_WORDS = 4 };

struct bj_slurm_node_state {
    enum bj_node_base base;
    uint32_t flags;   /* 1u << enum bj_node_flag */
    unsigned unknown; /* number of different unknown words in the text */
    struct bj_slice word[BJ_NODE_WORDS]; /* the first of them, in the text */
};

/* "mixed+drain", "DOWN*+DRAIN", "idle~": the words of scontrol and of sinfo's
 * StateComplete, in either case, and the marks of sinfo after a state.  Words
 * of sinfo's shorter view name a flag and hide the base state ("drained",
 * "draining", "maint"): base is then derived from the allocated CPUs out of
 * all.  Without any word it is BJ_NODE_UNKNOWN. */
struct bj_slurm_node_state
bj_node_state_parse(struct bj_slice text, uint64_t allocated, uint64_t cpus);

/* "mixed"; "drain". */
const char *bj_node_base_name(enum bj_node_base base);
const char *bj_node_flag_name(enum bj_node_flag flag);

/* A line of sinfo's output.  Slices point into the line. */
struct bj_sinfo_node {
    struct bj_slice name;
    struct bj_slice partition; /* without the mark of the default partition */
    bool any_partition;        /* PBS: it serves all queues */
    struct bj_slice state_text;
    struct bj_slurm_node_state state;
    uint64_t cpus, allocated, idle,
        other; /* CPUs; the last three add up to the first; all are known, or
                  all BJ_ABSENT */
    uint64_t mem_bytes, mem_allocated_bytes; /* BJ_ABSENT: unknown */
    uint64_t mem_free_bytes; /* as its operating system reports; BJ_ABSENT:
                                unknown */
    uint64_t load_centi;     /* hundredths; BJ_ABSENT: unknown */
    uint64_t weight; /* for the selection of nodes; BJ_ABSENT: unknown */
    struct bj_slice gres, gres_used;
    struct bj_slice reason;    /* empty: none */
    struct bj_slice reason_by; /* who set it; empty: not known */
};

/* Set the CPUs of ret from "2/0/0/2": allocated, idle, other, total.  0 or
 * -EINVAL. */
int bj_sinfo_cpus(struct bj_slice text, struct bj_sinfo_node *ret);

/* -EINVAL when the line is not sinfo's. */
int bj_sinfo_parse(struct bj_slice line, struct bj_sinfo_node *ret);

/* --- sinfo long ---*/

/* The single word of sinfo for a node's state, StateLong and %T, and its
 * compact form, StateCompact and %t. */

enum { BJ_NODE_LONG_BYTES = 24 };

/* "mixed", "draining*", "reboot^": sinfo's word for a base state and flags, in
 * lower case, with the mark of the one flag that it shows.  The word is written
 * to text; the slice points there.  Source: output of Slurm 22.05 for all
 * combinations of flags up to four (tests/fixtures/cluster/node-states.txt has
 * them up to two). */
struct bj_slice bj_node_state_long(struct bj_slurm_node_state s,
                                   char text[BJ_NODE_LONG_BYTES]);

/* The same in sinfo's compact words: "mix", "drng*", "boot^". */
struct bj_slice bj_node_state_compact(struct bj_slurm_node_state s,
                                      char text[BJ_NODE_LONG_BYTES]);

#endif
