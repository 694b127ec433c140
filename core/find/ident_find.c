#include "core/find/ident_find.h"

#include "base/clock.h"
#include "base/jobuuid.h"
#include "core/find/environ.h"
#include "core/find/jobfile.h"
#include "core/model/record.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_system(const struct bj_finding *fd, struct bj_slice name)
{
    return bj_slice_eq(fd->f[BJ_ID_SYSTEM], name);
}

/* HTCondor's paths have a slot where others have a job id. */
static void from_query(struct bj_finding *fd)
{
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        if (i != BJ_ID_SOURCE)
            bj_finding_take(fd, (enum bj_ident_field)i, fd->q->f[i]);
    if (fd->f[BJ_ID_UID].n > 0 || fd->f[BJ_ID_USER].n > 0)
        fd->uid_source = BJ_IDENT_CGROUP;
    fd->unknown_job = is_system(fd, BJ_SLICE("htcondor")) ||
                      (fd->f[BJ_ID_JOBID].n == 0 && fd->f[BJ_ID_SLUID].n > 0);
}

static void take_file(struct bj_finding *fd, const struct bj_jobfile *file)
{
    fd->file = true;
    fd->start_sec = file->start_sec;
    if (fd->unknown_job && file->f[BJ_ID_JOBID].n > 0) {
        fd->f[BJ_ID_JOBID] = (struct bj_slice){0};
        fd->unknown_job = false;
    }
    if (fd->f[BJ_ID_UID].n == 0 && file->f[BJ_ID_UID].n > 0)
        fd->uid_source = BJ_IDENT_FILE;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        bj_finding_take(fd, (enum bj_ident_field)i, file->f[i]);
    bj_finding_take_nodes(fd, file->nodelist);
}

/* Look for a file named so in all directories; the first one counts. */
static void file_named(struct bj_finding *fd, struct bj_slice name, char *buf)
{
    const struct bj_strv *dirs = &fd->src->conf->job_files;
    struct bj_slice known[BJ_ID_FIELDS] = {{0}};
    known[BJ_ID_SLUID] = fd->f[BJ_ID_SLUID];
    known[BJ_ID_UID] = fd->f[BJ_ID_UID];
    if (!fd->unknown_job)
        known[BJ_ID_JOBID] = fd->f[BJ_ID_JOBID];
    for (size_t i = 0; i < dirs->n && !fd->file; i++) {
        struct bj_jobfile file;
        struct bj_err err = {0};
        int r = bj_jobfile_read(dirs->v[i], name, known, buf, &file, &err);
        if (r == 0)
            take_file(fd, &file);
        if (r == 0 || bj_err_gone(r))
            continue;
        fd->src->fault(fd->src->ctx, &err);
        /* what is wrong with the file itself stays wrong */
        fd->missed |= r != -EINVAL && r != -EPERM && r != -EFBIG;
    }
}

static void from_files(struct bj_finding *fd)
{
    if (fd->src->conf->job_files.n == 0)
        return;
    char *buf = malloc(BJ_JOBFILE_CAP);
    if (!buf) {
        fd->missed = true;
        return;
    }
    if (!fd->unknown_job)
        file_named(fd, fd->f[BJ_ID_JOBID], buf);
    if (!fd->file && fd->f[BJ_ID_SLUID].n > 0)
        file_named(fd, fd->f[BJ_ID_SLUID], buf);
    free(buf);
}

/* The name of the owner.  None is no fault, and absent. */
static void user_name(struct bj_finding *fd)
{
    char name[BJ_USER_NAME_CAP];
    uint64_t uid;
    if (fd->f[BJ_ID_USER].n > 0 || bj_slice_u64(fd->f[BJ_ID_UID], &uid) < 0)
        return;
    int r =
        bj_users_name(fd->src->users, (uid_t)uid, bj_clock_boot_usec(), name);
    if (r == 0)
        bj_finding_take(fd, BJ_ID_USER, bj_slice_str(name));
    if (r == 0 || r == -ENOENT)
        return;
    struct bj_err err = {0};
    bj_err_set(&err, r, "look up the name of uid %u", (unsigned)uid);
    fd->src->fault(fd->src->ctx, &err);
    fd->missed = true;
}

