#include "core/energy/energy.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/conf.h"
#include "core/energy/meters.h"
#include "core/energy/state.h"
#include "core/find/hier.h"
#include "core/internal.h"
#include "core/model/record.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Use and size of the whole node. */
/* Values that cannot be read are BJ_ABSENT. */
struct bj_node_size {
    uint64_t cpus; /* on line */
    uint64_t mem_bytes;
};

struct bj_node_use {
    uint64_t cpu_usec;  /* by all tasks since the boot */
    uint64_t mem_bytes; /* not free: page cache counts, as it does for jobs */
};

enum { TEXT_CAP = 8192, CPUS = 8192 };

static int read_below(const char *dir, const char *name, char *buf,
                      struct bj_slice *ret)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    return bj_file_read(AT_FDCWD, path, buf, TEXT_CAP, ret, NULL);
}

/* The number after a key at the start of a line. */
static uint64_t energy_value_of(struct bj_slice text, const char *key)
{
    struct bj_slice line, word;
    uint64_t v;
    while (bj_slice_line(&text, &line))
        if (bj_slice_word(&line, &word) && bj_slice_eq(word, bj_slice_str(key)))
            return bj_slice_word(&line, &word) && bj_slice_u64(word, &v) == 0
                       ? v
                       : BJ_ABSENT;
    return BJ_ABSENT;
}

static uint64_t root_v1_usec(const char *root)
{
    char buf[TEXT_CAP];
    struct bj_slice text, word;
    uint64_t nsec;
    if (read_below(root, "cpuacct.usage", buf, &text) < 0 ||
        !bj_slice_word(&text, &word) || bj_slice_u64(word, &nsec) < 0)
        return BJ_ABSENT;
    return nsec / 1000;
}

static uint64_t root_v2_usec(const char *root)
{
    char buf[TEXT_CAP];
    struct bj_slice text;
    if (read_below(root, "cpu.stat", buf, &text) < 0)
        return BJ_ABSENT;
    return energy_value_of(text, "usage_usec");
}

/* Busy ticks: all modes but idle and iowait; user includes guest time. */
static uint64_t proc_stat_usec(const char *procfs)
{
    char buf[TEXT_CAP];
    struct bj_slice line, word, text;
    uint64_t busy = 0, v;
    int fd bj_autoclose = -1;
    char path[4096];
    snprintf(path, sizeof(path), "%.4000s/stat", procfs);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    /* Only the first line is needed; the others are for single CPUs. */
    ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));
    if (n <= 0)
        return BJ_ABSENT;
    text = (struct bj_slice){buf, (size_t)n};
    if (!bj_slice_line(&text, &line) || !bj_slice_word(&line, &word) ||
        !bj_slice_eq(word, BJ_SLICE("cpu")))
        return BJ_ABSENT;
    for (int i = 0; i < 8 && bj_slice_word(&line, &word); i++) {
        if (bj_slice_u64(word, &v) < 0)
            return BJ_ABSENT;
        busy += i == 3 || i == 4 ? 0 : v;
    }
    long hz = sysconf(_SC_CLK_TCK);
    return busy * (1000000u / (uint64_t)(hz > 0 ? hz : 100));
}

static uint64_t cpu_usec_read(const struct bj_conf *conf,
                              const struct bj_hiers *hiers)
{
    uint64_t v = BJ_ABSENT;
    for (unsigned h = 0; h < hiers->n && v == BJ_ABSENT; h++)
        if (hiers->v[h].version == 1 &&
            (hiers->v[h].controllers & 1u << BJ_CTL_CPUACCT))
            v = root_v1_usec(hiers->v[h].path);
    for (unsigned h = 0; h < hiers->n && v == BJ_ABSENT; h++)
        if (hiers->v[h].version == 2)
            v = root_v2_usec(hiers->v[h].path);
    return v == BJ_ABSENT ? proc_stat_usec(conf->procfs) : v;
}

