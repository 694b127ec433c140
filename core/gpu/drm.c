/* GPUs of AMD and Intel through sysfs.
 *
 * Sources: kernel gpu/amdgpu/thermal.rst and driver-misc.rst ("GPU busy",
 * unique_id, mem_info_vram, pcie_replay_count), ras.rst,
 * ABI/testing/sysfs-driver-intel-i915-hwmon and sysfs-driver-intel-xe-hwmon,
 * hwmon/sysfs-interface.rst. */
#include "core/gpu/gpu.h"

#include "base/clock.h"
#include "base/file.h"
#include "core/energy/attr.h"
#include "core/gpu/health.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CARDS = 64,
    PPM_PERCENT = 10000,
    TEMPERATURES = 4,
    /* The driver asks the card for its errors. */
    ERRORS_USEC = 60000000
};

#define AT(member) offsetof(struct bj_gpu_use, member)

/* Files with one number, and its factor. */
struct number_file {
    const char *name;
    size_t off;
    uint64_t mul, max;
};

/* A vendor: the file that identifies compute cards; the address of a GPU inside
 * the processor, which only counts if its monitor has that file; and the files
 * with values, of the device and of its monitor.  Of two files for one field
 * the first one counts. */
struct vendor {
    const char *id, *must, *inside, *must_monitor;
    struct number_file device[6], monitor[6];
};

static const struct vendor amd = {
    .id = "0x1002",
    .must = "mem_info_vram_total",
    .device = {{"gpu_busy_percent", AT(busy_ppm), PPM_PERCENT, 100},
               {"mem_busy_percent", AT(memory_busy_ppm), PPM_PERCENT, 100},
               {"mem_info_vram_total", AT(memory_total_bytes), 1, UINT64_MAX},
               {"mem_info_vram_used", AT(memory_used_bytes), 1, UINT64_MAX},
               {"pcie_replay_count", AT(pcie_replays), 1, UINT64_MAX}},
    .monitor = {{"power1_average", AT(power_uw), 1, UINT64_MAX},
                {"power1_input", AT(power_uw), 1, UINT64_MAX},
                {"power1_cap", AT(power_limit_uw), 1, UINT64_MAX},
                {"freq1_input", AT(graphics_clock_hz), 1, UINT64_MAX},
                {"freq2_input", AT(memory_clock_hz), 1, UINT64_MAX}},
};

static const struct vendor intel = {
    .id = "0x8086",
    .inside = "0000:00:02.0", /* GPU inside a processor */
    .must_monitor = "energy1_input",
    .monitor = {{"power1_max", AT(power_limit_uw), 1, UINT64_MAX}},
};

/* Errors of the card at an address, as of a time; 0: never read. */
struct errors {
    char pci[32];
    uint64_t stamp_usec;
    uint64_t corrected, uncorrected, xgmi_corrected, xgmi_uncorrected;
};

struct drm {
    const struct vendor *vendor;
    int dir; /* class/drm */
    struct errors errors[CARDS];
};

/* --- a card ---------------------------------------------------------------*/

static int open_monitor(int card)
{
    unsigned n[4];
    char name[48];
    bj_autoclose int dir = bj_dir_open(card, "device/hwmon");
    if (dir < 0 || bj_attr_numbers(dir, "hwmon", "", 10, n, 4) < 1)
        return -ENOENT;
    snprintf(name, sizeof(name), "hwmon%u", n[0]);
    return bj_dir_open(dir, name);
}

static bool exists(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, 0) == 0;
}

/* Read the address: the last part of the target of link "device". */
static bool read_address(int card, char pci[32])
{
    char link[512];
    ssize_t n = readlinkat(card, "device", link, sizeof(link) - 1);
    if (n <= 0)
        return false;
    link[n] = '\0';
    const char *slash = strrchr(link, '/');
    bj_gpu_pci_text(slash ? slash + 1 : link, pci);
    return true;
}

/* Open a card with values to read; cards for display only have none. */
static int open_card(const struct drm *d, unsigned number, int *monitor)
{
    char name[32], buf[BJ_ATTR_CAP], path[64];
    struct bj_slice text;
    const struct vendor *v = d->vendor;
    *monitor = -1;
    snprintf(name, sizeof(name), "card%u", number);
    int card = bj_dir_open(d->dir, name);
    if (card < 0)
        return card;
    snprintf(path, sizeof(path), "device/%s", v->must ? v->must : "vendor");
    if (bj_attr_text(card, "device/vendor", buf, &text, NULL) < 0 ||
        !bj_slice_eq(text, bj_slice_str(v->id)) || !exists(card, path)) {
        close(card);
        return -ENODEV;
    }
    *monitor = open_monitor(card);
    if (v->inside && read_address(card, path) && strcmp(path, v->inside) == 0 &&
        (*monitor < 0 || !exists(*monitor, v->must_monitor))) {
        bj_close_fd(monitor);
        *monitor = -1;
        close(card);
        return -ENODEV;
    }
    return card;
}