static const char *source_text(const struct bj_finding *fd)
{
    if (fd->file)
        return fd->environ ? "prolog+environ" : "prolog";
    if (fd->environ)
        return "environ";
    return fd->uid_source == BJ_IDENT_CGROUP    ? "cgroup"
           : fd->uid_source == BJ_IDENT_PROCESS ? "process"
                                                : "";
}

/* Would an environment tell anything?  A prolog's file may have it all: but
 * Slurm tells a prolog neither the name of the job nor, before 24.05, its
 * place in an array. */
static bool wants_environ(const struct bj_finding *fd)
{
    return fd->unknown_job || fd->f[BJ_ID_ACCOUNT].n == 0 ||
           fd->f[BJ_ID_NAME].n == 0;
}

/* Who runs the processes of a container or a virtual machine says nothing of
 * whose it is. */
static bool has_owner(const struct bj_finding *fd)
{
    return !is_system(fd, BJ_SLICE("kubernetes")) &&
           !is_system(fd, BJ_SLICE("libvirt"));
}

static bool is_complete(const struct bj_finding *fd)
{
    if (!has_owner(fd))
        return true;
    if (fd->unknown_job || fd->missed ||
        (fd->f[BJ_ID_UID].n == 0 && fd->f[BJ_ID_USER].n == 0))
        return false;
    bool tried = bj_environ_knows(fd->f[BJ_ID_SYSTEM])
                     ? fd->environ || fd->denied
                     : fd->nprocs > 0;
    return tried || !wants_environ(fd);
}

static void from_procs(struct bj_finding *fd)
{
    if (fd->f[BJ_ID_UID].n > 0 && !wants_environ(fd))
        return;
    bj_finding_procs(fd);
    if (fd->unknown_job && fd->f[BJ_ID_SLUID].n > 0) {
        bj_finding_title(fd);
        if (!fd->unknown_job && !fd->file)
            from_files(fd);
    }
    bj_finding_owner(fd);
    if (wants_environ(fd))
        bj_finding_environ(fd);
}

/* The older stack's id of a job, once all that goes into it is known. */
static void uuid(struct bj_finding *fd)
{
    char text[BJ_JOB_UUID_BYTES];
    if (!is_system(fd, BJ_SLICE("slurm")) || fd->unknown_job ||
        fd->nodelist.n == 0 || fd->f[BJ_ID_UID].n == 0 ||
        fd->f[BJ_ID_ACCOUNT].n == 0)
        return;
    if (bj_job_uuid(fd->f[BJ_ID_JOBID], fd->f[BJ_ID_UID], fd->f[BJ_ID_ACCOUNT],
                    fd->nodelist, text))
        bj_finding_take(fd, BJ_ID_UUID, bj_slice_str(text));
}

static void search(struct bj_finding *fd)
{
    from_query(fd);
    from_files(fd);
    if (has_owner(fd))
        from_procs(fd);
    user_name(fd);
    uuid(fd);
    bj_finding_take(fd, BJ_ID_SOURCE, bj_slice_str(source_text(fd)));
}

struct bj_ident *bj_ident_find(const struct bj_ident_sources *src,
                               const struct bj_ident_query *q)
{
    struct bj_finding *fd = calloc(1, sizeof(*fd));
    if (!fd)
        return NULL;
    fd->src = src;
    fd->q = q;
    fd->start_sec = BJ_ABSENT;
    search(fd);
    struct bj_ident *id = bj_ident_new(fd->f, src->conf);
    if (id) {
        id->start_sec = fd->start_sec;
        id->complete = is_complete(fd);
    }
    free(fd->procs);
    free(fd);
    return id;
}
