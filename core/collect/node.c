/* The node: CPU time by mode, memory, topology, boot time.
 * Sources: proc(5); kernel ABI/stable/sysfs-devices-system-cpu. */
#include "core/collect/kv.h"
#include "core/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MODES = 8, STAT_CAP = 512 * 1024, TOPOLOGY_USEC = 60 * 1000000 };

static const char *const mode_names[MODES] = {
    "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};

struct bj_node_state {
    const struct bj_conf *conf;
    struct bj_fdpool *pool;
    struct bj_node node; /* without modes */
    uint64_t mode_usec[MODES];
    unsigned modes; /* number of modes in the kernel */
    uint64_t tick_usec, topology_due_usec;
    int stat_fd, meminfo_fd;
    char *buf;
};

int bj_node_new(const struct bj_conf *conf, struct bj_fdpool *pool,
                struct bj_node_state **ret)
{
    struct bj_node_state *n = calloc(1, sizeof(*n));
    if (!n || !(n->buf = malloc(STAT_CAP))) {
        free(n);
        return -ENOMEM;
    }
    n->conf = conf;
    n->pool = pool;
    memset(&n->node, 0xff, sizeof(n->node));
    long hz = sysconf(_SC_CLK_TCK);
    n->tick_usec = 1000000u / (uint64_t)(hz > 0 ? hz : 100);
    n->stat_fd = n->meminfo_fd = -1;
    *ret = n;
    return 0;
}

void bj_node_free(struct bj_node_state *n)
{
    if (!n)
        return;
    bj_fdpool_close(n->pool, &n->stat_fd);
    bj_fdpool_close(n->pool, &n->meminfo_fd);
    free(n->buf);
    free(n);
}

/* A file below root through a kept descriptor, or by name. */
static int read_kept(struct bj_node_state *n, int *fd, const char *root,
                     const char *name, struct bj_slice *ret, struct bj_err *err)
{
    char path[640];
    snprintf(path, sizeof(path), "%.400s/%s", root, name);
    if (fd && *fd < 0) {
        *fd = bj_fdpool_open(n->pool, AT_FDCWD, path, O_RDONLY);
        if (*fd < 0)
            *fd = -1;
    }
    if (fd && *fd >= 0) {
        int r = bj_file_pread(*fd, n->buf, STAT_CAP, ret);
        return r < 0 ? bj_err_set(err, r, "read %s", path) : 0;
    }
    return bj_file_read(AT_FDCWD, path, n->buf, STAT_CAP, ret, err);
}

/* "cpu  user nice system ...", in ticks.  idle and iowait may run backwards in
 * the kernel; the published values do not. */
static void parse_modes(struct bj_node_state *n, struct bj_slice line)
{
    struct bj_slice word;
    bj_slice_word(&line, &word);
    for (unsigned i = 0; i < MODES && bj_slice_word(&line, &word); i++) {
        uint64_t ticks;
        if (bj_slice_u64(word, &ticks) < 0)
            return;
        uint64_t usec = ticks * n->tick_usec;
        if (usec > n->mode_usec[i])
            n->mode_usec[i] = usec;
        if (i >= n->modes)
            n->modes = i + 1;
    }
}

static int read_stat(struct bj_node_state *n, struct bj_err *err)
{
    struct bj_slice text, line, rest;
    int r = read_kept(n, &n->stat_fd, n->conf->procfs, "stat", &text, err);
    if (r < 0)
        return r;
    rest = text;
    if (!bj_slice_line(&rest, &line) ||
        !bj_slice_starts(line, BJ_SLICE("cpu ")))
        return bj_err_set(err, -EINVAL, "%s/stat: expected a line 'cpu '",
                          n->conf->procfs);
    parse_modes(n, line);
    while (n->node.boot_sec == BJ_ABSENT && bj_slice_line(&rest, &line))
        if (bj_slice_starts(line, BJ_SLICE("btime "))) {
            struct bj_slice num = {line.p + 6, line.n - 6};
            bj_slice_number(&num, &n->node.boot_sec);
        }
    return 0;
}

/* "MemTotal:       16384 kB" */
static int node_read_memory(struct bj_node_state *n, struct bj_err *err)
{
    const struct {
        struct bj_slice key;
        uint64_t *to;
    } keys[] = {
        {BJ_SLICE("MemTotal:"), &n->node.mem_total_bytes},
        {BJ_SLICE("MemFree:"), &n->node.mem_free_bytes},
        {BJ_SLICE("MemAvailable:"), &n->node.mem_available_bytes},
    };
    const size_t wanted = sizeof(keys) / sizeof(keys[0]);
    struct bj_slice text, line;
    int r =
        read_kept(n, &n->meminfo_fd, n->conf->procfs, "meminfo", &text, err);
    if (r < 0)
        return r;
    for (size_t found = 0; found < wanted && bj_slice_line(&text, &line);) {
        struct bj_slice word, num;
        uint64_t kib;
        if (!bj_slice_word(&line, &word))
            continue;
        for (size_t k = 0; k < wanted; k++)
            if (bj_slice_eq(word, keys[k].key) && bj_slice_word(&line, &num) &&
                bj_slice_u64(num, &kib) == 0) {
                *keys[k].to = kib * 1024;
                found++;
            }
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t distinct(uint64_t *v, size_t n, unsigned shift)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        found += i == 0 || v[i] >> shift != v[i - 1] >> shift;
    return found;
}

static bool read_id(struct bj_node_state *n, unsigned cpu, const char *file,
                    uint64_t *ret)
{
    char path[128];
    struct bj_slice text;
    snprintf(path, sizeof(path), "devices/system/cpu/cpu%u/topology/%s", cpu,
             file);
    return read_kept(n, NULL, n->conf->sysfs, path, &text, NULL) == 0 &&
           bj_slice_number(&text, ret);
}

/* Count sockets and cores by the ids of the online CPUs.  The number of a core
 * may repeat in each die of a package; before Linux 5.2 there is no die_id. */
static int read_topology(struct bj_node_state *n, struct bj_err *err)
{
    unsigned char set[BJ_CPUS_MAX / 8] = {0};
    struct bj_slice text;
    int r = read_kept(n, NULL, n->conf->sysfs, "devices/system/cpu/online",
                      &text, err);
    if (r < 0)
        return r;
    int cpus = bj_slice_cpulist(bj_slice_trim(text), BJ_CPUS_MAX, set);
    if (cpus < 0)
        return bj_err_set(err, cpus,
                          "%s/devices/system/cpu/online: expected "
                          "a list such as 0-3",
                          n->conf->sysfs);
    n->node.cpus = (uint64_t)cpus;
    n->node.cores = n->node.sockets = BJ_ABSENT;
    uint64_t *ids = malloc(BJ_CPUS_MAX * sizeof(*ids));
    if (!ids)
        return bj_err_set(err, -ENOMEM, "topology");
    size_t k = 0;
    for (unsigned c = 0; c < BJ_CPUS_MAX; c++) {
        const uint64_t ids_max = 0xffffff, dies_max = 0xffff;
        uint64_t package, core, die;
        if (!(set[c / 8] & 1u << c % 8))
            continue;
        if (!read_id(n, c, "physical_package_id", &package) ||
            !read_id(n, c, "core_id", &core))
            break;
        if (!read_id(n, c, "die_id", &die))
            die = 0;
        ids[k++] = package << 40 | (die & dies_max) << 24 | (core & ids_max);
    }
    if (k == (size_t)cpus && k > 0) {
        qsort(ids, k, sizeof(*ids), by_value);
        n->node.cores = distinct(ids, k, 0);
        n->node.sockets = distinct(ids, k, 40);
    }
    free(ids);
    return 0;
}

unsigned bj_node_read(struct bj_node_state *n, uint64_t now_usec,
                      struct bj_err *err)
{
    unsigned faults = 0;
    faults += read_stat(n, err) < 0;
    faults += node_read_memory(n, err) < 0;
    if (now_usec >= n->topology_due_usec) {
        n->topology_due_usec = now_usec + TOPOLOGY_USEC;
        faults += read_topology(n, err) < 0;
    }
    return faults;
}

void bj_node_publish(const struct bj_node_state *n, struct bj_arena *arena,
                     struct bj_node *ret)
{
    *ret = n->node;
    ret->energy = (struct bj_list){0};
    struct bj_mode_use *m = bj_arena_alloc(arena, n->modes * sizeof(*m));
    ret->modes = (struct bj_list){m, m ? n->modes : 0};
    for (unsigned i = 0; m && i < n->modes; i++) {
        m[i].sub.key[0] = bj_slice_str(mode_names[i]);
        m[i].cpu_usec = n->mode_usec[i];
    }
}
