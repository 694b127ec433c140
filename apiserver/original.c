#include "apiserver/original.h"

#include "sched/hostlist.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { HOSTS_MAX = 4096 };

static void lower(struct bj_buf *b, struct bj_slice s)
{
    s = bj_slice_trim(s);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        bj_buf_put(b, &c, 1);
    }
}

void bj_original_uuid(struct bj_slice jobid, struct bj_slice uid,
                      struct bj_slice account, struct bj_slice nodelist,
                      struct bj_buf *to)
{
    struct bj_buf b = {0};
    bj_buf_slice(&b, bj_slice_trim(jobid));
    bj_buf_str(&b, ",");
    bj_buf_slice(&b, bj_slice_trim(uid));
    bj_buf_str(&b, ",");
    lower(&b, account);
    bj_buf_str(&b, ",");
    lower(&b, nodelist);
    to->failed = to->failed || b.failed;
    XXH128_hash_t h = XXH3_128bits(b.p, b.failed ? 0 : b.len);
    bj_buf_free(&b);
    unsigned long long high = h.high64, low = h.low64;
    bj_buf_printf(to, "%08llx-%04llx-%04llx-%04llx-%012llx", high >> 32,
                  high >> 16 & 0xffff, high & 0xffff, low >> 48,
                  low & 0xffffffffffff);
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
