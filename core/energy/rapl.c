/* RAPL by powercap: /sys/class/powercap/intel-rapl, which AMD uses too.
 *
 * Sources: kernel power/powercap/powercap.rst,
 * ABI/testing/sysfs-class-powercap,
 * drivers/powercap/{powercap_sys,intel_rapl_common}.c. */
#include "base/file.h"
#include "core/energy/attr.h"
#include "core/energy/meter.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SEARCH_READS = 12, /* reads between searches for limits and missed zones */
    CONSTRAINTS = 5,
    ID_CAP = 40,
};

/* The maximum power of a platform without a limit; on some machines its counter
 * includes accelerators. */
static const uint64_t psys_max_uw = 4000000000;

/* Control types.  mmio shows a package of the first one again, through another
 * interface. */
static const char *const controls[] = {"intel-rapl", "intel-rapl-mmio"};
enum { CONTROLS = 2 };

struct zone {
    int fd;                       /* of energy_uj; or -errno of open(2) */
    char id[ID_CAP];              /* "intel-rapl:0:1", the directory's name */
    struct bj_zone_sample sample; /* constant values */
};

struct rapl {
    int root; /* of sysfs */
    struct stat seen[CONTROLS];
    unsigned searches; /* number of reads that search for zones first */
    unsigned reads;
    int fault; /* of the last search, except for zones that have gone */
    size_t n;
    struct zone zone[BJ_ZONES_MAX];
};

static void drop_zones(struct rapl *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->zone[i].fd >= 0)
            close(m->zone[i].fd);
    m->n = 0;
}

static const char *control_path(size_t control, char path[64])
{
    snprintf(path, 64, "class/powercap/%s", controls[control]);
    return path;
}

/* --- kinds of zones ------------------------------------------------------- */

/* A package includes core and uncore, but on servers not its dram.  psys is the
 * platform: it includes all packages and dram, so it is never added to them.
 * Unknown zones are shown but not added. */
static enum bj_zone_role role_of(struct bj_slice name)
{
    static const struct {
        struct bj_slice start;
        enum bj_zone_role role;
    } roles[] = {
        {{"package-", 8}, BJ_ZONE_CPU},
        {{"dram", 4}, BJ_ZONE_DRAM},
        {{"psys", 4}, BJ_ZONE_PLATFORM},
    };
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        if (bj_slice_starts(name, roles[i].start))
            return roles[i].role;
    return BJ_ZONE_PART;
}

/* "constraint_K_what" of a zone; absent if it is missing or 0. */
static uint64_t constraint(int dir, unsigned k, const char *what)
{
    char name[64];
    snprintf(name, sizeof(name), "constraint_%u_%s", k, what);
    uint64_t v = bj_attr_maybe(dir, name);
    return v == 0 ? BJ_ABSENT : v;
}

static bool is_long_term(int dir, unsigned k)
{
    char name[64], buf[BJ_ATTR_CAP];
    struct bj_slice text;
    snprintf(name, sizeof(name), "constraint_%u_name", k);
    return bj_attr_text(dir, name, buf, &text, NULL) == 0 &&
           bj_slice_eq(text, BJ_SLICE("long_term"));
}

/* Read the active power limit and the maximum power.  enabled refers to the
 * limits only: the counter of a zone always runs, and AMD's zones are never
 * enabled.  For short times a zone can draw more than the max_power_uw of its
 * long term, so the limits are considered too. */
static void learn_power(int dir, struct bj_zone_sample *s)
{
    bool enabled = bj_attr_maybe(dir, "enabled") == 1;
    uint64_t sum = 0, top = 0;
    for (unsigned k = 0; k < CONSTRAINTS; k++) {
        uint64_t limit = constraint(dir, k, "power_limit_uw");
        uint64_t max = constraint(dir, k, "max_power_uw");
        if (max != BJ_ABSENT && max < UINT64_MAX / CONSTRAINTS)
            sum += max;
        if (limit == BJ_ABSENT)
            continue;
        top = limit > top ? limit : top;
        if (enabled && is_long_term(dir, k))
            s->limit_uw = limit;
    }
    if (sum > 0)
        s->max_uw = sum > top ? sum : top;
    else if (s->role == BJ_ZONE_PLATFORM)
        s->max_uw = psys_max_uw;
}

static bool rapl_name_taken(const struct rapl *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->zone[i].sample.name, name) == 0)
            return true;
    return false;
}

/* "package-0", below it "package-0.dram"; the end of the directory's name is
 * appended to a name that exists already.  If two drivers find the same
 * package, the second one and all its zones are shown but not added. */