/* Read the total memory, and the memory that is not free. */
static void energy_read_memory(const char *procfs, uint64_t *total,
                               uint64_t *used)
{
    char buf[TEXT_CAP];
    struct bj_slice text;
    *total = *used = BJ_ABSENT;
    if (read_below(procfs, "meminfo", buf, &text) < 0)
        return;
    uint64_t kib = energy_value_of(text, "MemTotal:");
    uint64_t unused = energy_value_of(text, "MemFree:");
    if (kib == BJ_ABSENT || kib > UINT64_MAX / 2048)
        return;
    *total = kib * 1024;
    if (unused <= kib)
        *used = (kib - unused) * 1024;
}

static uint64_t count_cpus(const char *sysfs)
{
    char buf[TEXT_CAP];
    struct bj_slice text, word;
    if (read_below(sysfs, "devices/system/cpu/online", buf, &text) < 0 ||
        !bj_slice_word(&text, &word))
        return BJ_ABSENT;
    int n = bj_slice_cpulist(word, CPUS, NULL);
    return n > 0 ? (uint64_t)n : BJ_ABSENT;
}

static void node_size_read(const struct bj_conf *conf, struct bj_node_size *ret)
{
    uint64_t used;
    ret->cpus = count_cpus(conf->sysfs);
    energy_read_memory(conf->procfs, &ret->mem_bytes, &used);
}

/* CPU time comes from the root cgroup if possible (the same clock as that of
 * jobs), else from /proc/stat.  Sources: kernel admin-guide/cgroup-v2.rst,
 * cgroup-v1/cpuacct.rst, proc(5). */
static void node_use_read(const struct bj_conf *conf,
                          const struct bj_hiers *hiers, struct bj_node_use *ret)
{
    uint64_t total;
    ret->cpu_usec = cpu_usec_read(conf, hiers);
    energy_read_memory(conf->procfs, &total, &ret->mem_bytes);
}

/* --- the core's interface -------------------------------------------------*/

enum {
    SECOND = 1000000,
    PATIENCE = 3,      /* periods of the slow meters */
    ORPHAN_PERIODS = 2 /* ticks, before a job counts as one that has ended */
};

struct bj_energy {
    const struct bj_conf *conf;
    struct bj_host host;
    struct bj_meters *meters;
    struct bj_ledger *ledger; /* created at the first tick, when the node's size
                                 is known */
    struct bj_state *state;   /* NULL: totals are not saved */
    struct bj_buf text;       /* state to be saved */
    enum bj_policy policy;
    uint64_t last_usec;  /* of the last tick, also of an earlier process; 0:
                            none */
    uint64_t begun_usec; /* of our first tick */
    bool ticked;
    uint64_t slept_usec; /* boot clock minus monotonic clock */
    bool gpu_own;        /* GPUs report their energy themselves */
    uint64_t gpu_given;  /* total passed to the ledger at the last tick */
    uint64_t gpu_base;   /* gpu_given less the GPUs' own total; may be negative
                            (wraps) */
    const struct bj_copies *copies;
    struct bj_node_energy {
        struct bj_ledger_sums sums;
        struct bj_totals totals;
    } node[BJ_COPIES];
};

static enum bj_policy policy_of(const char *name)
{
    for (int p = 0; name && p < BJ_POLICIES; p++)
        if (strcmp(name, bj_policy_names[p]) == 0)
            return (enum bj_policy)p;
    return BJ_HYBRID;
}

/* Time spent in suspend so far. */
static uint64_t slept_usec(void)
{
    uint64_t awake = bj_clock_awake_usec(), boot = bj_clock_boot_usec();
    return boot > awake ? boot - awake : 0;
}

int bj_energy_new(const struct bj_conf *conf, const struct bj_host *host,
                  const struct bj_copies *copies, struct bj_energy **ret,
                  struct bj_err *err)
{
    struct bj_energy *e = calloc(1, sizeof(*e));
    if (!e)
        return bj_err_set(err, -ENOMEM, "energy");
    e->conf = conf;
    e->host = *host;
    e->copies = copies;
    e->policy = policy_of(conf->energy.policy);
    e->slept_usec = slept_usec();
    int r = bj_meters_new(conf, host, &e->meters, err);
    if (r < 0) {
        bj_energy_free(e);
        return r;
    }
    *ret = e;
    return 0;
}

