#include "core/final.h"

#include "base/json.h"
#include "core/gpu/gpus.h"
#include "core/internal.h"
#include "sched/final_record.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* Fields of a record; absent values are left out. */
struct field {
    const char *name;
    size_t off;
};
#define USE(name, member)                                                      \
    {                                                                          \
        name, offsetof(struct bj_usage, member)                                \
    }
#define PROC(name, member)                                                     \
    {                                                                          \
        name, offsetof(struct bj_procsum, member)                              \
    }
#define DEVICE(name, member)                                                   \
    {                                                                          \
        name, offsetof(struct bj_unit_device, member)                          \
    }
static const struct field use_fields[] = {
    USE("cpu_usec", cpu_usec),
    USE("cpu_user_usec", cpu_user_usec),
    USE("cpu_system_usec", cpu_system_usec),
    USE("cpu_throttled_usec", cpu_throttled_usec),
    USE("cpu_held_back_usec", cpu_held_back_usec),
    USE("suspended_usec", frozen_usec),
    USE("cpus", cpus),
    USE("memory_held_peak_bytes", mem_held_peak_bytes),
    USE("memory_charged_peak_bytes", mem_peak_bytes),
    USE("memory_swap_peak_bytes", mem_swap_peak_bytes),
    USE("memory_remote_ppm", mem_remote_ppm),
    USE("memory_limit_bytes", mem_limit_bytes),
    USE("memory_limit_hits", mem_limit_hits),
    USE("oom_kills", mem_oom_kills),
    USE("pids_peak", pids_peak),
};
static const struct field proc_fields[] = {
    PROC("processes_seen", processes_seen),
    PROC("io_read_bytes", io_read_bytes),
    PROC("io_write_bytes", io_write_bytes),
    PROC("io_read_operations", io_read_ops),
    PROC("io_write_operations", io_write_ops),
    PROC("io_storage_read_bytes", io_storage_read_bytes),
    PROC("io_storage_write_bytes", io_storage_write_bytes),
};
static const struct field device_fields[] = {
    DEVICE("read_bytes", read_bytes),
    DEVICE("write_bytes", write_bytes),
    DEVICE("read_operations", read_ops),
    DEVICE("write_operations", write_ops),
};
#define N(a) (sizeof(a) / sizeof((a)[0]))

enum { EXECUTABLES = 8 };

static void final_put(struct bj_json_out *o, const char *name, uint64_t v)
{
    if (v != BJ_ABSENT)
        bj_json_put_u64(o, name, v);
}

static void put_fields(struct bj_json_out *o, const struct field *f, size_t n,
                       const void *record)
{
    for (size_t i = 0; i < n; i++)
        final_put(
            o, f[i].name,
            *(const uint64_t *)(const void *)((const char *)record + f[i].off));
}

static void final_put_text(struct bj_json_out *o, const char *name,
                           struct bj_slice s)
{
    if (s.n > 0)
        bj_json_put_str(o, name, s);
}

static void put_ident(struct bj_json_out *o, const struct bj_ident *id)
{
    static const struct {
        const char *name;
        enum bj_ident_field field;
    } names[] = {
        {"batch_system", BJ_ID_SYSTEM},
        {"jobid", BJ_ID_JOBID},
        {"sluid", BJ_ID_SLUID},
        {"slurm_node", BJ_ID_NODE},
        {"user", BJ_ID_USER},
        {"uid", BJ_ID_UID},
        {"account", BJ_ID_ACCOUNT},
        {"partition", BJ_ID_PARTITION},
        {"qos", BJ_ID_QOS},
        {"name", BJ_ID_NAME},
        {"array_job_id", BJ_ID_ARRAY_JOB},
        {"array_task", BJ_ID_ARRAY_TASK},
        {"het_job_id", BJ_ID_HET_JOB},
        {"het_offset", BJ_ID_HET_OFFSET},
        {"identity_source", BJ_ID_SOURCE},
    };
    for (size_t i = 0; i < N(names); i++)
        final_put_text(o, names[i].name, id->f[names[i].field]);
}

static void put_devices(struct bj_json_out *o, const struct bj_unit *u)
{
    if (u->ndevices == 0)
        return;
    bj_json_put_object(o, "devices");
    for (uint32_t i = 0; i < u->ndevices; i++) {
        bj_json_put_key(o, bj_slice_str(u->devices[i].name));
        bj_json_put_object(o, NULL);
        put_fields(o, device_fields, N(device_fields), &u->devices[i]);
        bj_json_put_end(o);
    }
    bj_json_put_end(o);
}

/* The last part of a path.  Records do without the rest, which often contains
 * names of users and projects. */
static struct bj_slice base_name(struct bj_slice path)
{
    size_t n = path.n;
    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return (struct bj_slice){path.p + n, path.n - n};
}

