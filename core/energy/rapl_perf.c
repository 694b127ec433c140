#include "core/energy/rapl_perf.h"

#include "base/absent.h"
#include "base/file.h"
#include "core/energy/attr.h"
#include "core/energy/meter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PLACES = 64 };

/* A decimal number as 0.d0d1d2... times ten to the power of exponent, without
 * zeros at its ends. */
struct decimal {
    size_t n;
    unsigned char d[PLACES];
    int exponent;
};

static bool take_exponent(struct bj_slice *s, int *exponent)
{
    uint64_t v;
    if (s->n < 2 || (s->p[0] != 'e' && s->p[0] != 'E'))
        return s->n == 0;
    size_t sign = s->p[1] == '-' || s->p[1] == '+';
    bool minus = s->p[1] == '-';
    struct bj_slice rest = {s->p + 1 + sign, s->n - 1 - sign};
    if (bj_slice_u64(rest, &v) < 0 || v > PLACES)
        return false;
    *exponent += minus ? -(int)v : (int)v;
    return true;
}

static bool decimal_of(struct bj_slice s, struct decimal *ret)
{
    struct decimal x = {0};
    bool point = false, any = false;
    for (; s.n > 0; s.p++, s.n--) {
        unsigned d = (unsigned char)s.p[0] - (unsigned)'0';
        if (s.p[0] == '.' && !point) {
            point = true;
            continue;
        }
        if (d > 9)
            break;
        any = true;
        if (x.n == PLACES)
            return false;
        if (x.n > 0 || d > 0) {
            x.d[x.n++] = (unsigned char)d;
            x.exponent += !point;
        } else {
            x.exponent -= point;
        }
    }
    while (x.n > 0 && x.d[x.n - 1] == 0)
        x.n--;
    *ret = x;
    return any && x.n > 0 && take_exponent(&s, &ret->exponent);
}

/* Double 0.d0d1d2...; returns the carry before the point. */
static unsigned double_it(unsigned char *d, size_t n)
{
    unsigned carry = 0;
    while (n-- > 0) {
        unsigned v = 2u * d[n] + carry;
        d[n] = (unsigned char)(v % 10);
        carry = v / 10;
    }
    return carry;
}

/* 2^-k becomes 1 after k doublings. */
int bj_rapl_scale(struct bj_slice text, unsigned *ret_shift)
{
    struct decimal x;
    unsigned char d[2 * PLACES] = {0};
    static const unsigned char zero[2 * PLACES];
    if (!decimal_of(text, &x))
        return -EBADMSG;
    if (x.exponent == 1 && x.n == 1 && x.d[0] == 1) {
        *ret_shift = 0;
        return 0;
    }
    if (x.exponent > 0 || x.exponent < -PLACES)
        return -EBADMSG;
    memcpy(d + -x.exponent, x.d, x.n);
    for (unsigned k = 1; k <= BJ_RAPL_SHIFT_MAX; k++) {
        if (double_it(d, sizeof(d)) == 0)
            continue;
        if (memcmp(d, zero, sizeof(d)) != 0)
            return -EBADMSG;
        *ret_shift = k;
        return 0;
    }
    return -EBADMSG;
}

/* The remainder times a million fits into 64 bits, since 2^44 * 10^6 does.  The
 * whole count is converted each time, so rounding errors do not add up. */
int bj_rapl_uj(uint64_t count, unsigned shift, uint64_t *ret)
{
    uint64_t joules = count >> shift, uj;
    uint64_t rest = count & ((UINT64_C(1) << shift) - 1);
    if (__builtin_mul_overflow(joules, UINT64_C(1000000), &uj) ||
        __builtin_add_overflow(uj, rest * 1000000 >> shift, &uj) ||
        uj == BJ_ABSENT)
        return -ERANGE;
    *ret = uj;
    return 0;
}

/* --- the meter ------------------------------------------------------------*/

/* RAPL by the perf PMU "power", for machines where the files of powercap cannot
 * be read.  Counts have 64 bits and begin at 0 when an event is opened: they
 * never wrap.
 *
 * Sources: kernel arch/x86/events/rapl.c, perf_event_open(2),
 * ABI/testing/sysfs-bus-event_source-devices-events. */

#define PMU "bus/event_source/devices/power"

enum {
    SEARCH_READS = 12, /* reads between two checks of the CPUs to use */
    CPUS_MAX = 32,     /* packages or dies */
    CPU_IDS = 8192,
};

