#include "report/request/request_impl.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

/* --- amounts ---------------------------------------------------------------
 */

static int64_t round_up(int64_t v, int64_t step)
{
    return (v + step - 1) / step * step;
}

/* Whole GiB in the steps of jobstats (docs/reports.md); MiB below 1 GiB. */
int64_t bj_request_round_memory(int64_t bytes)
{
    int64_t gib = round_up(bytes, GIB) / GIB;
    if (bytes < GIB)
        return round_up(bytes > 0 ? bytes : 1, 256 * MIB);
    if (gib > 1000)
        return round_up(gib, 100) * GIB;
    if (gib > 100)
        return round_up(gib, 10) * GIB;
    if (gib > 30)
        return round_up(gib, 5) * GIB;
    return gib * GIB;
}

int64_t bj_request_round_unit(int64_t bytes)
{
    return bytes < 8 * GIB ? round_up(bytes > 0 ? bytes : 1, 256 * MIB)
                           : bj_request_round_memory(bytes);
}

int64_t bj_request_memory(int64_t peak_bytes, int64_t margin)
{
    if (peak_bytes > INT64_MAX / 100 / (margin + 100))
        return INT64_MAX / 100;
    return bj_request_round_memory(peak_bytes + peak_bytes * margin / 100);
}

int64_t bj_request_round_time(int64_t sec)
{
    int64_t step = sec < HOUR       ? 5 * MINUTE
                   : sec < 6 * HOUR ? 15 * MINUTE
                   : sec < 2 * DAY  ? HOUR
                                    : 6 * HOUR;
    sec = round_up(sec, step);
    return sec < 10 * MINUTE ? 10 * MINUTE : sec;
}

/* --- words -----------------------------------------------------------------
 */

void bj_request_put_memory(struct bj_buf *b, const char *const units[2],
                           int64_t bytes)
{
    const bool gib = bytes % GIB == 0;
    bj_buf_printf(b, "%lld%s", (long long)bj_request_up(bytes, gib ? GIB : MIB),
                  units[!gib]);
}

int64_t bj_request_number(struct bj_slice s)
{
    uint64_t v;
    return bj_slice_u64(s, &v) == 0 && v <= 1000000 ? (int64_t)v : -1;
}

int64_t bj_request_bytes(struct bj_slice s, int64_t plain)
{
    static const char units[] = "KMGT";
    uint64_t v;
    int64_t factor = plain, ret;
    if (!bj_slice_number(&s, &v) || v > INT64_MAX)
        return -1;
    if (s.n > 0) {
        const char letter = s.p[0] & ~0x20; /* upper case */
        const char *unit = memchr(units, letter, 4);
        factor = 1;
        if (unit) {
            factor = INT64_C(1024) << (10 * (unit - units));
            s = (struct bj_slice){s.p + 1, s.n - 1};
        }
        /* "b" alone is bytes in PBS; Slurm has no such unit. */
        if (s.n > 1 || (s.n == 1 && (s.p[0] & ~0x20) != 'B') ||
            (!unit && plain != 1))
            return -1;
    }
    return __builtin_mul_overflow((int64_t)v, factor, &ret) ? -1 : ret;
}

void bj_request_put(struct bj_request_out *o, enum bj_request_part part,
                    struct bj_slice option, struct bj_slice replaces)
{
    struct bj_buf *b = &o->option[part], *old = &o->replaces[part];
    o->in[part] = (unsigned char)(part + 1);
    bj_buf_str(b, b->len > 0 ? " " : "");
    bj_buf_slice(b, option);
    if (replaces.n == 0)
        return;
    bj_buf_str(old, old->len > 0 ? " " : "");
    bj_buf_slice(old, replaces);
}
