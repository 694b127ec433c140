#include "core/collect/procstat.h"

#include "base/absent.h"
#include "base/text.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FIELD(n, member)                                                       \
    {                                                                          \
        n, offsetof(struct bj_procstat, member)                                \
    }

/* In rising order.  All fields up to the start time exist since Linux 2.6. */
static const struct {
    unsigned number;
    size_t off;
} fields[] = {
    FIELD(4, ppid),       FIELD(14, utime_ticks), FIELD(15, stime_ticks),
    FIELD(20, threads),   FIELD(22, start_ticks), FIELD(28, stack),
    FIELD(33, sigignore), FIELD(39, cpu),
};
enum { FIRST_NUMBER = 4, NEEDED = 5, WANTED = 8 };

/* The name and the state; *rest begins after them. */
static int parse_head(struct bj_slice line, struct bj_procstat *ret,
                      struct bj_slice *rest)
{
    const char *open = line.n > 0 ? memchr(line.p, '(', line.n) : NULL;
    const char *close = line.n > 0 ? memrchr(line.p, ')', line.n) : NULL;
    const char *end = line.p + line.n;
    if (!open || !close || close < open || end - close < 4 || close[1] != ' ' ||
        close[3] != ' ')
        return -EINVAL;
    ret->comm = (struct bj_slice){open + 1, (size_t)(close - open - 1)};
    ret->state = close[2];
    *rest = (struct bj_slice){close + 4, (size_t)(end - close - 4)};
    return 0;
}

/* Skip n fields; false if there are fewer. */
static bool skip_fields(struct bj_slice *rest, unsigned n)
{
    const char *p = rest->p, *end = p + rest->n;
    for (; n > 0; n--) {
        while (p < end && *p != ' ')
            p++;
        if (p == end)
            return false;
        p++;
    }
    *rest = (struct bj_slice){p, (size_t)(end - p)};
    return true;
}

int bj_procstat_parse(struct bj_slice line, struct bj_procstat *ret)
{
    struct bj_procstat st = {.cpu = BJ_ABSENT};
    struct bj_slice rest;
    if (parse_head(line, &st, &rest) < 0)
        return -EINVAL;
    unsigned at = FIRST_NUMBER;
    for (unsigned i = 0; i < WANTED; i++) {
        uint64_t *v = (uint64_t *)(void *)((char *)&st + fields[i].off);
        if (!skip_fields(&rest, fields[i].number - at) ||
            !bj_slice_number(&rest, v)) {
            if (i < NEEDED)
                return -EINVAL;
            break;
        }
        at = fields[i].number;
    }
    *ret = st;
    return 0;
}

int bj_procstat_children(struct bj_slice line, uint64_t *ticks)
{
    enum { CUTIME = 16 };
    struct bj_procstat st;
    struct bj_slice rest;
    uint64_t user, system;
    if (parse_head(line, &st, &rest) < 0 ||
        !skip_fields(&rest, CUTIME - FIRST_NUMBER) ||
        !bj_slice_number(&rest, &user) || !skip_fields(&rest, 1) ||
        !bj_slice_number(&rest, &system))
        return -EINVAL;
    *ticks = user + system;
    return 0;
}

char bj_procstat_state(struct bj_slice line)
{
    const char *close = line.n > 0 ? memrchr(line.p, ')', line.n) : NULL;
    return close && line.p + line.n - close > 2 ? close[2] : '?';
}

static const struct bj_slice io_keys[BJ_PROCIO_FIELDS] = {
    {"rchar", 5},
    {"wchar", 5},
    {"syscr", 5},
    {"syscw", 5},
    {"read_bytes", 10},
    {"write_bytes", 11},
    {"cancelled_write_bytes", 21},
};

/* The index of the line's key, and its number; -1 for other lines.  The file
 * has the order of the table, so the expected key is tried first. */
static int io_line(struct bj_slice line, unsigned expect, uint64_t *ret)
{
    struct bj_slice key;
    if (!bj_slice_field(&line, ':', &key))
        return -1;
    for (unsigned i = 0; i < BJ_PROCIO_FIELDS; i++) {
        unsigned k = (expect + i) % BJ_PROCIO_FIELDS;
        if (!bj_slice_eq(key, io_keys[k]))
            continue;
        return bj_slice_u64(bj_slice_trim(line), ret) == 0 ? (int)k : -1;
    }
    return -1;
}

int bj_procio_parse(struct bj_slice text, uint64_t ret[BJ_PROCIO_FIELDS])
{
    uint64_t v[BJ_PROCIO_FIELDS] = {0}, number = 0;
    unsigned got = 0, expect = 0;
    struct bj_slice line;
    while (bj_slice_line(&text, &line)) {
        int k = io_line(line, expect, &number);
        if (k < 0)
            continue;
        v[k] = number;
        got |= 1u << k;
        expect = (unsigned)k + 1;
    }
    if (got != (1u << BJ_PROCIO_FIELDS) - 1)
        return -EINVAL;
    memcpy(ret, v, sizeof(v));
    return 0;
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

uint64_t bj_proc_hash(struct bj_slice s)
{
    /* Two lanes: the multiplications need not wait for each other. */
    uint64_t a = s.n, b = ~(uint64_t)s.n, v[2];
    while (s.n >= sizeof(v)) {
        memcpy(v, s.p, sizeof(v));
        a = mix(a, v[0]);
        b = mix(b, v[1]);
        s.p += sizeof(v);
        s.n -= sizeof(v);
    }
    memset(v, 0, sizeof(v));
    if (s.n > 0)
        memcpy(v, s.p, s.n);
    return mix(mix(a, v[0]), mix(b, v[1]));
}

/* Reading directories without opendir(3), which allocates. */

void bj_dents_init(struct bj_dents *d, int fd)
{
    d->fd = fd;
    d->error = 0;
    d->n = d->at = 0;
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

const struct bj_dent *bj_dents_next(struct bj_dents *d)
{
    for (;;) {
        if (d->at >= d->n) {
            d->at = 0;
            d->n = syscall(SYS_getdents64, d->fd, d->buf, sizeof(d->buf));
            if (d->n <= 0) {
                d->error = d->n < 0 ? -errno : 0;
                d->n = 0;
                return NULL;
            }
        }
        const struct bj_dent *e =
            (const struct bj_dent *)(const void *)(d->buf + d->at);
        d->at += e->reclen;
        if (!is_dots(e->name))
            return e;
    }
}