static uint64_t render_node(int card)
{
    unsigned n;
    bj_autoclose int dir = bj_dir_open(card, "device/drm");
    return dir >= 0 && bj_attr_numbers(dir, "renderD", "", 10, &n, 1) == 1
               ? n
               : BJ_ABSENT;
}

static void read_identity(int card, struct bj_gpu *g)
{
    char buf[BJ_ATTR_CAP];
    struct bj_slice text;
    read_address(card, g->pci);
    g->render = render_node(card);
    if (bj_attr_text(card, "device/unique_id", buf, &text, NULL) == 0 &&
        text.n > 0 && text.n < sizeof(g->uuid))
        memcpy(g->uuid, text.p, text.n);
    else
        memcpy(g->uuid, g->pci, sizeof(g->pci));
    if (bj_attr_text(card, "device/product_name", buf, &text, NULL) == 0 &&
        text.n < sizeof(g->model))
        memcpy(g->model, text.p, text.n);
}

/* Read the numbers.  Missing values, and values that cannot be read while the
 * card sleeps, are absent. */
static void read_numbers(int dir, const char *prefix,
                         const struct number_file *files, struct bj_gpu *g)
{
    for (size_t i = 0; i < 6 && files[i].name; i++) {
        char path[64];
        uint64_t *to = (uint64_t *)(void *)((char *)&g->use + files[i].off);
        snprintf(path, sizeof(path), "%s%s", prefix, files[i].name);
        uint64_t v = *to == BJ_ABSENT ? bj_attr_maybe(dir, path) : BJ_ABSENT;
        if (v <= files[i].max && v <= (BJ_ABSENT - 1) / files[i].mul)
            *to = v * files[i].mul;
    }
}

/* Read the temperatures.  That of the memory has a label; the first of the
 * others is that of the card. */
static void read_temperatures(int monitor, struct bj_gpu *g)
{
    for (int i = 1; i <= TEMPERATURES; i++) {
        char name[32], buf[BJ_ATTR_CAP];
        struct bj_slice label = {0};
        snprintf(name, sizeof(name), "temp%d_input", i);
        uint64_t mc = bj_attr_maybe(monitor, name);
        snprintf(name, sizeof(name), "temp%d_label", i);
        if (bj_attr_text(monitor, name, buf, &label, NULL) < 0)
            label.n = 0;
        bool memory = bj_slice_eq(label, BJ_SLICE("mem")) ||
                      bj_slice_eq(label, BJ_SLICE("vram"));
        uint64_t *to =
            memory ? &g->use.memory_temperature_uc : &g->use.temperature_uc;
        if (mc < 1000000 && *to == BJ_ABSENT)
            *to = mc * 1000;
    }
}

/* The errors of all blocks, from device/ras; PCI Express has its own counter.
 */
static void read_errors(int card, struct errors *e)
{
    static const char *const blocks[] = {
        "umc", "sdma", "gfx", "mmhub", "athub", "hdp",  "xgmi_wafl",
        "df",  "smn",  "sem", "mp0",   "mp1",   "fuse", "mca",
        "vcn", "jpeg", "ih",  "mpio",  "mmsch"};
    e->corrected = e->uncorrected = BJ_ABSENT;
    e->xgmi_corrected = e->xgmi_uncorrected = BJ_ABSENT;
    bj_autoclose int dir = bj_dir_open(card, "device/ras");
    for (size_t i = 0; dir >= 0 && i < sizeof(blocks) / sizeof(blocks[0]);
         i++) {
        char name[48], buf[BJ_ATTR_CAP];
        struct bj_slice text;
        const bool xgmi = strcmp(blocks[i], "xgmi_wafl") == 0;
        snprintf(name, sizeof(name), "%s_err_count", blocks[i]);
        if (bj_attr_text(dir, name, buf, &text, NULL) == 0)
            bj_gpu_ras_add(text, xgmi ? &e->xgmi_corrected : &e->corrected,
                           xgmi ? &e->xgmi_uncorrected : &e->uncorrected);
    }
}

/* The place of a card's errors: its own, else a new or the oldest one. */
static struct errors *errors_at(struct drm *d, const char *pci)
{
    struct errors *at = &d->errors[0];
    for (size_t i = 0; i < CARDS; i++) {
        if (strcmp(d->errors[i].pci, pci) == 0)
            return &d->errors[i];
        if (d->errors[i].stamp_usec < at->stamp_usec)
            at = &d->errors[i];
    }
    memset(at, 0, sizeof(*at));
    snprintf(at->pci, sizeof(at->pci), "%s", pci);
    return at;
}

