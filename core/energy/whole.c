#include "core/energy/whole.h"

#include "base/file.h"
#include "core/model/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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
static uint64_t value_of(struct bj_slice text, const char *key)
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
    return value_of(text, "usage_usec");
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
static void read_memory(const char *procfs, uint64_t *total, uint64_t *used)
{
    char buf[TEXT_CAP];
    struct bj_slice text;
    *total = *used = BJ_ABSENT;
    if (read_below(procfs, "meminfo", buf, &text) < 0)
        return;
    uint64_t kib = value_of(text, "MemTotal:");
    uint64_t unused = value_of(text, "MemFree:");
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

void bj_node_size_read(const struct bj_conf *conf, struct bj_node_size *ret)
{
    uint64_t used;
    ret->cpus = count_cpus(conf->sysfs);
    read_memory(conf->procfs, &ret->mem_bytes, &used);
}

void bj_node_use_read(const struct bj_conf *conf, const struct bj_hiers *hiers,
                      struct bj_node_use *ret)
{
    uint64_t total;
    ret->cpu_usec = cpu_usec_read(conf, hiers);
    read_memory(conf->procfs, &total, &ret->mem_bytes);
}