/* Add up the executables of the same base name; returns their number. */
static size_t by_base_name(struct bj_exe_use *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct bj_slice name = base_name(v[i].sub.key[0]);
        size_t k = 0;
        while (k < kept && !bj_slice_eq(v[k].sub.key[0], name))
            k++;
        if (name.n == 0)
            continue;
        if (k < kept)
            v[k].cpu_usec += v[i].cpu_usec;
        else
            v[kept++] = (struct bj_exe_use){{.key = {name}}, v[i].cpu_usec};
    }
    return kept;
}

static int most_first(const void *a, const void *b)
{
    const struct bj_exe_use *x = a, *y = b;
    return (x->cpu_usec < y->cpu_usec) - (x->cpu_usec > y->cpu_usec);
}

/* The executables that used most CPU time; the others are one sum. */
static void put_executables(struct bj_json_out *o, const struct bj_core *core,
                            const struct bj_jobproc *p)
{
    const struct bj_slice other = BJ_SLICE("(other)");
    struct bj_arena arena = {0};
    struct bj_list list = {0};
    uint64_t rest = 0;
    bj_jobproc_exes(core->proctab, p, &arena, &list);
    struct bj_exe_use *v = list.v;
    size_t n = by_base_name(v, list.n), named = 0;
    if (n > 0) {
        qsort(v, n, sizeof(*v), most_first);
        bj_json_put_object(o, "executables");
        for (size_t i = 0; i < n; i++) {
            if (named == EXECUTABLES || bj_slice_eq(v[i].sub.key[0], other)) {
                rest += v[i].cpu_usec;
            } else if (v[i].cpu_usec > 0) {
                bj_json_put_key(o, v[i].sub.key[0]);
                bj_json_put_u64(o, NULL, v[i].cpu_usec);
                named++;
            }
        }
        if (rest > 0)
            bj_json_put_u64(o, "(other)", rest);
        bj_json_put_end(o);
    }
    bj_arena_free(&arena);
}

static void final_begin(const struct bj_core *core, struct bj_json_out *o)
{
    char host[256] = "";
    struct bj_arena arena = {0};
    gethostname(host, sizeof(host) - 1);
    bj_json_put_object(o, NULL);
    bj_json_put_u64(o, "format", BJ_FINAL_FORMAT);
    final_put_text(o, "cluster", bj_core_cluster(core, &arena));
    bj_arena_free(&arena);
    final_put_text(o, "host", bj_slice_str(host));
}

static int final_end(struct bj_json_out *o, struct bj_buf *out)
{
    bj_json_put_end(o);
    int r = bj_json_out_end(o);
    bj_buf_put(out, "\n", 1);
    return r < 0 || out->failed ? -ENOMEM : 0;
}

int bj_final_write(const struct bj_core *core, const struct bj_track *t,
                   struct bj_buf *out)
{
    struct bj_json_out json = {.to = out}, *o = &json;
    struct bj_procsum proc;
    final_begin(core, o);
    put_ident(o, t->ident);
    if (t->ident->f[BJ_ID_JOBID].n == 0) /* not identified yet */
        final_put_text(o, "jobid", bj_slice_str(t->id));
    final_put(o, "start", bj_track_start(t));
    final_put(o, "end", t->life.end_sec);
    put_fields(o, use_fields, N(use_fields), &t->unit.use);
    if (t->unit.use.mem_held_sampled == 1)
        bj_json_put_bool(o, "memory_held_peak_sampled", true);
    if (t->unit.use.mem_held_charged == 1)
        bj_json_put_bool(o, "memory_held_peak_charged", true);
    if (t->unit.use.cpu_usec != BJ_ABSENT)
        bj_json_put_bool(o, "cpu_complete",
                         t->unit.use.cpu_usec == t->life.last_cpu_usec);
    if (t->proc) {
        bj_jobproc_sums(core->proctab, t->proc, &proc);
        put_fields(o, proc_fields, N(proc_fields), &proc);
        put_executables(o, core, t->proc);
    }
    put_devices(o, &t->unit);
    if (core->energy && t->energy && t->energy->account)
        bj_energy_final(core->energy, t->energy->account, o);
    if (core->gpus)
        bj_gpus_final(core->gpus, t, o);
    return final_end(o, out);
}

int bj_final_orphan(const struct bj_core *core, struct bj_slice key,
                    const struct bj_account *a, uint64_t end_sec,
                    struct bj_buf *out)
{
    struct bj_json_out json = {.to = out}, *o = &json;
    struct bj_slice system, node, id;
    final_begin(core, o);
    struct bj_slice full_key = key;
    /* Leave out the inode, which has no meaning for readers. */
    while (key.n > 0 && key.p[key.n - 1] != '#')
        key.n--;
    key.n -= key.n > 0;
    if (bj_slice_field(&key, '/', &system) && bj_slice_field(&key, '/', &node))
        id = key;
    else
        id = system = node = (struct bj_slice){0};
    final_put_text(o, "batch_system", system);
    final_put_text(o, "jobid", id);
    final_put_text(o, "slurm_node", node);
    final_put(o, "end", end_sec);
    bj_energy_final(core->energy, a, o);
    if (core->gpus)
        bj_gpus_final_orphan(core->gpus, full_key, o);
    bj_json_put_bool(o, "complete", false);
    return final_end(o, out);
}