void bj_energy_free(struct bj_energy *e)
{
    if (!e)
        return;
    bj_meters_free(e->meters);
    bj_ledger_free(e->ledger);
    bj_state_free(e->state);
    bj_buf_free(&e->text);
    free(e);
}

bool bj_energy_search(struct bj_energy *e, uint64_t now_usec)
{
    return bj_meters_search(e->meters, now_usec);
}

bool bj_energy_hurry(struct bj_energy *e, uint64_t now_usec, uint64_t gap_usec)
{
    return bj_meters_hurry(e->meters, now_usec, gap_usec);
}

void bj_energy_await(struct bj_energy *e, uint64_t end_usec)
{
    bj_meters_await(e->meters, end_usec);
}

void bj_energy_page(struct bj_energy *e, uint64_t now_usec, uint64_t gap_usec)
{
    bj_meters_page(e->meters, now_usec, gap_usec);
}

bool bj_energy_meters(const struct bj_energy *e, struct bj_buf *out)
{
    return e && bj_meters_names(e->meters, out);
}

/* --- the first tick -------------------------------------------------------*/

/* The line "gpus TOTAL": energy of accelerators passed to the ledger. */
static void save_gpu_total(const struct bj_energy *e, struct bj_buf *out)
{
    if (e->gpu_own)
        bj_buf_printf(out, "gpus %" PRIu64 "\n", e->gpu_given);
}

static void load_gpu_total(struct bj_energy *e, struct bj_slice text)
{
    struct bj_slice line, word;
    while (bj_slice_line(&text, &line))
        if (bj_slice_word(&line, &word) &&
            bj_slice_eq(word, BJ_SLICE("gpus")) &&
            bj_slice_word(&line, &word) &&
            bj_slice_u64(word, &e->gpu_base) == 0) {
            e->gpu_given = e->gpu_base;
            e->gpu_own = true;
            return;
        }
}

static void load_state(struct bj_energy *e, struct bj_slice *ret_extra)
{
    struct bj_err err = {0};
    struct bj_slice text, extra;
    bool same = false;
    int r = bj_state_open(e->conf->energy.state_file, &e->state, &text, &err);
    if (r < 0) {
        bj_err_wrap(&err, r, "totals are lost when this process ends");
        bj_host_log(&e->host, BJ_LOG_WARN, &err, "energy");
        return;
    }
    if (text.n == 0)
        return;
    r = bj_ledger_load(e->ledger, text, bj_state_boot_id(e->state), &extra,
                       &same, &err);
    if (r < 0) {
        bj_state_keep_aside(e->state, &err);
        bj_host_log(&e->host, BJ_LOG_WARN, &err, "energy");
    } else if (same) {
        bj_meters_load(e->meters, extra);
        load_gpu_total(e, extra);
        *ret_extra = extra;
    }
}

static int energy_begin(struct bj_energy *e, struct bj_slice *ret_extra)
{
    struct bj_node_size size;
    node_size_read(e->conf, &size);
    const struct bj_energy_conf *c = &e->conf->energy;
    struct bj_ledger_conf conf = {
        .idle_uw = c->idle_watts * 1000000,
        .cpus = size.cpus,
        .mem_bytes = size.mem_bytes,
        .patience_usec = PATIENCE * c->slow_usec,
    };
    e->ledger = bj_ledger_new(&conf);
    if (!e->ledger)
        return -ENOMEM;
    if (c->state_file && *c->state_file)
        load_state(e, ret_extra);
    struct bj_ledger_sums sums;
    bj_ledger_sums(e->ledger, &sums);
    e->last_usec = sums.tick_usec;
    return 0;
}

/* --- accounts -------------------------------------------------------------*/

static bool has_account(const struct bj_track *t)
{
    return t->energy && t->energy->account;
}

static bool is_closed(const struct bj_track *t)
{
    return t->energy && t->energy->closed;
}

