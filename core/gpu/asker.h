/* Finding out which accelerators a job claims: files of other people's
 * processes may be slow to read, so a thread does it.  One that is held for
 * too long is left behind, and another goes on. */
#ifndef BJ_CORE_GPU_ASKER_H
#define BJ_CORE_GPU_ASKER_H

#include "base/buf.h"
#include "base/opt.h"
#include "core/gpu/allot.h"
#include "core/gpu/claim.h"
#include "core/host.h"

struct bj_gpu_asker;
struct bj_gpu_ask;

/* What it may look at, and write; copied. */
struct bj_gpu_asker_conf {
    const char *procfs;
    const struct bj_strv *note_dirs; /* directories with prolog files */
    const char *map_dir; /* for job mapping files (core/gpu/jobmap.h); NULL or
                            empty: none */
    /* Not NULL: it is the scheduler that is asked, and nothing else; an answer
     * with environ set says what it told, one with failed set may be asked for
     * again. */
    const struct bj_gpu_allot_conf *allot;
    uint64_t stuck_usec; /* how long an answer may take; 0: 10 s */
};

/* The thread starts with the first question or map. */
int bj_gpu_asker_new(const struct bj_gpu_asker_conf *conf,
                     const struct bj_host *host, struct bj_gpu_asker **ret);
/* Removes the job mapping files.  Waits two seconds at most; NULL is fine. */
void bj_gpu_asker_free(struct bj_gpu_asker *a);

/* A job: its directories (up to an empty one) and its devices.list (may be
 * NULL).  The text is copied. */
struct bj_gpu_question {
    struct bj_slice system, jobid,
        node; /* node: empty if there is one slurmd */
    const char *dirs[4];
    const char *devices;
};

/* Ask; never blocks.  NULL: no memory. */
struct bj_gpu_ask *bj_gpu_asker_ask(struct bj_gpu_asker *a,
                                    const struct bj_gpu_question *q);
/* The answer, once there is one; failed is set when asking took too long. */
bool bj_gpu_ask_answer(struct bj_gpu_asker *a, struct bj_gpu_ask *ask,
                       struct bj_gpu_claim *ret);
void bj_gpu_ask_drop(struct bj_gpu_asker *a, struct bj_gpu_ask *ask);

/* The prolog's notes as they were when they were read last, which was not long
 * ago; copied.  They are read again after this call, which is to be made now
 * and then: it also looks whether the thread is stuck. */
enum { BJ_GPU_NOTES_MAX = 1024 };
size_t bj_gpu_asker_notes(struct bj_gpu_asker *a, struct bj_gpu_note *notes);

/* What the job mapping files are to say from now on.  What the buffer holds is
 * taken over. */
void bj_gpu_asker_map(struct bj_gpu_asker *a, struct bj_buf *map);

#endif
