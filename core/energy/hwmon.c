/* Power and energy sensors of the kernel's hardware monitors: ACPI power
 * meters, the modules of NVIDIA Grace, and other chips as parts.
 *
 * Sources: kernel hwmon/sysfs-interface.rst, hwmon/acpi_power_meter.rst,
 * ABI/testing/sysfs-class-hwmon; NVIDIA Grace performance tuning guide. */
#include "base/file.h"
#include "core/energy/attr.h"
#include "core/energy/meter.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Finding the chips of /sys/class/hwmon.  Internal to hwmon.c. */

enum { BJ_HWMON_CHANNELS = 64 }; /* maximum number for a chip and kind */

struct bj_hwmon_chip {
    unsigned number; /* of hwmonN, which changes from boot to boot */
    int dir;         /* directory of its attributes; the caller closes it */
    char name[BJ_ZONE_NAME];   /* of the driver; "chip" if it has none */
    char device[BJ_ZONE_NAME]; /* the last part of the device's path, or
                                  hwmonN */
};

/* List the numbers of channels with an attribute ("power", "_input").  Returns
 * their number, or -errno. */
static int hwmon_channels(int dir, const char *what, const char *end,
                          unsigned ret[BJ_HWMON_CHANNELS])
{
    return bj_attr_numbers(dir, what, end, 10, ret, BJ_HWMON_CHANNELS);
}

/* Whether it has attributes of power or energy: 1, 0, or -errno. */
static int hwmon_has_sensors(int dir)
{
    static const char *const sensors[][2] = {
        {"power", "_average"}, {"power", "_input"}, {"energy", "_input"}};
    unsigned ignored[BJ_HWMON_CHANNELS];
    for (size_t i = 0; i < sizeof(sensors) / sizeof(sensors[0]); i++) {
        int n = hwmon_channels(dir, sensors[i][0], sensors[i][1], ignored);
        if (n != 0)
            return n < 0 ? n : 1;
    }
    return 0;
}

static bool is_graphics(const char *name)
{
    static const char *const names[] = {"amdgpu", "radeon", "nouveau", "i915",
                                        "xe"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void read_name(int dir, const char *file, char dst[BJ_ZONE_NAME])
{
    char buf[BJ_ATTR_CAP];
    struct bj_slice text = {0};
    if (bj_attr_text(dir, file, buf, &text, NULL) < 0)
        text.n = 0;
    bj_zone_name(dst, text);
}

static void read_device(int dir, unsigned number, char dst[BJ_ZONE_NAME])
{
    char path[512], name[32];
    ssize_t n = readlinkat(dir, "device", path, sizeof(path));
    snprintf(name, sizeof(name), "hwmon%u", number);
    struct bj_slice text = bj_slice_str(name);
    if (n > 0) {
        text = (struct bj_slice){path, (size_t)n};
        const char *slash = memrchr(path, '/', (size_t)n);
        if (slash)
            text =
                (struct bj_slice){slash + 1, (size_t)(path + n - (slash + 1))};
    }
    bj_zone_name(dst, text);
}

/* Some drivers, such as ACPI's, have their attributes in the directory of the
 * device, not of the chip; the name may be in either. */
static int hwmon_chip_open(int class_dir, unsigned number,
                           struct bj_hwmon_chip *ret)
{
    char name[32];
    snprintf(name, sizeof(name), "hwmon%u", number);
    bj_autoclose int dir = bj_dir_open(class_dir, name);
    if (dir < 0)
        return dir;
    ret->number = number;
    read_device(dir, number, ret->device);
    read_name(dir, "name", ret->name);
    if (ret->name[0] == '\0')
        read_name(dir, "device/name", ret->name);
    if (ret->name[0] == '\0')
        snprintf(ret->name, sizeof(ret->name), "chip");
    if (is_graphics(ret->name))
        return -ENODEV;
    int here = hwmon_has_sensors(dir);
    if (here < 0)
        return here;
    ret->dir = bj_dir_open(dir, here ? "." : "device");
    return ret->dir < 0 ? ret->dir : 0;
}

#define CLASS "class/hwmon"

enum {
    SEARCH_READS = 12, /* reads between two searches for chips */
    CHIPS = 256,
};

/* More than the power of any node: some interfaces report 0xffff W or
 * 0xffffffff mW for unknown. */
static const uint64_t implausible_uw = 50000000000;

/* The place of a sensor, from its label. */
enum site { UNKNOWN, ACPI, MODULE, SOCKET, CORES, SYSIO };

struct channel {
    int fd; /* or -errno of open(2) */
    bool energy;
    enum site site;
    unsigned number;              /* of the socket */
    char file[48];                /* "hwmon3/power1_average" */
    struct bj_zone_sample sample; /* constant values */
};

struct hwmon {
    int root; /* of sysfs */
    unsigned reads;
    bool search;
    size_t n;
    struct channel channel[BJ_ZONES_MAX];
};

/* --- channels ------------------------------------------------------------- */

/* "Module Power Socket 0": the module contains Grace, Hopper and more; Grace is
 * the processor with its memory; the two others are parts of Grace. */
static enum site site_of(const struct bj_hwmon_chip *c, struct bj_slice label,
                         unsigned *socket)
{
    static const struct {
        struct bj_slice start;
        enum site site;
    } sites[] = {
        {{"Module Power Socket ", 20}, MODULE},
        {{"Grace Power Socket ", 19}, SOCKET},
        {{"CPU Power Socket ", 17}, CORES},
        {{"SysIO Power Socket ", 19}, SYSIO},
    };
    if (strcmp(c->name, "power_meter") != 0)
        return UNKNOWN;
    for (size_t i = 0; i < sizeof(sites) / sizeof(sites[0]); i++) {
        uint64_t v;
        if (!bj_slice_starts(label, sites[i].start))
            continue;
        label.p += sites[i].start.n;
        label.n -= sites[i].start.n;
        if (bj_slice_u64(label, &v) < 0 || v > 255)
            break;
        *socket = (unsigned)v;
        return sites[i].site;
    }
    return ACPI;
}

static bool hwmon_name_taken(const struct hwmon *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->channel[i].sample.name, name) == 0)
            return true;
    return false;
}

