#include "core/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

/* nvml.h, nvmlClocksEventReason*: bit 0 first. */
const char *const bj_gpu_reasons[BJ_GPU_REASONS] = {
    "idle",        "clock_setting",  "power_cap",
    "hw_slowdown", "sync_boost",     "sw_thermal",
    "hw_thermal",  "hw_power_brake", "display_clock"};

void bj_gpu_set_clear(struct bj_gpu_set *s)
{
    s->begun_usec = s->stamp_usec = s->faults = 0;
    s->n = s->nprocs = s->ntimes = s->ntraced = 0;
    s->traced_usec = s->traced_list = 0;
    s->driver[0] = '\0';
}

struct bj_gpu *bj_gpu_add(struct bj_gpu_set *s)
{
    if (s->n == BJ_GPUS_MAX)
        return NULL;
    struct bj_gpu *g = &s->v[s->n++];
    *g = (struct bj_gpu){.index = BJ_ABSENT,
                         .parent = -1,
                         .render = BJ_ABSENT,
                         .throttle = BJ_ABSENT,
                         .energy_raw_uj = BJ_ABSENT};
    memset(&g->use, 0xff, sizeof(g->use));
    memset(&g->use.sub, 0, sizeof(g->use.sub));
    return g;
}

struct bj_gpu_proc *bj_gpu_add_proc(struct bj_gpu_set *s, uint32_t gpu,
                                    uint32_t pid)
{
    if (s->nprocs == BJ_GPU_PROCS_MAX)
        return NULL;
    struct bj_gpu_proc *p = &s->proc[s->nprocs++];
    *p = (struct bj_gpu_proc){gpu, pid, BJ_ABSENT, BJ_ABSENT, false};
    return p;
}

void bj_gpu_set_number(struct bj_gpu_set *s)
{
    uint64_t place = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct bj_gpu *g = &s->v[i];
        g->nth = 0;
        for (size_t k = 0; k < i && g->parent >= 0; k++)
            g->nth += s->v[k].parent == g->parent;
        g->place = g->split ? BJ_ABSENT : place++;
    }
}

void bj_gpu_set_copy(struct bj_gpu_set *to, const struct bj_gpu_set *from)
{
    to->begun_usec = from->begun_usec;
    to->stamp_usec = from->stamp_usec;
    to->faults = from->faults;
    to->n = from->n;
    to->nprocs = from->nprocs;
    memcpy(to->driver, from->driver, sizeof(to->driver));
    memcpy(to->v, from->v, from->n * sizeof(from->v[0]));
    memcpy(to->proc, from->proc, from->nprocs * sizeof(from->proc[0]));
    to->ntimes = from->ntimes;
    to->ntraced = from->ntraced;
    to->traced_usec = from->traced_usec;
    to->traced_list = from->traced_list;
    memcpy(to->time, from->time, from->ntimes * sizeof(from->time[0]));
    memcpy(to->traced, from->traced, from->ntraced * sizeof(from->traced[0]));
}

struct bj_gpu *bj_gpu_get(struct bj_gpu_set *s, const char *pci)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].parent < 0 && strcmp(s->v[i].pci, pci) == 0)
            return &s->v[i];
    struct bj_gpu *g = bj_gpu_add(s);
    if (g)
        snprintf(g->pci, sizeof(g->pci), "%s", pci);
    return g;
}

void bj_gpu_pci_text(const char *from, char ret[32])
{
    size_t n = strnlen(from, 31);
    unsigned colons = 0;
    for (size_t i = 0; i < n; i++)
        colons += from[i] == ':';
    if (colons == 2) { /* the domain has four digits in sysfs, if they do */
        while (n > 12 && *from == '0') {
            from++;
            n--;
        }
        snprintf(ret, 32, "%.*s", (int)n, from);
    } else {
        snprintf(ret, 32, "%s%.*s", n > 0 ? "0000:" : "",
                 (int)(n < 26 ? n : 26), from);
    }
    for (char *c = ret; *c; c++)
        if (*c >= 'A' && *c <= 'F')
            *c = (char)(*c - 'A' + 'a');
}
