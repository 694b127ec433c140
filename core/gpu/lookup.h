/* A thread that determines which accelerators a job claims: from its processes,
 * whose files may block, or from the scheduler. */
#ifndef BJ_CORE_GPU_LOOKUP_H
#define BJ_CORE_GPU_LOOKUP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"
#include "core/gpu/claim.h"
#include "core/host.h"

#include <stdatomic.h>
#include <stdbool.h>

struct bj_gpu_lookup;
struct bj_gpu_request;

/* All members are copied. */
struct bj_gpu_lookup_conf {
    const char *procfs;
    const struct bj_strv *note_dirs; /* directories with prolog files */
    const char *map_dir; /* for job mapping files (core/gpu/lookup.h); NULL or
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

/* --- allot ---*/

/* The GPUs that the scheduler has allocated to a job.  One query for each job,
 * and only if the option is set: a controller may have thousands of nodes.
 *
 * Slurm's detail of a job has a line for each group of nodes,
 *   Nodes=n[1-2] CPU_IDs=0-3 Mem=900 GRES=gpu:tesla:2(IDX:0-1)
 * whose numbers are the order of gres.conf.  The user controls other lines
 * (name, command, comment): if one of them imitates such a line for this node,
 * the job's lines are ignored.
 *
 * Source: Slurm, scontrol(1), "--details"; src/api/job_info.c. */

/* Parse the output of "scontrol -d show job".  node: name of this node in
 * Slurm; if the job has only one node, any name matches.  False, with *ret
 * unchanged, if no GPUs of the job are found. */
bool bj_gpu_allot_slurm(struct bj_slice text, struct bj_slice jobid,
                        struct bj_slice node, struct bj_gpu_claim *ret);

/* How to query Slurm. */
struct bj_gpu_allot_conf {
    const char *path;       /* directories to search for scontrol; NULL or
                               empty: the usual ones */
    const char *slurm_conf; /* NULL or empty: Slurm's default */
};

/* Whether that batch system can be queried about such a job id. */
bool bj_gpu_allot_can(struct bj_slice system, struct bj_slice jobid);

/* Query Slurm; blocks for at most ten seconds, or until abort is set.  Returns
 * 0, with ret->environ true if the reply has GPUs, else false; or -errno. */
int bj_gpu_allot_read(const struct bj_gpu_allot_conf *conf,
                      struct bj_slice jobid, struct bj_slice node,
                      const atomic_bool *abort, struct bj_gpu_claim *ret,
                      struct bj_err *err);

/* --- jobmap ---*/

/* Files with the jobs on each GPU for dcgm-exporter (--hpc-job-mapping-dir):
 * one for each GPU or MIG instance in use, named INDEX or INDEX.INSTANCE, with
 * a job id on each line.
 *
 * Source: NVIDIA/dcgm-exporter, internal/pkg/transformation/hpc.go (it reads
 * names that match "^\d+(\.\d+)?$"; each line becomes a label hpc_job). */

/* Add a job id to a map, which has "NAME\0CONTENT\0" for each file to write. */
void bj_gpu_jobmap_put(struct bj_buf *map, const char *name,
                       struct bj_slice jobid);

/* Can the job id be a line of a file? */
bool bj_gpu_jobmap_fits(struct bj_slice jobid);

/* Write the map into the directory: files that differ are replaced as a whole,
 * files with names of GPUs that the map lacks are removed, other files stay.
 * The directory is created if only its last part is missing.  Returns the first
 * fault, after trying all other files. */
int bj_gpu_jobmap_sync(const char *dir, struct bj_slice map,
                       struct bj_err *err);

#endif