/* "ina226-3-0040.power1"; sensors of Grace are named by their label alone.  A
 * duplicate name gets its chip's number. */
static void name_channel(const struct hwmon *m, struct channel *ch,
                         const struct bj_hwmon_chip *c, struct bj_slice label)
{
    char text[3 * BJ_ATTR_CAP];
    if (ch->site > ACPI)
        snprintf(text, sizeof(text), "%.*s", (int)label.n, label.p);
    else
        snprintf(text, sizeof(text), "%s-%s.%.*s", c->name, c->device,
                 (int)label.n, label.p);
    bj_zone_init(&ch->sample, text, BJ_ZONE_PART);
    if (!hwmon_name_taken(m, ch->sample.name))
        return;
    snprintf(text, sizeof(text), "%.24s-%u.%.15s", c->name, c->number,
             ch->file + strcspn(ch->file, "/") + 1);
    bj_zone_name(ch->sample.name, bj_slice_str(text));
}

/* The label of a channel from the chip or the firmware, else its name in the
 * interface. */
static struct bj_slice label_of(int dir, const char *channel,
                                char buf[BJ_ATTR_CAP])
{
    static const char *const ends[] = {"label", "oem_info"};
    for (size_t i = 0; i < 2; i++) {
        char file[64];
        struct bj_slice text;
        snprintf(file, sizeof(file), "%s_%s", channel, ends[i]);
        if (bj_attr_text(dir, file, buf, &text, NULL) == 0 && text.n > 0)
            return text;
    }
    return bj_slice_str(channel);
}

/* amd_energy has a counter for every core. */
static bool is_wanted(const struct bj_hwmon_chip *c, const char *channel,
                      struct bj_slice label)
{
    char file[64];
    snprintf(file, sizeof(file), "%s_enable", channel);
    return bj_attr_maybe(c->dir, file) != 0 &&
           !bj_slice_starts(label, BJ_SLICE("Ecore"));
}

static uint64_t power_cap(int dir, const char *channel)
{
    char file[64];
    snprintf(file, sizeof(file), "%s_cap", channel);
    uint64_t uw = bj_attr_maybe(dir, file);
    return uw == 0 || uw > implausible_uw ? BJ_ABSENT : uw;
}

