/* Cray and HPE EX: /sys/cray/pm_counters, which the node's controller fills ten
 * times a second.
 *
 * Source: Cray documentation, "User access to compute node power data". */
#include "core/energy/cray.h"

#include "base/clock.h"
#include "base/file.h"
#include "core/energy/attr.h"
#include "core/energy/meter.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DIR_PATH "cray/pm_counters"

enum { ACCELERATORS = 32, ZONES = 3 + ACCELERATORS };

/* The kinds of values in the files. */
enum { POWER, ENERGY, VALUES };

struct zone {
    int fd[VALUES]; /* or -errno of open(2) */
    char prefix[16];
    struct bj_zone_sample sample;
};

/* Counters that show whether the others are consistent.  Absent without such a
 * file. */
enum { FRESHNESS, STARTUP, GENERATION, MARKS };
static const char *const mark_names[MARKS] = {"freshness", "startup",
                                              "generation"};

struct cray {
    int dir;
    const atomic_bool *stop;
    int mark_fd[MARKS];
    uint64_t mark[MARKS]; /* of the last reading */
    uint64_t stamp_usec;  /* when a change of freshness was last noticed; 0:
                             never */
    bool search;
    size_t n;
    struct zone zone[ZONES];
};

/* --- files ---------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -ENOENT;
}

static void drop_files(struct cray *m)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < VALUES; k++)
            close_fd(&m->zone[i].fd[k]);
    for (size_t i = 0; i < MARKS; i++)
        close_fd(&m->mark_fd[i]);
    m->n = 0;
}

/* The first word of "862 W 1700000000000000 us".  The time is the controller's
 * and may jump against ours, so it is not used. */
static int cray_parse(struct bj_slice text, const char *unit, const char *name,
                      uint64_t *ret, struct bj_err *err)
{
    struct bj_slice number = {0}, word = {0};
    uint64_t v;
    bj_slice_word(&text, &number);
    bj_slice_word(&text, &word);
    int r = bj_attr_number(number, name, &v, err);
    if (r < 0)
        return r;
    if (!bj_slice_eq(word, bj_slice_str(unit)))
        return bj_err_set(err, -EBADMSG, "%s: its unit is not %s", name, unit);
    if (v > (BJ_ABSENT - 1) / 1000000)
        return bj_err_set(err, -ERANGE, "%s: too large", name);
    *ret = v * 1000000;
    return 0;
}

/* 0 W means no limit. */
static uint64_t power_cap(const struct cray *m, const char *prefix)
{
    char name[32], buf[BJ_ATTR_CAP];
    struct bj_slice text;
    uint64_t uw;
    snprintf(name, sizeof(name), "%spower_cap", prefix);
    if (bj_attr_text(m->dir, name, buf, &text, NULL) < 0 ||
        cray_parse(text, "W", name, &uw, NULL) < 0 || uw == 0)
        return BJ_ABSENT;
    return uw;
}

/* Add the zone with the files PREFIXpower and PREFIXenergy, if they exist. */
static void add_zone(struct cray *m, const char *prefix, const char *name,
                     enum bj_zone_role role)
{
    struct zone *z = &m->zone[m->n];
    char file[32];
    if (m->n == ZONES)
        return;
    snprintf(z->prefix, sizeof(z->prefix), "%s", prefix);
    snprintf(file, sizeof(file), "%spower", prefix);
    z->fd[POWER] = bj_attr_open(m->dir, file);
    snprintf(file, sizeof(file), "%senergy", prefix);
    z->fd[ENERGY] = bj_attr_open(m->dir, file);
    bj_zone_init(&z->sample, name, role);
    z->sample.limit_uw = power_cap(m, prefix);
    m->n += !bj_err_gone(z->fd[POWER]) || !bj_err_gone(z->fd[ENERGY]);
}

static int add_accelerators(struct cray *m)
{
    unsigned number[ACCELERATORS];
    int n =
        bj_attr_numbers(m->dir, "accel", "_energy", 10, number, ACCELERATORS);
    if (n == 0)
        n = bj_attr_numbers(m->dir, "accel", "_power", 10, number,
                            ACCELERATORS);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof(name), "accel%u_", number[i] % 10000);
        add_zone(m, name, name, BJ_ZONE_GPU);
    }
    return n;
}