static void name_zone(const struct rapl *m, struct zone *z,
                      struct bj_slice name, const struct zone *parent)
{
    char text[2 * BJ_ATTR_CAP];
    snprintf(text, sizeof(text), "%s%s%.*s", parent ? parent->sample.name : "",
             parent ? "." : "", (int)name.n, name.p);
    bj_zone_init(&z->sample, text, role_of(name));
    if (parent && parent->sample.role == BJ_ZONE_PART)
        z->sample.role = BJ_ZONE_PART;
    if (!rapl_name_taken(m, z->sample.name))
        return;
    if (z->sample.role != BJ_ZONE_PLATFORM)
        z->sample.role = BJ_ZONE_PART;
    snprintf(text, sizeof(text), "%.*s.%s", (int)name.n, name.p,
             strchr(z->id, ':') + 1);
    bj_zone_name(z->sample.name, bj_slice_str(text));
}

/* --- search for zones ----------------------------------------------------- */

/* Add the zone of directory dir to the table.  -EEXIST: another control type
 * has it; -ENOENT: it is being removed, or there is no room. */
static int take_zone(struct rapl *m, int dir, const char *id, size_t control,
                     const struct zone *parent)
{
    char buf[BJ_ATTR_CAP];
    struct bj_slice name;
    if (m->n == BJ_ZONES_MAX || bj_attr_text(dir, "name", buf, &name, NULL) < 0)
        return -ENOENT;
    struct zone *z = &m->zone[m->n];
    memcpy(z->id, id, ID_CAP);
    if (control > 0 && !parent) {
        bj_zone_init(&z->sample, "", BJ_ZONE_PART);
        bj_zone_name(z->sample.name, name);
        if (rapl_name_taken(m, z->sample.name))
            return -EEXIST;
    }
    name_zone(m, z, name, parent);
    z->fd = bj_attr_open(dir, "energy_uj");
    if (z->fd == -ENOENT)
        return -ENOENT;
    uint64_t range = bj_attr_maybe(dir, "max_energy_range_uj");
    z->sample.range_uj = range == 0 ? BJ_ABSENT : range;
    learn_power(dir, &z->sample);
    m->n++;
    return 0;
}

/* Keep an error of the search, unless it means that a file has gone. */
static void keep_fault(struct rapl *m, int r)
{
    if (r < 0 && !bj_err_gone(r) && m->fault == 0)
        m->fault = r;
}

/* Add the zone "ID:k" in up, and the zones in it. */
static void add_zone(struct rapl *m, int up, const char *up_id, unsigned k,
                     size_t control, const struct zone *parent)
{
    char id[ID_CAP], prefix[ID_CAP + 1];
    unsigned sub[BJ_ZONES_MAX];
    snprintf(id, sizeof(id), "%.30s:%x", up_id, k);
    bj_autoclose int dir = bj_dir_open(up, id);
    keep_fault(m, dir);
    if (dir < 0 || take_zone(m, dir, id, control, parent) < 0 || parent)
        return;
    const struct zone *zone = &m->zone[m->n - 1];
    snprintf(prefix, sizeof(prefix), "%s:", id);
    int n = bj_attr_numbers(dir, prefix, "", 16, sub, BJ_ZONES_MAX);
    keep_fault(m, n);
    for (int i = 0; i < n; i++)
        add_zone(m, dir, id, sub[i], control, zone);
}

/* Zone numbers are hexadecimal. (powercap_register_zone) */
static void search_control(struct rapl *m, size_t control)
{
    char path[64], prefix[ID_CAP];
    unsigned top[BJ_ZONES_MAX];
    bj_autoclose int dir = bj_dir_open(m->root, control_path(control, path));
    keep_fault(m, dir);
    if (dir < 0)
        return;
    snprintf(prefix, sizeof(prefix), "%s:", controls[control]);
    int n = bj_attr_numbers(dir, prefix, "", 16, top, BJ_ZONES_MAX);
    keep_fault(m, n);
    for (int i = 0; i < n; i++)
        add_zone(m, dir, controls[control], top[i], control, NULL);
}

static int rapl_search(struct rapl *m, struct bj_err *err)
{
    m->fault = 0;
    drop_zones(m);
    for (size_t i = 0; i < CONTROLS; i++)
        search_control(m, i);
    return m->fault ? bj_err_set(err, m->fault, "search for RAPL zones") : 0;
}

/* Have zones appeared or vanished?  The link count of a kernel directory shows
 * the number of its directories; its times may not change. */
static bool changed(struct rapl *m)
{
    bool any = false;
    for (size_t i = 0; i < CONTROLS; i++) {
        struct stat now = {0}, *old = &m->seen[i];
        char path[64];
        if (fstatat(m->root, control_path(i, path), &now, 0) < 0)
            now = (struct stat){0};
        any |= now.st_ino != old->st_ino || now.st_nlink != old->st_nlink ||
               now.st_mtim.tv_sec != old->st_mtim.tv_sec ||
               now.st_mtim.tv_nsec != old->st_mtim.tv_nsec;
        *old = now;
    }
    return any;
}

