/* Values of AMD's management library that sysfs lacks: energy counters, errors
 * of memory and links, processes of ROCm.  Devices are matched by PCI address.
 *
 * rsmi_dev_xgmi_error_status is not called: the kernel clears the state when it
 * is read.  Errors of xGMI links are counted with those of the other blocks. */
#include "core/gpu/rsmi.h"

#include "base/clock.h"
#include "base/file.h"
#include "core/gpu/gpu.h"
#include "core/gpu/lib.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SECOND = 1000000,
    ERRORS_USEC = 60 * SECOND, /* interval of reading error counters */
    DEVICES = 64,
    PROCESSES = 1024,
    PATH = 512
};

static const struct bj_gpu_symbol symbols[] = {
#define SYMBOL(name, symbol, must, args)                                       \
    {#symbol, offsetof(struct bj_rsmi, name), must},
    BJ_RSMI_CALLS(SYMBOL)
#undef SYMBOL
};

static const char *const names[] = {"librocm_smi64.so",
                                    "librocm_smi64.so.7",
                                    "librocm_smi64.so.6",
                                    "librocm_smi64.so.5",
                                    "librocm_smi64.so.1",
                                    "/opt/rocm/lib/librocm_smi64.so",
                                    NULL};

struct device {
    char pci[32];
    uint64_t corrected, uncorrected, xgmi_corrected, xgmi_uncorrected;
};

struct rsmi {
    struct bj_rsmi lib;
    char kfd[PATH]; /* directory of ROCm's processes */
    uint32_t n;
    struct device dev[DEVICES];
    uint64_t errors_usec; /* when errors are counted again */
    struct bj_rsmi_process proc[PROCESSES];
};

/* A reading. */
struct visit {
    struct rsmi *r;
    struct bj_gpu_set *set;
    struct bj_err *err;
    int worst;
};

/* Whether a call returned a value; records faults. */
static bool succeeded(struct visit *v, unsigned code, const char *what,
                      const char *pci)
{
    switch (code) {
    case BJ_RSMI_OK:
        return true;
    case BJ_RSMI_NOT_SUPPORTED:
    case BJ_RSMI_FILE_ERROR:
    case BJ_RSMI_PERMISSION:
    case BJ_RSMI_NOT_IMPLEMENTED:
    case BJ_RSMI_NOT_FOUND:
    case BJ_RSMI_NO_DATA:
        return false;
    default:
        v->set->faults++;
        v->worst = bj_err_say(v->err, code == BJ_RSMI_BUSY ? -EBUSY : -EIO,
                              "GPU %s: %s: ROCm SMI error %u", pci, what, code);
        return false;
    }
}

/* --- errors ---------------------------------------------------------------*/

static void rsmi_read_add(uint64_t *sum, uint64_t n)
{
    if (n < BJ_ABSENT / 64)
        *sum = (*sum == BJ_ABSENT ? 0 : *sum) + n;
}

/* Count the errors: blocks are memory and caches, except for the links to other
 * devices. */
static void count_errors(struct visit *v, uint32_t i)
{
    struct device *d = &v->r->dev[i];
    d->corrected = d->uncorrected = BJ_ABSENT;
    d->xgmi_corrected = d->xgmi_uncorrected = BJ_ABSENT;
    for (uint64_t b = 1; b <= BJ_RSMI_BLOCK_LAST; b <<= 1) {
        struct bj_rsmi_errors e = {0, 0};
        bool xgmi = b == BJ_RSMI_BLOCK_XGMI;
        if (b == BJ_RSMI_BLOCK_PCIE ||
            !succeeded(v, v->r->lib.ecc(i, b, &e), "errors", d->pci))
            continue;
        rsmi_read_add(xgmi ? &d->xgmi_corrected : &d->corrected, e.corrected);
        rsmi_read_add(xgmi ? &d->xgmi_uncorrected : &d->uncorrected,
                      e.uncorrected);
    }
}

/* --- devices --------------------------------------------------------------*/

/* Read the energy counter and its unit in microjoules. */
static void read_energy(struct visit *v, uint32_t i, struct bj_gpu *g)
{
    uint64_t count = 0, stamp = 0;
    float uj = 0;
    if (!v->r->lib.energy ||
        !succeeded(v, v->r->lib.energy(i, &count, &uj, &stamp), "energy",
                   g->pci))
        return;
    double all = (double)count * (double)uj;
    if (count > 0 && isfinite(all) && uj > 0 && all < 9e18)
        g->energy_raw_uj = (uint64_t)all;
}

static void read_device(struct visit *v, uint32_t i, bool errors)
{
    struct rsmi *r = v->r;
    const struct device *d = &r->dev[i];
    uint64_t n = 0;
    size_t before = v->set->n;
    struct bj_gpu *g = *d->pci ? bj_gpu_get(v->set, d->pci) : NULL;
    if (!g || v->set->n == before) /* partitions of one device share an entry */
        return;
    read_energy(v, i, g);
    if (r->lib.replays &&
        succeeded(v, r->lib.replays(i, &n), "PCIe replays", g->pci))
        g->use.pcie_replays = n;
    if (r->lib.ecc && errors)
        count_errors(v, i);
    g->use.ecc_corrected = d->corrected;
    g->use.ecc_uncorrected = d->uncorrected;
    g->use.xgmi_corrected = d->xgmi_corrected;
    g->use.xgmi_uncorrected = d->xgmi_uncorrected;
}

/* --- processes ------------------------------------------------------------*/

/* Whether the process is known for the device: partitions of a device are one
 * device here. */
static bool rsmi_read_known(const struct bj_gpu_set *set, uint32_t gpu,
                            uint32_t pid)
{
    for (size_t i = set->nprocs; i-- > 0 && set->proc[i].pid == pid;)
        if (set->proc[i].gpu == gpu)
            return true;
    return false;
}

/* Add a process; its memory is only reported for all devices together. */
static void add_process(struct visit *v, const struct bj_rsmi_process *p)
{
    uint32_t at[DEVICES], n = DEVICES;
    unsigned code = v->r->lib.process_gpus(p->pid, at, &n);
    if (!succeeded(v, code, "devices of a process", "-"))
        return;
    for (uint32_t i = 0; i < n && i < DEVICES; i++) {
        struct bj_gpu *g = at[i] < v->r->n && v->r->dev[at[i]].pci[0]
                               ? bj_gpu_get(v->set, v->r->dev[at[i]].pci)
                               : NULL;
        uint32_t gpu = g ? (uint32_t)(g - v->set->v) : 0;
        if (!g || rsmi_read_known(v->set, gpu, p->pid))
            continue;
        struct bj_gpu_proc *to = bj_gpu_add_proc(v->set, gpu, p->pid);
        if (!to)
            continue;
        g->use.processes++;
        if (n == 1)
            to->memory_bytes = p->vram_bytes;
    }
}

/* The library writes to stderr if the directory is missing. */
static void read_processes(struct visit *v)
{
    struct rsmi *r = v->r;
    uint32_t n = PROCESSES;
    if (!r->lib.processes || !r->lib.process_gpus || access(r->kfd, F_OK) < 0)
        return;
    unsigned code = r->lib.processes(r->proc, &n);
    if (!succeeded(v, code, "processes", "-") || n > PROCESSES)
        return;
    for (size_t i = 0; i < v->set->n; i++)
        v->set->v[i].use.processes = 0;
    for (uint32_t i = 0; i < n; i++)
        add_process(v, &r->proc[i]);
}

/* --- the source -----------------------------------------------------------*/

static bool rsmi_read_present(const struct bj_gpu_env *env)
{
    return !env->rocm || strcmp(env->rocm, "none") != 0;
}

static void close_rsmi(void *m)
{
    struct rsmi *r = m;
    r->lib.shutdown();
    dlclose(r->lib.lib);
    free(r);
}

/* "BDFID": domain, bus, device and function. */
static void identify(struct rsmi *r, uint32_t i)
{
    uint64_t id;
    struct device *d = &r->dev[i];
    d->corrected = d->uncorrected = BJ_ABSENT;
    d->xgmi_corrected = d->xgmi_uncorrected = BJ_ABSENT;
    if (r->lib.pci(i, &id) == BJ_RSMI_OK)
        snprintf(d->pci, sizeof(d->pci), "%04x:%02x:%02x.%x",
                 (unsigned)(id >> 32), (unsigned)(id >> 8 & 0xff),
                 (unsigned)(id >> 3 & 0x1f), (unsigned)(id & 7));
}

static int open_rsmi(const struct bj_gpu_env *env, void **ret,
                     struct bj_err *err)
{
    struct rsmi *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "ROCm SMI");
    int e = bj_gpu_lib_open(env->rocm, names, symbols,
                            sizeof(symbols) / sizeof(symbols[0]), &r->lib,
                            &r->lib.lib, err);
    if (e < 0) {
        free(r);
        return e;
    }
    unsigned code = r->lib.init(0);
    if (code != BJ_RSMI_OK) {
        dlclose(r->lib.lib);
        free(r);
        return bj_err_set(err, -EIO, "initialise ROCm SMI: error %u", code);
    }
    if (r->lib.count(&r->n) != BJ_RSMI_OK || r->n == 0) {
        close_rsmi(r);
        return -ENODEV;
    }
    if (r->n > DEVICES)
        r->n = DEVICES;
    for (uint32_t i = 0; i < r->n; i++)
        identify(r, i);
    snprintf(r->kfd, sizeof(r->kfd), "%.400s/class/kfd/kfd/proc", env->sysfs);
    *ret = r;
    return 0;
}

static int read_rsmi(void *m, struct bj_gpu_set *out, struct bj_err *err)
{
    struct rsmi *r = m;
    struct visit v = {.r = r, .set = out, .err = err};
    uint64_t now = bj_clock_boot_usec();
    bool errors = now >= r->errors_usec;
    for (uint32_t i = 0; i < r->n; i++)
        read_device(&v, i, errors);
    if (errors)
        r->errors_usec = now + ERRORS_USEC;
    read_processes(&v);
    return v.worst;
}

const struct bj_gpu_kind bj_gpu_rocm = {"rocm", rsmi_read_present, open_rsmi,
                                        read_rsmi, close_rsmi};