/* "power", 1, "_average" */
static void add_channel(struct hwmon *m, const struct bj_hwmon_chip *c,
                        const char *what, unsigned k, const char *end)
{
    char channel[32], file[64], buf[BJ_ATTR_CAP];
    if (m->n == BJ_ZONES_MAX)
        return;
    struct channel *ch = &m->channel[m->n];
    snprintf(channel, sizeof(channel), "%s%u", what, k);
    struct bj_slice label = label_of(c->dir, channel, buf);
    if (!is_wanted(c, channel, label))
        return;
    snprintf(file, sizeof(file), "%s%s", channel, end);
    ch->fd = bj_attr_open(c->dir, file);
    if (bj_err_gone(ch->fd))
        return;
    ch->energy = what[0] == 'e';
    ch->site = site_of(c, label, &ch->number);
    snprintf(ch->file, sizeof(ch->file), "hwmon%u/%.24s", c->number, file);
    name_channel(m, ch, c, label);
    if (!ch->energy)
        ch->sample.limit_uw = power_cap(c->dir, channel);
    m->n++;
}

static bool contains(const unsigned *list, int n, unsigned v)
{
    for (int i = 0; i < n; i++)
        if (list[i] == v)
            return true;
    return false;
}

/* An average covers all time between two readings, so it is preferred to the
 * current level. */
static int add_chip(struct hwmon *m, const struct bj_hwmon_chip *c)
{
    unsigned average[BJ_HWMON_CHANNELS], input[BJ_HWMON_CHANNELS],
        energy[BJ_HWMON_CHANNELS];
    int na = hwmon_channels(c->dir, "power", "_average", average);
    int ni = hwmon_channels(c->dir, "power", "_input", input);
    int ne = hwmon_channels(c->dir, "energy", "_input", energy);
    if (na < 0 || ni < 0 || ne < 0)
        return na < 0 ? na : ni < 0 ? ni : ne;
    for (int i = 0; i < na; i++)
        add_channel(m, c, "power", average[i], "_average");
    for (int i = 0; i < ni; i++)
        if (!contains(average, na, input[i]))
            add_channel(m, c, "power", input[i], "_input");
    for (int i = 0; i < ne; i++)
        add_channel(m, c, "energy", energy[i], "_input");
    return 0;
}

/* --- roles ---------------------------------------------------------------- */

static unsigned hwmon_count(const struct hwmon *m, enum site site)
{
    unsigned n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->channel[i].site == site;
    return n;
}

static bool has_socket(const struct hwmon *m, unsigned number)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->channel[i].site == SOCKET && m->channel[i].number == number)
            return true;
    return false;
}

/* With several ACPI meters it is unknown what each measures, so none counts as
 * the node; modules are added up to the node. */
static enum bj_zone_role role_of(const struct hwmon *m,
                                 const struct channel *ch)
{
    switch (ch->site) {
    case ACPI:
        return hwmon_count(m, ACPI) == 1 && hwmon_count(m, MODULE) == 0
                   ? BJ_ZONE_NODE
                   : BJ_ZONE_PART;
    case MODULE:
        return BJ_ZONE_PLATFORM;
    case SOCKET:
        return BJ_ZONE_CPU;
    case CORES:
        return has_socket(m, ch->number) ? BJ_ZONE_PART : BJ_ZONE_CPU;
    default:
        return BJ_ZONE_PART;
    }
}

static void drop_channels(struct hwmon *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->channel[i].fd >= 0)
            close(m->channel[i].fd);
    m->n = 0;
}

static int hwmon_search(struct hwmon *m, struct bj_err *err)
{
    unsigned number[CHIPS];
    int fault = 0;
    m->search = false;
    drop_channels(m);
    bj_autoclose int dir = bj_dir_open(m->root, CLASS);
    int n =
        dir < 0 ? dir : bj_attr_numbers(dir, "hwmon", "", 10, number, CHIPS);
    if (n < 0)
        return bj_err_gone(n) ? 0 : bj_err_set(err, n, "list " CLASS);
    for (int i = 0; i < n; i++) {
        struct bj_hwmon_chip c = {0};
        int r = hwmon_chip_open(dir, number[i], &c);
        if (r == 0) {
            r = add_chip(m, &c);
            close(c.dir);
        }
        if (r < 0 && !bj_err_gone(r))
            fault = bj_err_set(err, r, CLASS "/hwmon%u", number[i]);
    }
    for (size_t i = 0; i < m->n; i++)
        m->channel[i].sample.role = role_of(m, &m->channel[i]);
    return fault;
}

