#include "core/find/ident_find.h"

#include "base/clock.h"
#include "base/jobuuid.h"
#include "core/find/environ.h"
#include "core/find/jobfile.h"
#include "core/model/record.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_system(const struct bj_ident_search *s, struct bj_slice name)
{
    return bj_slice_eq(s->f[BJ_ID_SYSTEM], name);
}

/* HTCondor's paths have a slot where others have a job id. */
static void from_query(struct bj_ident_search *s)
{
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        if (i != BJ_ID_SOURCE)
            bj_search_take(s, (enum bj_ident_field)i, s->q->f[i]);
    if (s->f[BJ_ID_UID].n > 0 || s->f[BJ_ID_USER].n > 0)
        s->uid_source = BJ_IDENT_CGROUP;
    s->unknown_job = is_system(s, BJ_SLICE("htcondor")) ||
                     (s->f[BJ_ID_JOBID].n == 0 && s->f[BJ_ID_SLUID].n > 0);
}

static void take_file(struct bj_ident_search *s, const struct bj_jobfile *file)
{
    s->file = true;
    s->n = file->number;
    if (s->unknown_job && file->f[BJ_ID_JOBID].n > 0) {
        s->f[BJ_ID_JOBID] = (struct bj_slice){0};
        s->unknown_job = false;
    }
    if (s->f[BJ_ID_UID].n == 0 && file->f[BJ_ID_UID].n > 0)
        s->uid_source = BJ_IDENT_FILE;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        bj_search_take(s, (enum bj_ident_field)i, file->f[i]);
    bj_search_take_nodes(s, file->nodelist);
}

/* Search all directories for a file of that name; the first one counts. */
static void file_named(struct bj_ident_search *s, struct bj_slice name,
                       char *buf)
{
    const struct bj_strv *dirs = &s->src->conf->job_files;
    struct bj_slice known[BJ_ID_FIELDS] = {{0}};
    known[BJ_ID_SLUID] = s->f[BJ_ID_SLUID];
    known[BJ_ID_UID] = s->f[BJ_ID_UID];
    if (!s->unknown_job)
        known[BJ_ID_JOBID] = s->f[BJ_ID_JOBID];
    for (size_t i = 0; i < dirs->n && !s->file; i++) {
        struct bj_jobfile file;
        struct bj_err err = {0};
        int r = bj_jobfile_read(dirs->v[i], name, known, buf, &file, &err);
        if (r == 0)
            take_file(s, &file);
        if (r == 0 || bj_err_gone(r))
            continue;
        s->src->fault(s->src->ctx, &err);
        /* errors in the file itself are permanent */
        s->missed |= r != -EINVAL && r != -EPERM && r != -EFBIG;
    }
}

static void from_files(struct bj_ident_search *s)
{
    if (s->src->conf->job_files.n == 0)
        return;
    char *buf = malloc(BJ_JOBFILE_CAP);
    if (!buf) {
        s->missed = true;
        return;
    }
    if (!s->unknown_job)
        file_named(s, s->f[BJ_ID_JOBID], buf);
    if (!s->file && s->f[BJ_ID_SLUID].n > 0)
        file_named(s, s->f[BJ_ID_SLUID], buf);
    free(buf);
}

/* The name of the owner; absent, without a fault, if there is none. */
static void user_name(struct bj_ident_search *s)
{
    char name[BJ_USER_NAME_CAP];
    uint64_t uid;
    if (s->f[BJ_ID_USER].n > 0 || bj_slice_u64(s->f[BJ_ID_UID], &uid) < 0)
        return;
    int r =
        bj_users_name(s->src->users, (uid_t)uid, bj_clock_boot_usec(), name);
    if (r == 0)
        bj_search_take(s, BJ_ID_USER, bj_slice_str(name));
    if (r == 0 || r == -ENOENT)
        return;
    struct bj_err err = {0};
    bj_err_set(&err, r, "look up the name of uid %u", (unsigned)uid);
    s->src->fault(s->src->ctx, &err);
    s->missed = true;
}

