/* The one word that sinfo has for a node's state, StateLong and %T. */
#ifndef BJ_SCHED_SINFO_LONG_H
#define BJ_SCHED_SINFO_LONG_H

#include "sched/sinfo.h"

enum { BJ_NODE_LONG_BYTES = 24 };

/* "mixed", "draining*", "reboot^": what sinfo makes of a base state and flags,
 * in lower case, with its mark for the one flag that it lets show.  text is
 * where it is put together; the slice points there.
 * Source: what Slurm 22.05 itself says for all combinations of flags up to
 * four (tests/fixtures/cluster/node-states.txt has them up to two). */
struct bj_slice bj_node_state_long(struct bj_slurm_node_state s,
                                   char text[BJ_NODE_LONG_BYTES]);

#endif