/* --- reading -------------------------------------------------------------- */

/* 0 or ENODATA means no value for a node: Grace reports 0 occasionally.  A
 * component may draw no power. */
static int read_channel(const struct channel *ch, uint64_t *ret,
                        struct bj_err *err)
{
    uint64_t v = 0;
    struct bj_err e = {0};
    int r = ch->fd < 0 ? bj_err_set(&e, ch->fd, "open") : 0;
    if (r == 0)
        r = bj_attr_fd_u64(ch->fd, ch->file, &v, &e);
    if (r == -ENODATA)
        return 0;
    if (r == 0 && !ch->energy && v > implausible_uw)
        r = bj_err_set(&e, -ERANGE, "%s: %llu uW", ch->file,
                       (unsigned long long)v);
    if (r < 0)
        return bj_err_copy(err, r, &e);
    if (v > 0 || ch->energy || ch->sample.role == BJ_ZONE_PART)
        *ret = v;
    return 0;
}

static void add_zone(const struct channel *ch, uint64_t v,
                     struct bj_meter_sample *out)
{
    struct bj_zone_sample *s = bj_zone_add(out, &ch->sample);
    if (ch->energy)
        s->energy_uj = v;
    else
        s->power_uw = v;
}

static int hwmon_read(void *meter, struct bj_meter_sample *out,
                      struct bj_err *err)
{
    struct hwmon *m = meter;
    int fault = 0;
    if (++m->reads % SEARCH_READS == 0 || m->search)
        fault = hwmon_search(m, err);
    for (size_t i = 0; i < m->n; i++) {
        struct bj_err e = {0};
        uint64_t v = BJ_ABSENT;
        int r = read_channel(&m->channel[i], &v, &e);
        if (bj_err_gone(r))
            m->search = true;
        else if (r < 0)
            bj_zone_fault(&fault, err, r, &e);
        else if (v != BJ_ABSENT)
            add_zone(&m->channel[i], v, out);
    }
    if (fault == 0 && m->n == 0)
        return bj_err_set(err, -ENODEV, "the power sensors have disappeared");
    return fault;
}

static void hwmon_close(void *meter)
{
    struct hwmon *m = meter;
    if (!m)
        return;
    drop_channels(m);
    if (m->root >= 0)
        close(m->root);
    free(m);
}

static int hwmon_open(const struct bj_meter_env *env, void **ret,
                      struct bj_err *err)
{
    struct hwmon *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "hwmon");
    m->root = bj_dir_open(AT_FDCWD, env->sysfs);
    int r = m->root < 0 ? 0 : hwmon_search(m, err);
    if (r == 0 && m->n == 0)
        r = bj_err_set(err, -ENODEV, "no hardware monitor reports power");
    if (r < 0)
        hwmon_close(m);
    else
        *ret = m;
    return r;
}

static bool hwmon_present(const struct bj_meter_env *env)
{
    unsigned number[CHIPS];
    bool any = false;
    bj_autoclose int root = bj_dir_open(AT_FDCWD, env->sysfs);
    bj_autoclose int dir = root < 0 ? -1 : bj_dir_open(root, CLASS);
    int n = dir < 0 ? 0 : bj_attr_numbers(dir, "hwmon", "", 10, number, CHIPS);
    for (int i = 0; i < n && !any; i++) {
        struct bj_hwmon_chip c = {0};
        if (hwmon_chip_open(dir, number[i], &c) < 0)
            continue;
        any = hwmon_has_sensors(c.dir) > 0;
        close(c.dir);
    }
    return any;
}

const struct bj_meter_kind bj_meter_hwmon = {
    .name = "hwmon",
    .slow = true, /* ACPI values come from firmware */
    .present = hwmon_present,
    .open = hwmon_open,
    .read = hwmon_read,
    .close = hwmon_close,
    .reads = "`/sys/class/hwmon`",
    .reports =
        "one ACPI power meter: NODE; Grace: see below; other chips: parts",
};