static const char *source_text(const struct bj_ident_search *s)
{
    if (s->file)
        return s->environ ? "prolog+environ" : "prolog";
    if (s->environ)
        return "environ";
    return s->uid_source == BJ_IDENT_CGROUP    ? "cgroup"
           : s->uid_source == BJ_IDENT_PROCESS ? "process"
                                               : "";
}

/* Whether an environment may add fields: a prolog's file has what the site
 * writes there, and Slurm passes to a prolog neither the name of the job nor,
 * before 24.05, its array task.  Most jobs are in no array: then the
 * environment says so. */
static bool wants_environ(const struct bj_ident_search *s)
{
    static const enum bj_ident_field fields[] = {BJ_ID_ACCOUNT, BJ_ID_PARTITION,
                                                 BJ_ID_QOS, BJ_ID_NAME,
                                                 BJ_ID_ARRAY_TASK};
    bool wants = s->unknown_job;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && !wants; i++)
        wants = s->f[fields[i]].n == 0 &&
                (fields[i] == BJ_ID_ACCOUNT || fields[i] == BJ_ID_NAME ||
                 bj_environ_gives(s->f[BJ_ID_SYSTEM], fields[i]));
    return wants;
}

/* The user that runs the processes of a container or a virtual machine is not
 * its owner. */
static bool has_owner(const struct bj_ident_search *s)
{
    return !is_system(s, BJ_SLICE("kubernetes")) &&
           !is_system(s, BJ_SLICE("libvirt"));
}

static bool is_complete(const struct bj_ident_search *s)
{
    if (!has_owner(s))
        return true;
    if (s->unknown_job || s->missed ||
        (s->f[BJ_ID_UID].n == 0 && s->f[BJ_ID_USER].n == 0))
        return false;
    bool tried = bj_environ_knows(s->f[BJ_ID_SYSTEM]) ? s->environ || s->denied
                                                      : s->nprocs > 0;
    return tried || !wants_environ(s);
}

static void from_procs(struct bj_ident_search *s)
{
    if (s->f[BJ_ID_UID].n > 0 && !wants_environ(s))
        return;
    bj_search_procs(s);
    if (s->unknown_job && s->f[BJ_ID_SLUID].n > 0) {
        bj_search_title(s);
        if (!s->unknown_job && !s->file)
            from_files(s);
    }
    bj_search_owner(s);
    if (wants_environ(s))
        bj_search_environ(s);
}

/* Set the older stack's id of a job, if all its parts are known. */
static void uuid(struct bj_ident_search *s)
{
    char text[BJ_JOB_UUID_BYTES];
    if (!is_system(s, BJ_SLICE("slurm")) || s->unknown_job ||
        s->nodelist.n == 0 || s->f[BJ_ID_UID].n == 0 ||
        s->f[BJ_ID_ACCOUNT].n == 0)
        return;
    if (bj_job_uuid(s->f[BJ_ID_JOBID], s->f[BJ_ID_UID], s->f[BJ_ID_ACCOUNT],
                    s->nodelist, text))
        bj_search_take(s, BJ_ID_UUID, bj_slice_str(text));
}

static void search(struct bj_ident_search *s)
{
    from_query(s);
    from_files(s);
    if (has_owner(s))
        from_procs(s);
    user_name(s);
    uuid(s);
    bj_search_take(s, BJ_ID_SOURCE, bj_slice_str(source_text(s)));
}

struct bj_ident *bj_ident_find(const struct bj_ident_sources *src,
                               const struct bj_ident_query *q)
{
    struct bj_ident_search *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->src = src;
    s->q = q;
    s->n = bj_ident_no_numbers;
    search(s);
    struct bj_ident *id = bj_ident_new(s->f, src->conf);
    if (id) {
        id->n = s->n;
        id->complete = is_complete(s);
    }
    free(s->procs);
    free(s);
    return id;
}