static const struct source {
    const char *event, *part; /* the name of a zone is "package-0" and part */
    enum bj_zone_role role;
} sources[] = {
    {"energy-pkg", "", BJ_ZONE_CPU},
    {"energy-ram", ".dram", BJ_ZONE_DRAM},
    {"energy-cores", ".core", BJ_ZONE_PART},
    {"energy-gpu", ".uncore", BJ_ZONE_PART},
    {"energy-psys", NULL, BJ_ZONE_PLATFORM},
};
enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };

struct event {
    bool exists;
    uint64_t config;
    unsigned shift;
};

/* A CPU on which a package, or die, is counted. */
struct place {
    unsigned cpu, package, die;
};

struct zone {
    int fd; /* or -errno of open(2) */
    unsigned shift;
    struct bj_zone_sample sample; /* restarted: not read since it was opened */
};

struct perf {
    struct bj_perf_opener opener;
    int root; /* of sysfs */
    uint32_t type;
    struct event event[SOURCES];
    unsigned reads;
    bool search;
    size_t n;
    struct zone zone[BJ_ZONES_MAX];
};

/* --- the PMU -------------------------------------------------------------- */

/* "event=0x02" */
static int config_of(struct bj_slice text, uint64_t *ret)
{
    const struct bj_slice start = BJ_SLICE("event=0x");
    static const char digits[] = "0123456789abcdef";
    uint64_t v = 0;
    if (!bj_slice_starts(text, start) || text.n == start.n ||
        text.n > start.n + 8)
        return -EBADMSG;
    for (size_t i = start.n; i < text.n; i++) {
        const char *at = memchr(digits, text.p[i], 16);
        if (!at)
            return -EBADMSG;
        v = v * 16 + (uint64_t)(at - digits);
    }
    *ret = v;
    return 0;
}

/* Read an attribute of an event; -ENOENT: the event does not have it. */
static int event_text(const struct perf *m, const char *event, const char *what,
                      char buf[BJ_ATTR_CAP], struct bj_slice *ret)
{
    char path[128];
    snprintf(path, sizeof(path), PMU "/events/%s%s", event, what);
    return bj_attr_text(m->root, path, buf, ret, NULL);
}

static int read_event(const struct perf *m, const char *name, struct event *ret,
                      struct bj_err *err)
{
    char buf[BJ_ATTR_CAP];
    struct bj_slice text;
    int r = event_text(m, name, "", buf, &text);
    if (r == -ENOENT)
        return 0;
    if (r == 0)
        r = config_of(text, &ret->config);
    if (r < 0)
        return bj_err_set(err, r, "perf PMU 'power': event %s", name);
    r = event_text(m, name, ".scale", buf, &text);
    if (r < 0 || bj_rapl_scale(text, &ret->shift) < 0)
        return bj_err_set(err, -EBADMSG, "perf PMU 'power': scale of %s", name);
    r = event_text(m, name, ".unit", buf, &text);
    if (r < 0 ? r != -ENOENT : !bj_slice_eq(text, BJ_SLICE("Joules")))
        return bj_err_set(err, -EBADMSG, "perf PMU 'power': unit of %s", name);
    ret->exists = true;
    return 0;
}

/* A virtual machine may have a PMU without a package, whose counts never
 * change. */
static int read_pmu(struct perf *m, struct bj_err *err)
{
    uint64_t type;
    int r = bj_attr_u64(m->root, PMU "/type", &type, err);
    if (r == -ENOENT)
        return bj_err_set(err, -ENODEV, "there is no perf PMU 'power'");
    if (r == 0 && type > UINT32_MAX)
        r = bj_err_set(err, -EBADMSG, PMU "/type: bad number");
    if (r < 0)
        return r;
    m->type = (uint32_t)type;
    for (size_t i = 0; i < SOURCES && r == 0; i++)
        r = read_event(m, sources[i].event, &m->event[i], err);
    if (r == 0 && !m->event[0].exists)
        r = bj_err_set(err, -ENODEV, "the perf PMU 'power' has no energy-pkg");
    return r;
}

/* --- CPUs ----------------------------------------------------------------- */

static int read_place(const struct perf *m, unsigned cpu, struct place *ret,
                      struct bj_err *err)
{
    char path[96];
    uint64_t package, die;
    snprintf(path, sizeof(path),
             "devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
    int r = bj_attr_u64(m->root, path, &package, err);
    if (r < 0)
        return r;
    snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/topology/die_id",
             cpu);
    die = bj_attr_maybe(m->root, path);
    if (package > CPU_IDS)
        return bj_err_set(err, -EBADMSG, "CPU %u is in package %llu", cpu,
                          (unsigned long long)package);
    *ret = (struct place){cpu, (unsigned)package,
                          die > CPU_IDS ? 0 : (unsigned)die};
    return 0;
}