/* node includes all others. */
static int cray_search(struct cray *m, struct bj_err *err)
{
    drop_files(m);
    m->search = false;
    add_zone(m, "", "node", BJ_ZONE_NODE);
    add_zone(m, "cpu_", "cpu", BJ_ZONE_CPU);
    add_zone(m, "memory_", "memory", BJ_ZONE_DRAM);
    int r = add_accelerators(m);
    for (size_t i = 0; i < MARKS; i++)
        m->mark_fd[i] = bj_attr_open(m->dir, mark_names[i]);
    if (r < 0)
        return bj_err_set(err, r, "list " DIR_PATH);
    return 0;
}

/* --- one reading ---------------------------------------------------------- */

/* Read a mark; absent if its file is missing. */
static int read_mark(struct cray *m, size_t i, uint64_t *ret,
                     struct bj_err *err)
{
    *ret = BJ_ABSENT;
    if (m->mark_fd[i] == -ENOENT)
        return 0;
    if (m->mark_fd[i] < 0)
        return bj_err_set(err, m->mark_fd[i], "open %s", mark_names[i]);
    return bj_attr_fd_u64(m->mark_fd[i], mark_names[i], ret, err);
}

static int read_marks(struct cray *m, uint64_t mark[MARKS], struct bj_err *err)
{
    int r = 0;
    for (size_t i = 0; i < MARKS && r == 0; i++)
        r = read_mark(m, i, &mark[i], err);
    return r;
}

static int read_value(struct cray *m, const struct zone *z, size_t kind,
                      uint64_t *ret, struct bj_err *err)
{
    static const char *const units[VALUES] = {"W", "J"};
    static const char *const files[VALUES] = {"power", "energy"};
    char name[32], buf[BJ_ATTR_CAP];
    struct bj_slice text;
    snprintf(name, sizeof(name), "%s%s", z->prefix, files[kind]);
    int r = z->fd[kind];
    if (r < 0)
        return bj_err_set(err, r, "open %s", name);
    r = bj_attr_fd_text(z->fd[kind], name, buf, &text, err);
    if (r == 0)
        r = cray_parse(text, units[kind], name, ret, err);
    m->search |= bj_err_gone(r);
    return r;
}

/* A running node needs power: 0 W means no value. */
static void read_zone(struct cray *m, const struct zone *z,
                      struct bj_meter_sample *out, int *fault,
                      struct bj_err *err)
{
    uint64_t value[VALUES];
    for (size_t k = 0; k < VALUES; k++) {
        struct bj_err e = {0};
        value[k] = BJ_ABSENT;
        int r = read_value(m, z, k, &value[k], &e);
        if (r < 0 && !bj_err_gone(r))
            bj_zone_fault(fault, err, r, &e);
    }
    if (value[POWER] == 0)
        value[POWER] = BJ_ABSENT;
    if (value[POWER] == BJ_ABSENT && value[ENERGY] == BJ_ABSENT)
        return;
    struct bj_zone_sample *s = bj_zone_add(out, &z->sample);
    s->power_uw = value[POWER];
    s->energy_uj = value[ENERGY];
}

/* Read all values of one refresh: freshness must be equal before and after. */
static int read_once(struct cray *m, const struct bj_cray_now *now,
                     uint64_t mark[MARKS], struct bj_meter_sample *out,
                     struct bj_err *err)
{
    uint64_t after[MARKS];
    int fault = 0;
    int r = read_marks(m, mark, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < m->n; i++)
        read_zone(m, &m->zone[i], out, &fault, err);
    if (now->between)
        now->between(now->ctx);
    r = read_marks(m, after, fault ? NULL : err);
    if (r < 0 && fault == 0)
        fault = r;
    bool same = memcmp(mark, after, sizeof(after)) == 0;
    return r == 0 && !same ? -EAGAIN : fault;
}

static int read_whole(struct cray *m, const struct bj_cray_now *now,
                      uint64_t mark[MARKS], struct bj_meter_sample *out,
                      struct bj_err *err)
{
    for (int i = 0; i < BJ_CRAY_TRIES; i++) {
        struct bj_err e = {0};
        out->n = 0;
        if (m->stop && atomic_load(m->stop))
            return bj_err_set(err, -ECANCELED, "stopped");
        int r = read_once(m, now, mark, out, &e);
        if (r == -EAGAIN)
            continue;
        if (r < 0 && err)
            *err = e;
        return r;
    }
    out->n = 0;
    return bj_err_set(err, -EBADMSG,
                      DIR_PATH " changes faster than it can be read");
}

