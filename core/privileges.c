#include "core/privileges.h"

#include "base/file.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>

/* The effective capabilities; all of them when the text has none. */
static uint64_t capabilities(struct bj_slice status)
{
    struct bj_slice line, word;
    while (bj_slice_line(&status, &line)) {
        uint64_t v = 0;
        if (!bj_slice_word(&line, &word) ||
            !bj_slice_eq(word, BJ_SLICE("CapEff:")) ||
            !bj_slice_word(&line, &word))
            continue;
        for (size_t i = 0; i < word.n; i++) {
            char c = word.p[i];
            v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return v;
    }
    return UINT64_MAX;
}

/* "hidepid=2,gid=4" hides processes; "hidepid=0", "hidepid=off" do not. */
static bool hides(struct bj_slice options)
{
    struct bj_slice option;
    while (bj_slice_field(&options, ',', &option))
        if (bj_slice_starts(option, BJ_SLICE("hidepid=")))
            return !bj_slice_eq(option, BJ_SLICE("hidepid=0")) &&
                   !bj_slice_eq(option, BJ_SLICE("hidepid=off"));
    return false;
}

/* Whether our procfs is mounted with hidepid. A line of mountinfo: id, parent,
 * device, root, mount point, options, optional fields, "-", type, source,
 * options of the file system. */
static bool hidepid(const char *procfs, struct bj_slice mountinfo)
{
    struct bj_slice line, word, options;
    bool hidden = false;
    while (bj_slice_line(&mountinfo, &line)) {
        struct bj_slice point = {0}, type = {0};
        for (int i = 0; i < 5; i++)
            bj_slice_word(&line, &point);
        while (bj_slice_word(&line, &word) && !bj_slice_eq(word, BJ_SLICE("-")))
            ;
        bj_slice_word(&line, &type);
        options = line;
        while (bj_slice_word(&line, &word))
            options = word;
        /* A later mount on the same point covers an earlier one. */
        if (bj_slice_eq(type, BJ_SLICE("proc")) &&
            bj_slice_eq(point, bj_slice_str(procfs)))
            hidden = hides(options);
    }
    return hidden;
}

/* Whether a collector needs the processes of jobs. */
static bool reads_jobs(const struct bj_conf *conf)
{
    for (int i = 0; i < BJ_COLLECTORS; i++)
        if (bj_conf_collects(conf, (enum bj_collector_id)i) &&
            i != BJ_COLLECT_NODE && i != BJ_COLLECT_EMISSIONS &&
            i != BJ_COLLECT_CLUSTER)
            return true;
    return false;
}

unsigned bj_privileges_missing(const struct bj_conf *conf,
                               struct bj_slice status,
                               struct bj_slice mountinfo,
                               struct bj_unreadable ret[BJ_UNREADABLE_MAX])
{
    uint64_t caps = capabilities(status);
    bool ptrace = caps >> CAP_SYS_PTRACE & 1;
    bool search =
        (caps >> CAP_DAC_READ_SEARCH & 1) || (caps >> CAP_DAC_OVERRIDE & 1);
    unsigned n = 0;
    if (!reads_jobs(conf))
        return 0;
    /* These files have mode 0400 and also require ptrace access. */
    if (!ptrace || !search)
        ret[n++] = (struct bj_unreadable){
            "cannot read I/O counters, environment and open files of other "
            "users' processes: their jobs have no I/O, no open files, and "
            "account and partition only from the prolog",
            ptrace   ? "CAP_DAC_READ_SEARCH"
            : search ? "CAP_SYS_PTRACE"
                     : "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"};
    if (!ptrace)
        ret[n++] = (struct bj_unreadable){
            "cannot read the executables of other users' processes, only "
            "their short names",
            "CAP_SYS_PTRACE"};
    if (!ptrace && hidepid(conf->procfs, mountinfo))
        ret[n++] = (struct bj_unreadable){
            "cannot see processes of other users: proc is mounted with hidepid",
            "CAP_SYS_PTRACE, or the group of the mount option gid="};
    if (!search && conf->job_files.n > 0)
        ret[n++] = (struct bj_unreadable){
            "cannot read job files that only their owner may read",
            "CAP_DAC_READ_SEARCH"};
    return n;
}

void bj_privileges_warn(const struct bj_conf *conf, const struct bj_host *host)
{
    enum { STATUS_BYTES = 8192, MOUNTS_BYTES = 1 << 20 };
    char status[STATUS_BYTES];
    char *mounts = malloc(MOUNTS_BYTES);
    struct bj_slice s = {0}, m = {0};
    struct bj_unreadable list[BJ_UNREADABLE_MAX];
    bj_file_read(AT_FDCWD, "/proc/self/status", status, sizeof(status), &s,
                 NULL);
    if (mounts)
        bj_file_read_all(AT_FDCWD, "/proc/self/mountinfo", mounts, MOUNTS_BYTES,
                         &m, NULL);
    unsigned n = bj_privileges_missing(conf, s, m, list);
    for (unsigned i = 0; i < n; i++)
        bj_host_log(host, BJ_LOG_WARN, NULL, "%s; needs %s", list[i].what,
                    list[i].cure);
    free(mounts);
}