/* Read the CPUs that the PMU lists for counting: one of each package, or die.
 * Returns their number. */
static int read_places(const struct perf *m, struct place place[CPUS_MAX],
                       struct bj_err *err)
{
    char buf[1024];
    unsigned char set[CPU_IDS / 8] = {0};
    struct bj_slice text;
    int n = 0;
    int r = bj_file_read(m->root, PMU "/cpumask", buf, sizeof(buf), &text, err);
    if (r < 0)
        return r;
    if (bj_slice_cpulist(bj_slice_trim(text), CPU_IDS, set) < 0)
        return bj_err_set(err, -EBADMSG, PMU "/cpumask is not a list of CPUs");
    for (unsigned cpu = 0; cpu < CPU_IDS && n < CPUS_MAX; cpu++) {
        if (!(set[cpu / 8] & 1u << cpu % 8))
            continue;
        struct bj_err e;
        r = read_place(m, cpu, &place[n], &e);
        if (r < 0 && !bj_err_gone(r)) {
            if (err)
                *err = e;
            return r;
        }
        n += r == 0;
    }
    return n;
}

/* Make the name of a zone, as in powercap.  Dies are zones if a package has
 * several; the platform is a zone of the first CPU of each package.  False: no
 * such zone. */
static bool name_zone(const struct place *place, int n, int at,
                      const struct source *source, char text[64])
{
    unsigned package = place[at].package;
    bool dies = false;
    for (int i = 0; i < n; i++) {
        if (i == at || place[i].package != package)
            continue;
        dies = true;
        if (i < at && !source->part)
            return false;
    }
    if (!source->part && package == 0)
        snprintf(text, 64, "psys");
    else if (!source->part)
        snprintf(text, 64, "psys-%u", package);
    else if (dies)
        snprintf(text, 64, "package-%u-die-%u%s", package, place[at].die,
                 source->part);
    else
        snprintf(text, 64, "package-%u%s", package, source->part);
    return true;
}

/* --- zones ---------------------------------------------------------------- */

