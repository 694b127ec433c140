/* The hosts of a job in Slurm's notation, whatever its scheduler: "n[1-3,5]".
 * So node lists of all schedulers are stored, shown and read in one form. */
#ifndef BJ_SCHED_HOSTFOLD_H
#define BJ_SCHED_HOSTFOLD_H

#include "base/arena.h"
#include "base/buf.h"
#include "sched/hostlist.h"

#include <stddef.h>

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