static void put_errors(struct drm *d, int card, struct bj_gpu *g)
{
    struct errors *e = errors_at(d, g->pci);
    const uint64_t now = bj_clock_boot_usec();
    if (e->stamp_usec == 0 || now - e->stamp_usec >= ERRORS_USEC) {
        read_errors(card, e);
        e->stamp_usec = now;
    }
    g->use.ecc_corrected = e->corrected;
    g->use.ecc_uncorrected = e->uncorrected;
    g->use.xgmi_corrected = e->xgmi_corrected;
    g->use.xgmi_uncorrected = e->xgmi_uncorrected;
}

static void read_card(int card, int monitor, const struct vendor *v,
                      struct bj_gpu *g)
{
    read_identity(card, g);
    read_numbers(card, "device/", v->device, g);
    if (monitor < 0)
        return;
    read_numbers(monitor, "", v->monitor, g);
    read_temperatures(monitor, g);
    g->energy_raw_uj = bj_attr_maybe(monitor, "energy1_input");
}

/* --- all cards ------------------------------------------------------------*/

static int open_class(const char *sysfs)
{
    char path[512];
    snprintf(path, sizeof(path), "%.400s/class/drm", sysfs);
    return bj_dir_open(AT_FDCWD, path);
}

/* List the numbers of the vendor's cards. */
static size_t list_cards(const struct drm *d, unsigned list[CARDS])
{
    unsigned all[CARDS];
    size_t count = 0;
    int n = bj_attr_numbers(d->dir, "card", "", 10, all, CARDS);
    for (int i = 0; i < n; i++) {
        int monitor;
        bj_autoclose int card = open_card(d, all[i], &monitor);
        if (card >= 0)
            list[count++] = all[i];
        if (monitor >= 0)
            close(monitor);
    }
    return count;
}

static bool any(const struct bj_gpu_env *env, const struct vendor *v)
{
    unsigned list[CARDS];
    bj_autoclose int dir = open_class(env->sysfs);
    struct drm d = {.vendor = v, .dir = dir};
    return dir >= 0 && list_cards(&d, list) > 0;
}

static bool any_amd(const struct bj_gpu_env *env)
{
    return any(env, &amd);
}

static bool any_intel(const struct bj_gpu_env *env)
{
    return any(env, &intel);
}

static int open_drm(const struct bj_gpu_env *env, const struct vendor *v,
                    void **ret, struct bj_err *err)
{
    unsigned list[CARDS];
    struct drm *d = malloc(sizeof(*d));
    if (!d)
        return bj_err_set(err, -ENOMEM, "cards");
    *d = (struct drm){.vendor = v, .dir = open_class(env->sysfs)};
    if (d->dir >= 0 && list_cards(d, list) > 0) {
        *ret = d;
        return 0;
    }
    bj_close_fd(&d->dir);
    free(d);
    return -ENODEV;
}

static int open_amd(const struct bj_gpu_env *env, void **ret,
                    struct bj_err *err)
{
    return open_drm(env, &amd, ret, err);
}

static int open_intel(const struct bj_gpu_env *env, void **ret,
                      struct bj_err *err)
{
    return open_drm(env, &intel, ret, err);
}

static int by_address(const void *a, const void *b)
{
    const struct bj_gpu *x = a, *y = b;
    return strcmp(x->pci, y->pci);
}

/* Numbers of cards may change with a boot; their places on the bus do not.
 * -ENODEV without cards: when there are some again, the directory may be a new
 * one. */
static int read_drm(void *m, struct bj_gpu_set *out, struct bj_err *err)
{
    struct drm *d = m;
    unsigned list[CARDS];
    size_t n = list_cards(d, list);
    (void)err;
    if (n == 0)
        return -ENODEV;
    for (size_t i = 0; i < n; i++) {
        int monitor;
        bj_autoclose int card = open_card(d, list[i], &monitor);
        struct bj_gpu *g = card >= 0 ? bj_gpu_add(out) : NULL;
        if (g)
            read_card(card, monitor, d->vendor, g);
        if (g && d->vendor == &amd)
            put_errors(d, card, g);
        if (monitor >= 0)
            close(monitor);
        if (g && !*g->uuid)
            out->n--;
    }
    qsort(out->v, out->n, sizeof(out->v[0]), by_address);
    for (size_t i = 0; i < out->n; i++)
        out->v[i].index = i;
    return 0;
}

static void close_drm(void *m)
{
    struct drm *d = m;
    close(d->dir);
    free(d);
}

const struct bj_gpu_kind bj_gpu_amd = {"amd", any_amd, open_amd, read_drm,
                                       close_drm};
const struct bj_gpu_kind bj_gpu_intel = {"intel", any_intel, open_intel,
                                         read_drm, close_drm};