static void copy_account(const struct bj_energy *e, struct bj_job_energy *j,
                         unsigned copy)
{
    for (int c = 0; c < BJ_COMPONENTS; c++)
        j->uj[copy][c] =
            bj_account_uj(j->account, e->policy, (enum bj_component)c);
}

/* Drop the account of a job; the job keeps its values. */
static void drop_account(struct bj_energy *e, struct bj_track *t)
{
    if (!has_account(t))
        return;
    for (unsigned k = 0; k < BJ_COPIES; k++)
        copy_account(e, t->energy, k);
    bj_ledger_drop(e->ledger, t->energy->account);
    t->energy->account = NULL;
}

enum { KEY_CAP = 1200 };

/* Get the status of its directory in hierarchy h, by descriptor or by path. */
static bool stat_dir(const struct bj_track *t, unsigned h, struct stat *st)
{
    char path[4096];
    if (t->unit.dir[h] >= 0)
        return fstat(t->unit.dir[h], st) == 0;
    return bj_unit_path(&t->unit, &t->core->reader, h, "", path,
                        sizeof(path)) == 0 &&
           stat(path, st) == 0;
}

/* Make the key of t from its directory in hierarchy h; false: no such
 * directory.  The inode is part of it, since the same id with another inode is
 * another job. */
static bool energy_key_of(const struct bj_track *t, unsigned h,
                          char key[KEY_CAP])
{
    struct stat st;
    if (!(t->unit.in_hiers & 1u << h) || !stat_dir(t, h, &st))
        return false;
    snprintf(key, KEY_CAP, "%s#%" PRIu64, t->key, (uint64_t)st.st_ino);
    return true;
}

/* Find the key under which t's account was saved: that of any of its
 * directories.  If none was saved, use the key of the first directory. */
static void find_key(const struct bj_energy *e, const struct bj_track *t,
                     char key[KEY_CAP])
{
    char first[KEY_CAP] = "";
    for (unsigned h = 0; h < BJ_HIERS; h++) {
        if (!energy_key_of(t, h, key))
            continue;
        if (bj_ledger_is_unopened(e->ledger, bj_slice_str(key)))
            return;
        if (!*first)
            memcpy(first, key, KEY_CAP);
    }
    if (*first)
        memcpy(key, first, KEY_CAP);
    else
        snprintf(key, KEY_CAP, "%s#0", t->key);
}

/* Whether all its use was after the last tick.  Its directory may be older than
 * its first process. */
static bool is_new(const struct bj_energy *e, const struct bj_track *t)
{
    const struct bj_core *core = t->core;
    if (e->last_usec == 0 || t->life.born_usec <= e->last_usec)
        return false;
    if (t->life.start_sec == BJ_ABSENT)
        return e->ticked;
    uint64_t ago = core->now_usec - e->last_usec;
    return (t->life.start_sec + 1) * SECOND + ago >= core->wall_usec;
}

static void open_account(struct bj_energy *e, struct bj_track *t)
{
    char key[KEY_CAP];
    if (!t->energy) {
        if (!(t->energy = calloc(1, sizeof(*t->energy))))
            return;
        memset(t->energy->uj, 0xff, sizeof(t->energy->uj));
    }
    find_key(e, t, key);
    t->energy->account =
        bj_ledger_open(e->ledger, bj_slice_str(key), is_new(e, t));
    t->energy->opened = t->energy->account != NULL;
}

static void use_account(struct bj_track *t)
{
    const struct bj_usage *u = &t->unit.use;
    struct bj_job_use use = {
        .cpu_usec = u->cpu_usec,
        .mem_bytes = bj_track_live(t) ? u->mem_used_bytes : BJ_ABSENT,
        .cpus = u->cpus,
        .mem_limit_bytes = u->mem_limit_bytes,
    };
    bj_account_use(t->energy->account, &use);
    if (bj_track_over(t)) {
        bj_account_close(t->energy->account);
        t->energy->closed = true;
    }
}

