#include "statsdb/import/pbs_size.h"

#include "base/array.h"
#include "store/db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_MAX = 10000 }; /* of a run; what exceeds it is left out */

void bj_pbs_sizes_free(struct bj_pbs_sizes *s)
{
    free(s->size);
    *s = (struct bj_pbs_sizes){.size = NULL};
}

/* The run time of the first n sizes; BJ_SQL_NULL if they do not cover the time
 * from *at on, which becomes the end of the last one. */
static int64_t elapsed_until(const struct bj_pbs_sizes *s, size_t n,
                             int64_t *at)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t *v = s->size[i].v;
        if (v[BJ_SIZE_START] != *at || v[BJ_SIZE_END] == BJ_SQL_NULL ||
            v[BJ_SIZE_ELAPSED] == BJ_SQL_NULL ||
            __builtin_add_overflow(sum, v[BJ_SIZE_ELAPSED], &sum))
            return BJ_SQL_NULL;
        *at = v[BJ_SIZE_END];
    }
    return sum;
}

/* The run time of size n, which ends now: that of the run less that of the
 * sizes before.  Where PBS's run time is less than theirs, it is that of the
 * clock. */
static int64_t elapsed_of(const struct bj_pbs_sizes *s, size_t n, int64_t end,
                          const struct bj_pbs_size_record *r)
{
    int64_t start = r->run_start;
    const int64_t before = elapsed_until(s, n, &start);
    if (before == BJ_SQL_NULL || r->run_start == BJ_SQL_NULL ||
        end < r->run_start ||
        (n < s->n && s->size[n].v[BJ_SIZE_START] != start))
        return BJ_SQL_NULL;
    int64_t all = end - r->run_start;
    if (r->suspended != BJ_SQL_NULL)
        all -= r->suspended < all ? r->suspended : all;
    if (r->kind == BJ_SIZE_LAST && r->elapsed != BJ_SQL_NULL &&
        r->elapsed >= before)
        all = r->elapsed;
    return all > before ? all - before : 0;
}

static int pbs_size_add(struct bj_pbs_sizes *s, size_t at,
                        const struct bj_size_row *size)
{
    if (s->n == SIZES_MAX)
        return 0;
    if (!BJ_GROW(s->size, s->n + 1, s->cap))
        return -ENOMEM;
    memmove(&s->size[at + 1], &s->size[at], (s->n - at) * sizeof(*s->size));
    s->size[at] = *size;
    s->n++;
    return 1;
}

/* Set what the record knows; 1 if that changes the size. */
static int set(struct bj_size_row *to, const struct bj_size_row *from)
{
    int changed = 0;
    for (int i = 0; i < BJ_SIZE_COLS; i++)
        if (from->v[i] != BJ_SQL_NULL && from->v[i] != to->v[i]) {
            to->v[i] = from->v[i];
            changed = 1;
        }
    return changed;
}

static int pbs_size_begin(struct bj_pbs_sizes *s,
                          const struct bj_pbs_size_record *r)
{
    const int64_t start = r->size.v[BJ_SIZE_START];
    size_t at = s->n;
    while (at > 0 && (s->size[at - 1].v[BJ_SIZE_START] == BJ_SQL_NULL ||
                      s->size[at - 1].v[BJ_SIZE_START] > start))
        at--;
    if (at > 0 && s->size[at - 1].v[BJ_SIZE_START] == start)
        return set(&s->size[at - 1], &r->size);
    return pbs_size_add(s, at, &r->size);
}

static int pbs_size_end(struct bj_pbs_sizes *s,
                        const struct bj_pbs_size_record *r)
{
    const int64_t at = r->size.v[BJ_SIZE_END];
    struct bj_size_row size = r->size;
    size_t n = s->n; /* the size that ends: the last one that began before */
    for (size_t i = 0; r->kind == BJ_SIZE_ENDS && i < s->n; i++)
        if (s->size[i].v[BJ_SIZE_END] == at)
            return 0; /* read before, or the second change in a second */
    while (n > 0 && (s->size[n - 1].v[BJ_SIZE_START] == BJ_SQL_NULL ||
                     s->size[n - 1].v[BJ_SIZE_START] > at))
        n--;
    if (n == 0 && r->kind == BJ_SIZE_LAST)
        return 0; /* when it began is not known */
    if (n == 0) {
        size.v[BJ_SIZE_START] = r->run_start;
        size.v[BJ_SIZE_ELAPSED] = elapsed_of(s, 0, at, r);
        return pbs_size_add(s, 0, &size);
    }
    if (s->size[n - 1].v[BJ_SIZE_END] != BJ_SQL_NULL)
        return 0; /* what began after it is not known */
    size.v[BJ_SIZE_ELAPSED] = elapsed_of(s, n - 1, at, r);
    return set(&s->size[n - 1], &size);
}

int bj_pbs_sizes_join(struct bj_pbs_sizes *s,
                      const struct bj_pbs_size_record *record)
{
    return record->kind == BJ_SIZE_BEGINS ? pbs_size_begin(s, record)
                                          : pbs_size_end(s, record);
}

/* --- sums -----------------------------------------------------------------*/

/* An unknown factor makes the sum unknown. */
static void add_product(int64_t *to, int64_t a, int64_t b)
{
    int64_t v;
    if (*to == BJ_SQL_NULL || a == BJ_SQL_NULL || b == BJ_SQL_NULL ||
        __builtin_mul_overflow(a, b, &v) || __builtin_add_overflow(*to, v, to))
        *to = BJ_SQL_NULL;
}

struct bj_size_sums bj_pbs_sizes_sums(const struct bj_pbs_sizes *s,
                                      int64_t run_start)
{
    const struct bj_size_sums unknown = {BJ_SQL_NULL, BJ_SQL_NULL, BJ_SQL_NULL,
                                         BJ_SQL_NULL};
    struct bj_size_sums sum = {0, 0, 0, 0};
    if (s->n == 0 || run_start == BJ_SQL_NULL ||
        elapsed_until(s, s->n, &run_start) == BJ_SQL_NULL)
        return unknown;
    for (size_t i = 0; i < s->n; i++) {
        const int64_t *v = s->size[i].v;
        const int64_t memory = v[BJ_SIZE_MEMORY];
        add_product(&sum.cpu_sec, v[BJ_SIZE_CPUS], v[BJ_SIZE_ELAPSED]);
        add_product(&sum.node_sec, v[BJ_SIZE_NODES], v[BJ_SIZE_ELAPSED]);
        add_product(&sum.gpu_sec, v[BJ_SIZE_GPUS], v[BJ_SIZE_ELAPSED]);
        add_product(&sum.memory_mib_sec,
                    memory == BJ_SQL_NULL ? BJ_SQL_NULL : memory >> 20,
                    v[BJ_SIZE_ELAPSED]);
    }
    return sum;
}
