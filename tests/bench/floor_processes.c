#include "tests/bench/floor.h"

#include "tests/bench/num.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Make the job's label from a process; false for one of root's. */
static bool identify(struct floor *f, struct floor_job *j, const char *pid)
{
    char path[64];
    struct stat st;
    const char *account = "";
    snprintf(path, sizeof(path), "/proc/%s", pid);
    if (stat(path, &st) < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    ssize_t n = floor_read(f, AT_FDCWD, path);
    for (const char *e = f->read; e < f->read + n; e += strlen(e) + 1)
        if (strncmp(e, "SLURM_JOB_ACCOUNT=", 18) == 0)
            account = e + 18;
    if (!*account)
        return false;
    j->label_len =
        (size_t)snprintf(j->label, sizeof(j->label),
                         "{user=\"u%u\",account=\"%.64s\",slurmjobid=\"%llu\"",
                         st.st_uid, account, (unsigned long long)j->id);
    return true;
}

static void count_threads(struct floor *f, struct floor_job *j, const char *pid)
{
    char path[300];
    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    if (floor_read(f, AT_FDCWD, path) <= 0)
        return;
    j->value[FLOOR_PROCESSES]++;
    snprintf(path, sizeof(path), "/proc/%s/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/stat", e->d_name);
        if (floor_read(f, dirfd(d), path) <= 0)
            continue;
        const char *c = strrchr(f->read, ')');
        if (c)
            j->state[c[2] & 127]++;
    }
    if (d)
        closedir(d);
}

/* The processes of one cgroup; true when the label was made. */
static bool list(struct floor *f, struct floor_job *j, int dir, bool want_label)
{
    if (floor_read(f, dir, "cgroup.procs") <= 0)
        return false;
    char *copy = strdup(f->read), *rest = copy, *pid;
    bool done = false;
    while (!done && (pid = strsep(&rest, "\n")) && *pid) {
        if (want_label)
            done = identify(f, j, pid);
        else
            count_threads(f, j, pid);
    }
    free(copy);
    return done;
}

static bool walk(struct floor *f, struct floor_job *j, int dir, bool want_label)
{
    bool done = list(f, j, dir, want_label);
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && !done && (e = readdir(d));) {
        if (e->d_name[0] == '.' || e->d_type != DT_DIR)
            continue;
        int sub = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (sub < 0)
            continue;
        done = walk(f, j, sub, want_label);
        close(sub);
    }
    if (d)
        closedir(d);
    return done;
}

void floor_walk_processes(struct floor *f, struct floor_job *j, bool identify)
{
    memset(j->state, 0, sizeof(j->state));
    j->value[FLOOR_PROCESSES] = 0;
    walk(f, j, j->dir[0], identify);
}