/* A package appears before its zones: the read after a change searches once
 * more. */
static int search_when_due(struct rapl *m, struct bj_err *err)
{
    if (changed(m))
        m->searches = 2;
    else if (m->searches == 0 && ++m->reads % SEARCH_READS == 0)
        m->searches = 1;
    if (m->searches == 0)
        return 0;
    m->searches--;
    return rapl_search(m, err);
}

/* --- reading -------------------------------------------------------------- */

/* Readable by root alone since Linux 5.10, because power reveals what a CPU
 * computes (CVE-2020-8694). */
static int denied(const struct zone *z, struct bj_err *err)
{
    if (z->fd != -EACCES && z->fd != -EPERM)
        return bj_err_set(err, z->fd, "open %s/energy_uj", z->id);
    return bj_err_set(err, z->fd,
                      "class/powercap/%s/energy_uj is readable only by root or "
                      "with CAP_DAC_READ_SEARCH",
                      z->id);
}

static int read_zone(const struct zone *z, uint64_t *ret, struct bj_err *err)
{
    uint64_t v;
    if (z->fd < 0)
        return denied(z, err);
    int r = bj_attr_fd_u64(z->fd, "energy_uj", &v, err);
    if (r < 0)
        return bj_err_wrap(err, r, "%s", z->id);
    if (v > z->sample.range_uj) /* absent is larger than any */
        return bj_err_set(err, -ERANGE, "%s: energy_uj is above its range",
                          z->id);
    *ret = v;
    return 0;
}

/* A psys domain that the platform does not support stays at 0. */
static bool unsupported_psys(const struct zone *z, uint64_t energy_uj)
{
    return z->sample.role == BJ_ZONE_PLATFORM && energy_uj == 0;
}

static int rapl_read(void *meter, struct bj_meter_sample *out,
                     struct bj_err *err)
{
    struct rapl *m = meter;
    int fault = search_when_due(m, err);
    for (size_t i = 0; i < m->n; i++) {
        struct bj_err e = {0};
        uint64_t v = 0;
        int r = read_zone(&m->zone[i], &v, &e);
        if (bj_err_gone(r))
            m->searches = 2;
        else if (r < 0)
            bj_zone_fault(&fault, err, r, &e);
        else if (!unsupported_psys(&m->zone[i], v))
            bj_zone_add(out, &m->zone[i].sample)->energy_uj = v;
    }
    if (fault == 0 && out->n == 0)
        return bj_err_set(err, -ENODEV,
                          "the zones of powercap have disappeared");
    return fault;
}

static void rapl_close(void *meter)
{
    struct rapl *m = meter;
    if (!m)
        return;
    drop_zones(m);
    if (m->root >= 0)
        close(m->root);
    free(m);
}

/* Whether any zone can be read; if not, err has the reason. */
static int rapl_usable(const struct rapl *m, struct bj_err *err)
{
    if (m->n == 0)
        return bj_err_set(err, -ENODEV, "powercap has no RAPL zones");
    for (size_t i = 0; i < m->n; i++)
        if (m->zone[i].fd >= 0)
            return 0;
    return denied(&m->zone[0], err);
}

static bool rapl_present(const struct bj_meter_env *env)
{
    char path[64];
    struct stat st;
    bj_autoclose int root = bj_dir_open(AT_FDCWD, env->sysfs);
    for (size_t i = 0; i < CONTROLS; i++)
        if (root >= 0 && fstatat(root, control_path(i, path), &st, 0) == 0)
            return true;
    return false;
}

static int rapl_open(const struct bj_meter_env *env, void **ret,
                     struct bj_err *err)
{
    struct rapl *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "rapl");
    m->root = bj_dir_open(AT_FDCWD, env->sysfs);
    changed(m);
    int r = m->root < 0 ? 0 : rapl_search(m, err);
    if (r == 0)
        r = rapl_usable(m, err);
    if (r < 0)
        rapl_close(m);
    else
        *ret = m;
    return r;
}

const struct bj_meter_kind bj_meter_rapl = {
    .name = "rapl",
    .present = rapl_present,
    .open = rapl_open,
    .read = rapl_read,
    .close = rapl_close,
    .reads = "`/sys/class/powercap/intel-rapl` (AMD too)",
    .reports = "`package-S`, `package-S-die-D` CPU; `....dram` DRAM; "
               "`....core`, `....uncore` parts; `psys` NODE, partial",
};
