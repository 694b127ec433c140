#include "base/jobuuid.h"

#include <stdio.h>

#if __has_include(<xxhash.h>)
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Add a word to the hash. */
static void jobuuid_put(XXH3_state_t *h, struct bj_slice s, bool small)
{
    char piece[256];
    s = bj_slice_trim(s);
    for (size_t from = 0, n; from < s.n; from += n) {
        n = s.n - from < sizeof(piece) ? s.n - from : sizeof(piece);
        for (size_t i = 0; i < n; i++) {
            char c = s.p[from + i];
            piece[i] =
                small && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
        XXH3_128bits_update(h, piece, n);
    }
}

bool bj_job_uuid(struct bj_slice jobid, struct bj_slice uid,
                 struct bj_slice account, struct bj_slice nodelist,
                 char ret[BJ_JOB_UUID_BYTES])
{
    const struct bj_slice word[] = {jobid, uid, account, nodelist};
    XXH3_state_t h;
    XXH3_128bits_reset(&h);
    for (int i = 0; i < 4; i++) {
        if (i > 0)
            XXH3_128bits_update(&h, ",", 1);
        jobuuid_put(&h, word[i], i >= 2);
    }
    XXH128_hash_t v = XXH3_128bits_digest(&h);
    unsigned long long high = v.high64, low = v.low64;
    snprintf(ret, BJ_JOB_UUID_BYTES, "%08llx-%04llx-%04llx-%04llx-%012llx",
             high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48,
             low & 0xffffffffffff);
    return true;
}
#else
bool bj_job_uuid(struct bj_slice jobid, struct bj_slice uid,
                 struct bj_slice account, struct bj_slice nodelist,
                 char ret[BJ_JOB_UUID_BYTES])
{
    (void)jobid, (void)uid, (void)account, (void)nodelist;
    ret[0] = '\0';
    return false;
}
#endif
