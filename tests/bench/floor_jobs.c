#include "tests/bench/floor.h"

#include "tests/bench/num.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The six files that every exporter reads, and the directory of the job for
 * each: v1 has one per controller. */
static const char *const controllers[FLOOR_DIRS] = {"memory", "cpuset",
                                                    "cpuacct"};
struct file {
    int dir;
    const char *name;
};
static const struct file files[2][FLOOR_FILES] = {
    {{0, "memory.usage_in_bytes"},
     {0, "memory.max_usage_in_bytes"},
     {0, "memory.limit_in_bytes"},
     {0, "memory.stat"},
     {1, "cpuset.effective_cpus"},
     {2, "cpuacct.usage_percpu"}},
    {{0, "memory.current"},
     {0, "memory.peak"},
     {0, "memory.max"},
     {0, "memory.stat"},
     {0, "cpuset.cpus.effective"},
     {0, "cpu.stat"}},
};

/* Keys of memory.stat in the order in which the kernel prints them. */
struct key {
    const char *text;
    unsigned len;
    enum floor_value value;
};
#define KEY(text, value)                                                       \
    {                                                                          \
        text " ", sizeof(text), value                                          \
    }
enum { KEYS = 7 };
static const struct key keys[2][KEYS] = {
    {KEY("total_cache", FLOOR_CACHE), KEY("total_rss", FLOOR_RSS),
     KEY("total_rss_huge", FLOOR_HUGE), KEY("total_mapped_file", FLOOR_MAPPED),
     KEY("total_inactive_file", FLOOR_INACTIVE),
     KEY("total_active_file", FLOOR_ACTIVE),
     KEY("total_unevictable", FLOOR_UNEVICTABLE)},
    {KEY("anon", FLOOR_RSS), KEY("file", FLOOR_CACHE),
     KEY("file_mapped", FLOOR_MAPPED), KEY("anon_thp", FLOOR_HUGE),
     KEY("inactive_file", FLOOR_INACTIVE), KEY("active_file", FLOOR_ACTIVE),
     KEY("unevictable", FLOOR_UNEVICTABLE)},
};

ssize_t floor_read(struct floor *f, int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, f->read, sizeof(f->read) - 1);
    close(fd);
    f->read[n > 0 ? n : 0] = '\0';
    return n;
}

static bool read_file(struct floor *f, struct floor_job *j, int i)
{
    const struct file *file = &files[f->version - 1][i];
    if (!f->keep)
        return floor_read(f, j->dir[file->dir], file->name) > 0;
    if (j->file[i] < 0)
        j->file[i] =
            openat(j->dir[file->dir], file->name, O_RDONLY | O_CLOEXEC);
    ssize_t n = pread(j->file[i], f->read, sizeof(f->read) - 1, 0);
    f->read[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static void parse_memory_stat(struct floor *f, struct floor_job *j)
{
    const struct key *k = keys[f->version - 1], *end = k + KEYS;
    for (const char *l = f->read; l && *l && k < end;) {
        if (strncmp(l, k->text, k->len) == 0) {
            j->value[k->value] = bench_u64(l + k->len);
            k++;
        }
        l = strchr(l, '\n');
        l += l != NULL;
    }
}

static void parse_cpus(struct floor *f, struct floor_job *j)
{
    j->cores = 0;
    for (const char *p = f->read; *p >= '0' && *p <= '9';) {
        unsigned a = (unsigned)bench_number(&p), b = a;
        if (*p == '-') {
            p++;
            b = (unsigned)bench_number(&p);
        }
        for (; a <= b && j->cores < FLOOR_CPUS; a++)
            j->core[j->cores++] = a;
        p += *p == ',';
    }
}

/* v1: nanoseconds of every CPU in a row. */
static void parse_usage_percpu(struct floor *f, struct floor_job *j)
{
    const char *p = f->read;
    unsigned c = 0;
    for (unsigned cpu = 0; *p >= '0' && *p <= '9' && c < j->cores; cpu++) {
        uint64_t ns = bench_number(&p);
        if (cpu == j->core[c])
            j->core_ns[c++] = ns;
        p += *p == ' ';
    }
}

/* v2: one number, divided among the job's CPUs as other exporters do. */
static void parse_cpu_stat(struct floor *f, struct floor_job *j)
{
    if (strncmp(f->read, "usage_usec ", 11) != 0)
        return;
    uint64_t ns = bench_u64(f->read + 11) * 1000;
    for (unsigned c = 0; c < j->cores; c++)
        j->core_ns[c] = ns / j->cores;
}

void floor_collect(struct floor *f, struct floor_job *j)
{
    memset(j->value, 0, sizeof(j->value));
    for (int i = 0; i < 3; i++)
        if (read_file(f, j, i))
            j->value[FLOOR_USED + i] = bench_u64(f->read);
    if (read_file(f, j, 3))
        parse_memory_stat(f, j);
    if (read_file(f, j, 4))
        parse_cpus(f, j);
    if (read_file(f, j, 5))
        f->version == 1 ? parse_usage_percpu(f, j) : parse_cpu_stat(f, j);
    if (f->processes)
        floor_walk_processes(f, j, false);
}

static struct floor_job *new_job(struct floor *f, uint64_t id, const char *user,
                                 const char *name)
{
    char path[1024];
    struct floor_job *j = calloc(1, sizeof(*j));
    f->jobs = realloc(f->jobs, (f->njobs + 1) * sizeof(*f->jobs));
    if (!j || !f->jobs)
        exit(1);
    memset(j->file, -1, sizeof(j->file));
    memset(j->dir, -1, sizeof(j->dir));
    j->id = id;
    for (int i = 0; i < (f->version == 1 ? FLOOR_DIRS : 1); i++) {
        if (f->version == 1)
            snprintf(path, sizeof(path), "%s/%s/slurm/%s/%s", f->root,
                     controllers[i], user, name);
        else
            snprintf(path, sizeof(path), "%s/system.slice/slurmstepd.scope/%s",
                     f->root, name);
        j->dir[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    floor_walk_processes(f, j, true);
    f->jobs[f->njobs++] = j;
    return j;
}

static void found(struct floor *f, const char *user, const char *name)
{
    if (strncmp(name, "job_", 4) != 0)
        return;
    uint64_t id = bench_u64(name + 4);
    size_t h = (id * 0x9E3779B97F4A7C15u) >> 51;
    while (f->slot[h] && f->slot[h]->id != id)
        h = (h + 1) % (sizeof(f->slot) / sizeof(f->slot[0]));
    if (!f->slot[h])
        f->slot[h] = new_job(f, id, user, name);
    f->slot[h]->seen = f->pass;
}

static void find_user(struct floor *f, int parent, const char *user)
{
    if (strncmp(user, "uid_", 4) != 0)
        return;
    int fd = openat(parent, user, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        found(f, user, e->d_name);
    if (d)
        closedir(d);
}

void floor_find(struct floor *f)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", f->root,
             f->version == 1 ? "memory/slurm"
                             : "system.slice/slurmstepd.scope");
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (f->version == 1)
            find_user(f, dirfd(d), e->d_name);
        else
            found(f, NULL, e->d_name);
    }
    if (d)
        closedir(d);
}
