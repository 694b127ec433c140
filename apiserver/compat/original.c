#include "apiserver/compat/original.h"

#include "base/jobuuid.h"
#include "sched/hostlist.h"

enum { HOSTS_MAX = 4096 };

void bj_original_uuid(struct bj_slice jobid, struct bj_slice uid,
                      struct bj_slice account, struct bj_slice nodelist,
                      struct bj_buf *to)
{
    char text[BJ_JOB_UUID_BYTES];
    bj_job_uuid(jobid, uid, account, nodelist, text);
    bj_buf_str(to, text);
}

void bj_original_hosts(struct bj_slice nodelist, struct bj_buf *to)
{
    struct bj_hostlist l;
    struct bj_slice name;
    if (bj_hostlist_begin(&l, nodelist, BJ_HOSTS_SLURM) < 0)
        return;
    for (unsigned n = 0; n < HOSTS_MAX && bj_hostlist_next(&l, &name); n++) {
        bj_buf_str(to, n ? "|" : "");
        for (size_t i = 0; i < name.n; i++) {
            if (name.p[i] && strchr("\\.+*?()|[]{}^$", name.p[i]))
                bj_buf_str(to, "\\");
            bj_buf_put(to, &name.p[i], 1);
        }
    }
}

void bj_original_elapsed(uint64_t sec, struct bj_buf *to)
{
    if (sec >= 86400)
        bj_buf_printf(to, "%llu-", (unsigned long long)(sec / 86400));
    bj_buf_printf(to, "%02u:%02u:%02u", (unsigned)(sec / 3600 % 24),
                  (unsigned)(sec / 60 % 60), (unsigned)(sec % 60));
}