static void use_accounts(struct bj_energy *e, struct bj_core *core)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        /* Its final record is on disk: it must not get another one after a
         * restart. */
        if (t->life.recorded)
            drop_account(e, t);
        if (t->energy)
            t->energy->opened = false;
        if (t->life.born && !has_account(t) && !is_closed(t))
            open_account(e, t);
        if (has_account(t) && !is_closed(t))
            use_account(t);
    }
}

/* --- a tick ---------------------------------------------------------------*/

/* Total energy of the accelerators: own_uj from their drivers, which report
 * each device, else that of a meter.  The source may change; the total
 * continues. */
static uint64_t gpu_total(struct bj_energy *e, uint64_t own_uj,
                          uint64_t metered_uj)
{
    if (own_uj == BJ_ABSENT) {
        e->gpu_given = metered_uj == BJ_ABSENT ? e->gpu_given : metered_uj;
        return metered_uj;
    }
    if (!e->gpu_own)
        e->gpu_base = e->gpu_given - own_uj;
    e->gpu_own = true;
    return e->gpu_given = e->gpu_base + own_uj;
}

static struct bj_tick make_tick(struct bj_energy *e, const struct bj_core *core,
                                uint64_t gpu_uj, bool gpu_held)
{
    static const enum bj_zone_role roles[] = {
        [BJ_ENERGY_CPU] = BJ_ZONE_CPU,
        [BJ_ENERGY_DRAM] = BJ_ZONE_DRAM,
        [BJ_ENERGY_GPU] = BJ_ZONE_GPU,
    };
    uint64_t slept = slept_usec();
    struct bj_node_use node_use;
    node_use_read(e->conf, &core->hiers, &node_use);
    struct bj_tick tick = {
        .now_usec = core->now_usec,
        .node_uj = BJ_ABSENT,
        .cpu_usec = node_use.cpu_usec,
        .mem_bytes = node_use.mem_bytes,
        .suspended = slept > e->slept_usec + SECOND / 10,
    };
    e->slept_usec = slept;
    struct bj_totals *totals = &e->node[e->copies->last].totals;
    bj_meters_read(e->meters, e->copies->last, core->now_usec, tick.suspended,
                   gpu_uj, totals);
    for (int c = 0; c < BJ_ENERGY_OTHER; c++) {
        const struct bj_role_total *role = &totals->role[roles[c]];
        tick.total_uj[c] = role->source ? role->uj : BJ_ABSENT;
        tick.held[c] = role->source && role->held;
    }
    tick.total_uj[BJ_ENERGY_GPU] =
        gpu_total(e, gpu_uj, tick.total_uj[BJ_ENERGY_GPU]);
    tick.held[BJ_ENERGY_GPU] |= gpu_held;
    tick.total_uj[BJ_ENERGY_OTHER] = BJ_ABSENT;
    if (totals->role[BJ_ZONE_NODE].source) {
        tick.node_uj = totals->role[BJ_ZONE_NODE].uj;
        tick.node_stamp_usec = totals->role[BJ_ZONE_NODE].stamp_usec;
        tick.held[BJ_ENERGY_OTHER] = totals->role[BJ_ZONE_NODE].held;
    }
    return tick;
}

struct bj_account *bj_energy_orphan(struct bj_energy *e, uint64_t now_usec,
                                    struct bj_slice *ret_key,
                                    uint64_t *ret_seen_sec)
{
    *ret_seen_sec = e->state ? bj_state_saved_sec(e->state) : 0;
    uint64_t wait = ORPHAN_PERIODS * e->conf->energy.period_usec;
    if (!e->ledger || now_usec < e->begun_usec + wait)
        return NULL;
    return bj_ledger_unopened(e->ledger, ret_key);
}

void bj_energy_forget(struct bj_energy *e, struct bj_account *a)
{
    bj_ledger_drop(e->ledger, a);
}