static int open_event(void *ctx, struct perf_event_attr *attr, int cpu)
{
    (void)ctx;
    long fd =
        syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

/* Keep the zone of that name from the old table, whose event continues to count
 * even when the kernel moves it to another CPU of the package; else open a new
 * one. */
static int keep_or_open(const struct perf *m, struct zone *old, size_t nold,
                        struct zone *z, uint64_t config, unsigned cpu)
{
    for (size_t i = 0; i < nold; i++) {
        int fd = old[i].fd;
        if (fd < 0 || strcmp(old[i].sample.name, z->sample.name) != 0)
            continue;
        old[i].fd = -1;
        z->sample.restarted = old[i].sample.restarted;
        return fd;
    }
    z->sample.restarted = true;
    struct perf_event_attr attr = {
        .type = m->type, .size = sizeof(attr), .config = config};
    return m->opener.open(m->opener.ctx, &attr, (int)cpu);
}

static void add_zones(struct perf *m, struct zone *old, size_t nold,
                      const struct place *place, int n, int at)
{
    for (size_t i = 0; i < SOURCES && m->n < BJ_ZONES_MAX; i++) {
        char name[64];
        struct zone *z = &m->zone[m->n];
        if (!m->event[i].exists || !name_zone(place, n, at, &sources[i], name))
            continue;
        z->shift = m->event[i].shift;
        bj_zone_init(&z->sample, name, sources[i].role);
        z->fd =
            keep_or_open(m, old, nold, z, m->event[i].config, place[at].cpu);
        m->n += !bj_err_gone(z->fd);
    }
}

static void close_zones(struct zone *zone, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (zone[i].fd >= 0)
            close(zone[i].fd);
}

static int rapl_perf_search(struct perf *m, struct bj_err *err)
{
    struct place place[CPUS_MAX];
    struct zone old[BJ_ZONES_MAX];
    size_t nold = m->n;
    int n = read_places(m, place, err);
    if (n < 0)
        return n;
    memcpy(old, m->zone, nold * sizeof(*old));
    m->n = 0;
    for (int i = 0; i < n; i++)
        add_zones(m, old, nold, place, n, i);
    close_zones(old, nold);
    return 0;
}

/* --- reading -------------------------------------------------------------- */

static int denied(const struct zone *z, struct bj_err *err)
{
    if (z->fd != -EACCES && z->fd != -EPERM)
        return bj_err_set(err, z->fd, "open the perf event of %s",
                          z->sample.name);
    return bj_err_set(err, z->fd,
                      "the perf event of %s needs CAP_PERFMON (before Linux "
                      "5.8 CAP_SYS_ADMIN), or kernel.perf_event_paranoid of 0 "
                      "or less",
                      z->sample.name);
}

/* An event ends when its CPUs have gone: read(2) then returns 0. */
static int read_zone(struct zone *z, uint64_t *ret, struct bj_err *err)
{
    uint64_t count;
    if (z->fd < 0)
        return denied(z, err);
    ssize_t n = read(z->fd, &count, sizeof(count));
    int r = n < 0 ? -errno : n == 0 ? -ENODEV : 0;
    if (n > 0 && (size_t)n != sizeof(count))
        r = -EIO;
    if (r == 0)
        r = bj_rapl_uj(count, z->shift, ret);
    if (bj_err_gone(r)) {
        close(z->fd);
        z->fd = r;
    }
    return r < 0
               ? bj_err_set(err, r, "read the perf event of %s", z->sample.name)
               : 0;
}

static void add_count(struct zone *z, uint64_t uj, struct bj_meter_sample *out)
{
    bj_zone_add(out, &z->sample)->energy_uj = uj;
    z->sample.restarted = false;
}

static int perf_read(void *meter, struct bj_meter_sample *out,
                     struct bj_err *err)
{
    struct perf *m = meter;
    int fault = 0;
    if (++m->reads % SEARCH_READS == 0 || m->search)
        fault = rapl_perf_search(m, err);
    m->search = false;
    for (size_t i = 0; i < m->n; i++) {
        struct bj_err e = {0};
        uint64_t uj = 0;
        int r = read_zone(&m->zone[i], &uj, &e);
        if (bj_err_gone(r))
            m->search = true;
        else if (r < 0)
            bj_zone_fault(&fault, err, r, &e);
        else if (m->zone[i].sample.role != BJ_ZONE_PLATFORM || uj > 0)
            add_count(&m->zone[i], uj, out);
    }
    if (fault == 0 && out->n == 0)
        return bj_err_set(err, -ENODEV, "all events of 'power' have ended");
    return fault;
}

static void perf_close(void *meter)
{
    struct perf *m = meter;
    if (!m)
        return;
    close_zones(m->zone, m->n);
    if (m->root >= 0)
        close(m->root);
    free(m);
}

static int rapl_perf_usable(const struct perf *m, struct bj_err *err)
{
    if (m->n == 0)
        return bj_err_set(err, -ENODEV, "the perf PMU 'power' has no CPUs");
    for (size_t i = 0; i < m->n; i++)
        if (m->zone[i].fd >= 0)
            return 0;
    return denied(&m->zone[0], err);
}

int bj_perf_open(const struct bj_meter_env *env,
                 const struct bj_perf_opener *opener, void **ret,
                 struct bj_err *err)
{
    struct perf *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "rapl_perf");
    m->opener = *opener;
    m->root = bj_dir_open(AT_FDCWD, env->sysfs);
    int r =
        m->root < 0 ? bj_err_set(err, -ENODEV, "no sysfs") : read_pmu(m, err);
    if (r == 0)
        r = rapl_perf_search(m, err);
    if (r == 0)
        r = rapl_perf_usable(m, err);
    if (r < 0)
        perf_close(m);
    else
        *ret = m;
    return r;
}

static int perf_open(const struct bj_meter_env *env, void **ret,
                     struct bj_err *err)
{
    struct bj_perf_opener opener = {open_event, NULL};
    return bj_perf_open(env, &opener, ret, err);
}

static bool perf_present(const struct bj_meter_env *env)
{
    bj_autoclose int root = bj_dir_open(AT_FDCWD, env->sysfs);
    return root >= 0 && faccessat(root, PMU "/events/energy-pkg", F_OK, 0) == 0;
}

const struct bj_meter_kind bj_meter_perf = {
    .name = "perf",
    .present = perf_present,
    .open = perf_open,
    .read = perf_read,
    .close = perf_close,
    .reads = "perf PMU `power`",
    .reports =
        "the same names; used where the files of `rapl` are not readable",
};
