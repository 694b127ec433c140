/* A thread that determines which accelerators a job claims: from its processes,
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

/* All members are copied. */
struct bj_gpu_lookup_conf {
    const char *procfs;
    const struct bj_strv *note_dirs; /* directories with prolog files */
    const char *map_dir; /* for job mapping files (core/gpu/jobmap.h); NULL or
                            empty: none */
    /* Not NULL: the thread only queries the scheduler.  In a result environ is
     * set if the reply has GPUs, failed if the query may be repeated. */
    const struct bj_gpu_allot_conf *allot;
    uint64_t stuck_usec; /* maximum time for a result; 0: 10 s */
};

/* The thread is started by the first request or map. */
int bj_gpu_lookup_new(const struct bj_gpu_lookup_conf *conf,
                      const struct bj_host *host, struct bj_gpu_lookup **ret);
/* Removes the job mapping files.  Waits two seconds at most; NULL is fine. */
void bj_gpu_lookup_free(struct bj_gpu_lookup *a);

/* A job: its directories (up to a NULL) and the path of its devices.list (may
 * be NULL).  The texts are copied. */
struct bj_gpu_query {
    struct bj_slice system, jobid, node; /* node: empty with a single slurmd */
    const char *dirs[4];
    const char *devices;
};

/* Submit a request; never blocks.  NULL: no memory. */
struct bj_gpu_request *bj_gpu_lookup_submit(struct bj_gpu_lookup *a,
                                            const struct bj_gpu_query *q);
/* True, with the result, when it is available; failed is set if it took too
 * long. */
bool bj_gpu_request_result(struct bj_gpu_lookup *a,
                           struct bj_gpu_request *request,
                           struct bj_gpu_claim *ret);
void bj_gpu_request_drop(struct bj_gpu_lookup *a,
                         struct bj_gpu_request *request);

/* Copy the prolog's notes of the last read, and start to read them again.  Call
 * it regularly: it also replaces a stuck thread. */
enum { BJ_GPU_NOTES_MAX = 1024 };
size_t bj_gpu_lookup_notes(struct bj_gpu_lookup *a, struct bj_gpu_note *notes);

/* Write the job mapping files.  Takes over the buffer's memory. */
void bj_gpu_lookup_map(struct bj_gpu_lookup *a, struct bj_buf *map);

#endif