void bj_energy_write(struct bj_energy *e, struct bj_buf *lines)
{
    bj_buf_reset(&e->text);
    if (!e->state)
        return;
    bj_meters_save(e->meters, e->copies->last, lines);
    save_gpu_total(e, lines);
    if (!lines->failed)
        bj_ledger_save(e->ledger, bj_state_boot_id(e->state),
                       (struct bj_slice){lines->p, lines->len}, &e->text);
    if (e->text.failed)
        bj_buf_free(&e->text);
}

int bj_energy_accounts(struct bj_energy *e, struct bj_core *core,
                       struct bj_slice *ret_extra)
{
    *ret_extra = (struct bj_slice){NULL, 0};
    if (!e->ledger) {
        e->begun_usec = core->now_usec;
        int r = energy_begin(e, ret_extra);
        if (r < 0)
            return r;
    }
    use_accounts(e, core);
    return 0;
}

bool bj_energy_ticked(const struct bj_energy *e)
{
    return e->ticked;
}

bool bj_energy_gpus_counted(const struct bj_energy *e)
{
    return e->gpu_own;
}

void bj_energy_tick(struct bj_energy *e, const struct bj_core *core,
                    uint64_t gpu_uj, bool gpu_held)
{
    struct bj_tick tick = make_tick(e, core, gpu_uj, gpu_held);
    unsigned last = e->copies->last;
    bj_ledger_tick(e->ledger, &tick);
    e->last_usec = core->now_usec;
    e->ticked = true;
    bj_ledger_sums(e->ledger, &e->node[last].sums);
    for (size_t k = 0; k < core->tracks.n; k++)
        if (has_account(core->tracks.v[k]))
            copy_account(e, core->tracks.v[k]->energy, last);
}

int bj_energy_save(struct bj_energy *e, struct bj_err *err)
{
    struct bj_slice text = {e->text.p, e->text.len};
    if (!e->state)
        return 0;
    int r = text.n > 0 ? bj_state_save(e->state, text, true, err)
                       : bj_err_set(err, -ENOMEM, "energy.state-file");
    return r < 0 ? bj_err_wrap(err, r, "totals not saved") : 0;
}

bool bj_energy_settled(const struct bj_track *t)
{
    return !has_account(t) ||
           (t->energy->closed && bj_account_final(t->energy->account));
}

void bj_energy_drop(struct bj_energy *e, struct bj_track *t)
{
    if (e)
        drop_account(e, t);
    free(t->energy);
    t->energy = NULL;
}

/* --- publishing -----------------------------------------------------------*/

/* Whether a component was ever metered. */
static bool energy_known(const struct bj_ledger_sums *s, int c)
{
    bool deficit = c == BJ_ENERGY_OTHER && s->deficit_uj > 0;
    return s->taken_uj[c] > 0 || deficit;
}

/* The energy that a meter counted while no window waited for it; that of the
 * node's meter is shown with other. */
static uint64_t missed(const struct bj_ledger_sums *s, int c)
{
    return c == BJ_ENERGY_OTHER ? s->node_missed_uj : s->missed_uj[c];
}

static size_t count_known(const struct bj_ledger_sums *s)
{
    size_t n = 0;
    for (int c = 0; c < BJ_COMPONENTS; c++)
        n += energy_known(s, c);
    return n;
}

void bj_energy_publish_job(const struct bj_energy *e, const struct bj_track *t,
                           struct bj_arena *a, struct bj_job *job)
{
    const uint64_t *uj = t->energy ? t->energy->uj[e->copies->shown] : NULL;
    const struct bj_ledger_sums *s = &e->node[e->copies->shown].sums;
    size_t n = uj && uj[0] != BJ_ABSENT ? count_known(s) : 0;
    struct bj_energy_use *v = n ? bj_arena_alloc(a, n * sizeof(*v)) : NULL;
    if (!v)
        return;
    job->energy = (struct bj_list){v, n};
    for (int c = 0; c < BJ_COMPONENTS; c++) {
        if (!energy_known(s, c))
            continue;
        v->sub.key[0] = bj_slice_str(bj_component_names[c]);
        v++->energy_uj = uj[c];
    }
}