/* --- over time ------------------------------------------------------------ */

/* A refresh gets the time when it is first noticed, so that values that are
 * read twice count once.  A controller that stops refreshing counts as a
 * timeout. */
static int stamp(struct cray *m, uint64_t fresh, uint64_t now_usec,
                 struct bj_meter_sample *out, struct bj_err *err)
{
    if (fresh == BJ_ABSENT)
        return 0;
    if (m->stamp_usec == 0 || fresh != m->mark[FRESHNESS])
        m->stamp_usec = now_usec;
    if (now_usec - m->stamp_usec > BJ_CRAY_STALE_USEC) {
        out->n = 0;
        return bj_err_set(
            err, -ETIMEDOUT, DIR_PATH " was not refreshed for %llu s",
            (unsigned long long)((now_usec - m->stamp_usec) / 1000000));
    }
    for (size_t i = 0; i < out->n; i++)
        out->zone[i].stamp_usec = m->stamp_usec;
    return 0;
}

/* startup: the controller has restarted with its counters at 0; they are used
 * as they are.  generation: a power limit has changed.  Both are reasons to
 * search for all files again. */
int bj_cray_read(void *meter, const struct bj_cray_now *now,
                 struct bj_meter_sample *out, struct bj_err *err)
{
    struct cray *m = meter;
    uint64_t mark[MARKS];
    int r = m->search ? cray_search(m, err) : 0;
    if (r == 0)
        r = read_whole(m, now, mark, out, err);
    if (r < 0 && out->n == 0) {
        m->search = true;
        return r;
    }
    if (mark[STARTUP] != m->mark[STARTUP] ||
        mark[GENERATION] != m->mark[GENERATION])
        m->search = true;
    int stale = stamp(m, mark[FRESHNESS], now->usec, out, r < 0 ? NULL : err);
    memcpy(m->mark, mark, sizeof(mark));
    if (r == 0 && stale == 0 && out->n == 0)
        return bj_err_set(err, -ENODEV, DIR_PATH " has no values any more");
    return r < 0 ? r : stale;
}

static int cray_read(void *meter, struct bj_meter_sample *out,
                     struct bj_err *err)
{
    struct bj_cray_now now = {.usec = bj_clock_boot_usec()};
    return bj_cray_read(meter, &now, out, err);
}

static void cray_close(void *meter)
{
    struct cray *m = meter;
    if (!m)
        return;
    drop_files(m);
    close_fd(&m->dir);
    free(m);
}

static int open_dir(const struct bj_meter_env *env)
{
    bj_autoclose int root = bj_dir_open(AT_FDCWD, env->sysfs);
    return root < 0 ? root : bj_dir_open(root, DIR_PATH);
}

static int cray_open(const struct bj_meter_env *env, void **ret,
                     struct bj_err *err)
{
    struct cray *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "cray");
    for (size_t i = 0; i < MARKS; i++)
        m->mark_fd[i] = -ENOENT;
    m->stop = env->stop;
    m->dir = open_dir(env);
    int r = m->dir < 0 ? m->dir : cray_search(m, err);
    if (m->dir < 0)
        r = bj_err_set(err, r == -ENOENT ? -ENODEV : r, "open " DIR_PATH);
    else if (r == 0 && m->n == 0)
        r = bj_err_set(err, -ENODEV, DIR_PATH " has no meters");
    if (r == 0)
        r = read_marks(m, m->mark, err);
    if (r < 0)
        cray_close(m);
    else
        *ret = m;
    return r;
}

static bool cray_present(const struct bj_meter_env *env)
{
    bj_autoclose int dir = open_dir(env);
    return dir >= 0;
}

const struct bj_meter_kind bj_meter_cray = {
    .name = "cray",
    .present = cray_present,
    .open = cray_open,
    .read = cray_read,
    .close = cray_close,
    .reads = "`/sys/cray/pm_counters`",
    .reports =
        "`node` NODE (GPUs included), `cpu` CPU, `memory` DRAM, `accelN` GPU",
};
