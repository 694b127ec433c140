#include "core/collect/numa.h"

#include "base/file.h"
#include "core/collect/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A node with CPUs; one with memory only has an empty list. */
static void numa_take(struct bj_numa *n, const char *sysfs, unsigned number)
{
    char path[512], text[4096];
    unsigned char set[BJ_CPUS_MAX / 8] = {0};
    struct bj_slice s;
    snprintf(path, sizeof(path), "%.400s/devices/system/node/node%u/cpulist",
             sysfs, number);
    if (n->nodes == BJ_NUMA_NODES ||
        bj_file_read(AT_FDCWD, path, text, sizeof(text), &s, NULL) < 0 ||
        bj_slice_cpulist(bj_slice_trim(s), BJ_CPUS_MAX, set) <= 0)
        return;
    n->number[n->nodes++] = (unsigned char)number;
    for (unsigned c = 0; c < BJ_CPUS_MAX; c++)
        if (set[c / 8] & 1u << c % 8)
            n->of_cpu[c] = (unsigned char)n->nodes;
}

void bj_numa_read(struct bj_numa *n, const char *sysfs)
{
    char path[512];
    snprintf(path, sizeof(path), "%.400s/devices/system/node", sysfs);
    *n = (struct bj_numa){.of_cpu = calloc(BJ_CPUS_MAX, 1)};
    DIR *d = n->of_cpu ? opendir(path) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        uint64_t number;
        if (strncmp(e->d_name, "node", 4) == 0 &&
            bj_slice_u64(bj_slice_str(e->d_name + 4), &number) == 0 &&
            number < 256)
            numa_take(n, sysfs, (unsigned)number);
    }
    if (d)
        closedir(d);
    if (n->nodes == BJ_NUMA_NODES)
        n->nodes = 0;
}

void bj_numa_free(struct bj_numa *n)
{
    free(n->of_cpu);
    *n = (struct bj_numa){0};
}

uint64_t bj_numa_of_cpus(const struct bj_numa *n, struct bj_slice cpus)
{
    unsigned char set[BJ_CPUS_MAX / 8] = {0};
    uint64_t nodes = 0;
    if (bj_slice_cpulist(bj_slice_trim(cpus), BJ_CPUS_MAX, set) <= 0)
        return 0;
    for (unsigned c = 0; c < BJ_CPUS_MAX; c++) {
        if (!(set[c / 8] & 1u << c % 8))
            continue;
        if (n->of_cpu[c] == 0)
            return 0;
        nodes |= UINT64_C(1) << (n->of_cpu[c] - 1);
    }
    return nodes;
}

static bool is_local(const struct bj_numa *n, uint64_t local, uint64_t number)
{
    for (unsigned i = 0; i < n->nodes; i++)
        if (n->number[i] == number)
            return local & UINT64_C(1) << i;
    return false; /* no CPU is on that node */
}

/* "N0=123" */
static bool numa_amount(struct bj_slice word, uint64_t *number, uint64_t *v)
{
    struct bj_slice name;
    return word.n > 1 && word.p[0] == 'N' &&
           bj_slice_field(&word, '=', &name) &&
           bj_slice_u64((struct bj_slice){name.p + 1, name.n - 1}, number) ==
               0 &&
           bj_slice_u64(word, v) == 0;
}

int bj_numa_parse(const struct bj_numa *n, struct bj_slice text, bool v1,
                  uint64_t local, uint64_t *all, uint64_t *remote)
{
    const struct bj_slice wanted =
        v1 ? BJ_SLICE("hierarchical_anon=") : BJ_SLICE("anon");
    const uint64_t unit = v1 ? (uint64_t)sysconf(_SC_PAGESIZE) : 1;
    struct bj_slice line, word;
    while (bj_slice_field(&text, '\n', &line)) {
        if (!bj_slice_word(&line, &word) || word.n < wanted.n ||
            memcmp(word.p, wanted.p, wanted.n) != 0 ||
            (!v1 && word.n != wanted.n))
            continue;
        *all = *remote = 0;
        while (bj_slice_word(&line, &word)) {
            uint64_t number, v;
            if (!numa_amount(word, &number, &v) ||
                __builtin_mul_overflow(v, unit, &v) ||
                __builtin_add_overflow(*all, v, all))
                return -EINVAL;
            *remote += is_local(n, local, number) ? 0 : v;
        }
        return 0;
    }
    return -EINVAL;
}