static struct bj_slice source_of(const struct bj_totals *t,
                                 struct bj_slice *quality)
{
    const struct bj_role_total *node = &t->role[BJ_ZONE_NODE];
    const struct bj_role_total *cpu = &t->role[BJ_ZONE_CPU];
    *quality = node->source
                   ? node->partial ? BJ_SLICE("partial") : BJ_SLICE("node")
                   : BJ_SLICE("components");
    const char *name = node->source ? node->source : cpu->source;
    return bj_slice_str(name ? name : "none");
}

static struct bj_slice static_of(const struct bj_ledger_sums *s)
{
    if (s->idle_uw == 0)
        return BJ_SLICE("unknown");
    return s->idle_learnt ? BJ_SLICE("learnt") : BJ_SLICE("configured");
}

static void publish_split(const struct bj_energy *e, struct bj_snap *snap)
{
    const struct bj_ledger_sums *s = &e->node[e->copies->shown].sums;
    struct bj_energy_split *v =
        bj_arena_alloc(&snap->arena, BJ_COMPONENTS * sizeof(*v));
    if (!v)
        return;
    snap->node.energy = (struct bj_list){v, 0};
    for (int c = 0; c < BJ_COMPONENTS; c++) {
        if (!energy_known(s, c) && missed(s, c) == 0)
            continue;
        snap->node.energy.n++;
        v->sub.key[0] = bj_slice_str(bj_component_names[c]);
        v->missed_uj = missed(s, c);
        v->energy_uj = v->system_uj = v->unallocated_uj = v->deficit_uj =
            BJ_ABSENT;
        if (!energy_known(s, c)) {
            v++;
            continue;
        }
        v->energy_uj = s->taken_uj[c] - s->pending_uj[c];
        v->system_uj = s->system_uj[e->policy][c];
        v->unallocated_uj = s->unallocated_uj[e->policy][c];
        v++->deficit_uj = c == BJ_ENERGY_OTHER ? s->deficit_uj : BJ_ABSENT;
    }
}

void bj_energy_publish(const struct bj_energy *e, struct bj_snap *snap)
{
    const struct bj_node_energy *node = &e->node[e->copies->shown];
    struct bj_info *info = &snap->node.energy_info;
    if (node->sums.tick_usec == 0)
        return;
    bj_meters_publish(e->meters, e->copies->shown, bj_clock_boot_usec(), snap);
    snap->node.power_uw = node->totals.role[BJ_ZONE_NODE].power_uw;
    publish_split(e, snap);
    if (snap->node.energy.n == 0)
        return;
    info->one = 1;
    info->v[0] = source_of(&node->totals, &info->v[1]);
    info->v[2] = bj_slice_str(bj_policy_names[e->policy]);
    info->v[3] = static_of(&node->sums);
    if (node->sums.idle_uw > 0)
        snap->node.idle_uw = node->sums.idle_uw;
}

void bj_energy_final(const struct bj_energy *e, const struct bj_account *a,
                     struct bj_json_out *o)
{
    const struct bj_node_energy *node = &e->node[e->copies->last];
    struct bj_slice quality, source = source_of(&node->totals, &quality);
    if (count_known(&node->sums) == 0)
        return;
    bj_json_put_object(o, "energy_uj");
    for (int p = 0; p < BJ_POLICIES; p++) {
        bj_json_put_object(o, bj_policy_names[p]);
        for (int c = 0; c < BJ_COMPONENTS; c++)
            if (node->sums.taken_uj[c] > 0)
                bj_json_put_u64(
                    o, bj_component_names[c],
                    bj_account_uj(a, (enum bj_policy)p, (enum bj_component)c));
        bj_json_put_end(o);
    }
    bj_json_put_end(o);
    bj_json_put_str(o, "energy_policy",
                    bj_slice_str(bj_policy_names[e->policy]));
    bj_json_put_str(o, "energy_source", source);
    bj_json_put_str(o, "energy_quality", quality);
    bj_json_put_str(o, "energy_static", static_of(&node->sums));
    bj_json_put_bool(o, "energy_gap", bj_account_flagged(a));
}
