/* The single word of sinfo for a node's state, StateLong and %T, and its
 * compact form, StateCompact and %t. */
#ifndef BJ_SCHED_SINFO_LONG_H
#define BJ_SCHED_SINFO_LONG_H

#include "sched/sinfo.h"

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
