/* The identity of an HTCondor job: its cgroup is named after the slot, so the
 * id comes from the job ad that the starter writes to the scratch directory.
 *
 * Source: HTCondor manual, "Services for Running Jobs" (_CONDOR_JOB_AD,
 * _CONDOR_SCRATCH_DIR) and "ClassAd Attributes" (ClusterId, ProcId). */
#include "core/find/environ.h"
#include "core/find/ident_find.h"

#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AD_CAP = 64 * 1024, CLUSTER, PROC, ACCOUNT, NAME, ATTRIBUTES };

static const struct {
    const char *name;
    int what;
} attributes[] = {
    {"clusterid", CLUSTER},
    {"procid", PROC},
    {"acctgroup", ACCOUNT},
    {"jobbatchname", NAME},
};

/* The case of attribute names does not matter. */
static bool is_name(struct bj_slice s, const char *lower)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!lower[i] || lower[i] != (c >= 'A' && c <= 'Z' ? c + 32 : c))
            return false;
    }
    return lower[s.n] == '\0';
}

/* "text" without its quotes; escapes stay as they are. */
static struct bj_slice unquote(struct bj_slice s)
{
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
        return (struct bj_slice){s.p + 1, s.n - 2};
    return s;
}

int bj_condor_parse(struct bj_slice ad, char *id, size_t cap,
                    struct bj_slice f[BJ_ID_FIELDS])
{
    struct bj_slice v[ATTRIBUTES] = {{0}}, line;
    while (bj_slice_line(&ad, &line)) {
        const char *eq = line.n > 0 ? memchr(line.p, '=', line.n) : NULL;
        if (!eq)
            continue;
        struct bj_slice name =
            bj_slice_trim((struct bj_slice){line.p, (size_t)(eq - line.p)});
        size_t used = (size_t)(eq + 1 - line.p);
        struct bj_slice value =
            bj_slice_trim((struct bj_slice){eq + 1, line.n - used});
        for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
            if (is_name(name, attributes[i].name))
                v[attributes[i].what] = unquote(value);
    }
    uint64_t cluster, proc;
    if (bj_slice_u64(v[CLUSTER], &cluster) < 0 ||
        bj_slice_u64(v[PROC], &proc) < 0)
        return -EINVAL;
    int n = snprintf(id, cap, "%llu.%llu", (unsigned long long)cluster,
                     (unsigned long long)proc);
    if (n < 0 || (size_t)n >= cap)
        return -EINVAL;
    f[BJ_ID_JOBID] = (struct bj_slice){id, (size_t)n};
    f[BJ_ID_ACCOUNT] = v[ACCOUNT];
    f[BJ_ID_NAME] = v[NAME];
    return 0;
}

/* The path of the ad.  The user of the job may have set any path, so its last
 * part must be the usual name. */
static bool ad_path(struct bj_slice env, char *path, size_t cap)
{
    static const struct bj_slice leaf = {"/.job.ad", 8};
    struct bj_slice dir;
    if (bj_environ_get(env, BJ_SLICE("_CONDOR_JOB_AD"), &dir)) {
        if (dir.n < leaf.n ||
            memcmp(dir.p + dir.n - leaf.n, leaf.p, leaf.n) != 0)
            return false;
        dir.n -= leaf.n;
    } else if (!bj_environ_get(env, BJ_SLICE("_CONDOR_SCRATCH_DIR"), &dir)) {
        return false;
    }
    if (dir.n == 0 || dir.p[0] != '/' || dir.n + leaf.n >= cap)
        return false;
    memcpy(path, dir.p, dir.n);
    memcpy(path + dir.n, leaf.p, leaf.n + 1);
    return true;
}

/* Read the ad as an untrusted file: not a link or FIFO, and owned by root or by
 * the owner of the job. */
static int read_ad(const char *path, uid_t uid, char *buf, struct bj_slice *ret)
{
    bj_autoclose int fd =
        open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != uid))
        return -EPERM;
    return bj_file_pread(fd, buf, AD_CAP, ret);
}

bool bj_condor_take(struct bj_ident_search *s, struct bj_slice env, uid_t uid)
{
    char path[PATH_MAX], id[48];
    if (!ad_path(env, path, sizeof(path)))
        return false;
    char *buf = malloc(AD_CAP);
    struct bj_slice ad, f[BJ_ID_FIELDS] = {{0}};
    bool good = buf && read_ad(path, uid, buf, &ad) == 0 &&
                bj_condor_parse(ad, id, sizeof(id), f) == 0;
    if (good) {
        s->f[BJ_ID_JOBID] = (struct bj_slice){0};
        s->unknown_job = false;
        s->environ = true;
        for (int i = 0; i < BJ_ID_FIELDS; i++)
            bj_search_take(s, (enum bj_ident_field)i, f[i]);
        bj_search_take_uid(s, uid, BJ_IDENT_PROCESS);
    }
    free(buf);
    return good;
}
