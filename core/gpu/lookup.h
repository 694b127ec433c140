/* A thread that finds out which accelerators a job claims: from its processes,
 * whose files may block, or from the scheduler. */
#ifndef BJ_CORE_GPU_LOOKUP_H
#define BJ_CORE_GPU_LOOKUP_H

#include "base/buf.h"
#include "base/opt.h"
#include "core/gpu/allot.h"
#include "core/gpu/claim.h"
#include "core/host.h"

struct bj_gpu_lookup;
struct bj_gpu_request;

/* Copied. */
struct bj_gpu_lookup_conf {
    const char *procfs;
    const struct bj_strv *note_dirs; /* directories with prolog files */
    const char *map_dir; /* for job mapping files (core/gpu/jobmap.h); NULL or
                            empty: none */
    /* Not NULL: the thread only queries the scheduler.  In a result environ is
     * set if the reply has GPUs, failed if the query may be repeated. */
    const struct bj_gpu_allot_conf *allot;
    uint64_t stuck_usec; /* how long an answer may take; 0: 10 s */
};

/* The thread starts with the first request or map. */
int bj_gpu_lookup_new(const struct bj_gpu_lookup_conf *conf,
                      const struct bj_host *host, struct bj_gpu_lookup **ret);
/* Removes the job mapping files.  Waits two seconds at most; NULL is fine. */
void bj_gpu_lookup_free(struct bj_gpu_lookup *a);

/* A job: its directories (up to an empty one) and its devices.list (may be
 * NULL).  The text is copied. */
struct bj_gpu_query {
    struct bj_slice system, jobid,
        node; /* node: empty if there is one slurmd */
    const char *dirs[4];
    const char *devices;
};

/* Submit a request; never blocks.  NULL: no memory. */
struct bj_gpu_request *bj_gpu_lookup_submit(struct bj_gpu_lookup *a,
                                            const struct bj_gpu_query *q);
/* True and the result, once there is one; failed is set if it took too long. */
bool bj_gpu_request_result(struct bj_gpu_lookup *a,
                           struct bj_gpu_request *request,
                           struct bj_gpu_claim *ret);
void bj_gpu_request_drop(struct bj_gpu_lookup *a,
                         struct bj_gpu_request *request);

/* Copies the prolog's notes as read last, and has them read again.  Call it
 * regularly: it also replaces a thread that is stuck. */
enum { BJ_GPU_NOTES_MAX = 1024 };
size_t bj_gpu_lookup_notes(struct bj_gpu_lookup *a, struct bj_gpu_note *notes);

/* Write the job mapping files.  Takes the buffer's memory. */
void bj_gpu_lookup_map(struct bj_gpu_lookup *a, struct bj_buf *map);

#endif
