#include "sched/hostfold.h"

#include "base/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A name, split where its last digits begin. */
struct bj_folded_host {
    struct bj_slice head, digits; /* digits may be empty */
    uint64_t number;
};

static struct bj_folded_host split(struct bj_slice name)
{
    /* What may be in brackets, and before them (sched/hostlist.h). */
    enum { DIGITS = 18, HEAD = BJ_HOST_MAX - DIGITS };
    size_t n = name.n;
    struct bj_folded_host h = {.number = 0};
    while (n > 0 && name.p[n - 1] >= '0' && name.p[n - 1] <= '9')
        n--;
    if (name.n - n > DIGITS || n > HEAD)
        n = name.n;
    h.head = (struct bj_slice){name.p, n};
    h.digits = (struct bj_slice){name.p + n, name.n - n};
    if (h.digits.n > 0)
        bj_slice_u64(h.digits, &h.number);
    return h;
}

static int compare(struct bj_slice a, struct bj_slice b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

/* 2 before 10, and 2 before 02. */
static int by_name(const void *pa, const void *pb)
{
    const struct bj_folded_host *a = pa, *b = pb;
    int c = compare(a->head, b->head);
    if (c == 0)
        c = (a->number > b->number) - (a->number < b->number);
    return c ? c : (a->digits.n > b->digits.n) - (a->digits.n < b->digits.n);
}

static size_t drop_repeated(struct bj_folded_host *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || by_name(&v[kept - 1], &v[i]) != 0)
            v[kept++] = v[i];
    return kept;
}

static unsigned width_of(uint64_t v)
{
    unsigned n = 1;
    for (; v >= 10; v /= 10)
        n++;
    return n;
}

/* Is b the next number after a, in a range that begins with first? */
static bool follows(const struct bj_folded_host *first,
                    const struct bj_folded_host *a,
                    const struct bj_folded_host *b)
{
    const size_t width = width_of(b->number);
    return b->number == a->number + 1 &&
           b->digits.n == (width > first->digits.n ? width : first->digits.n);
}

/* Hosts with the same head. */
static void put_group(struct bj_buf *to, const struct bj_folded_host *v,
                      size_t n)
{
    bj_buf_slice(to, v[0].head);
    if (n > 1)
        bj_buf_str(to, "[");
    for (size_t i = 0, last; i < n; i = last + 1) {
        for (last = i; last + 1 < n && follows(&v[i], &v[last], &v[last + 1]);)
            last++;
        bj_buf_str(to, i > 0 ? "," : "");
        bj_buf_slice(to, v[i].digits);
        if (last == i)
            continue;
        bj_buf_str(to, "-");
        bj_buf_slice(to, v[last].digits);
    }
    if (n > 1)
        bj_buf_str(to, "]");
}

static void put_all(struct bj_buf *to, const struct bj_folded_host *v, size_t n)
{
    to->len = 0;
    for (size_t i = 0, k; i < n; i += k) {
        /* "n" has no digits and does not belong to "n1". */
        for (k = 1; v[i].digits.n > 0 && i + k < n &&
                    bj_slice_eq(v[i].head, v[i + k].head);
             k++)
            ;
        bj_buf_str(to, i > 0 ? "," : "");
        put_group(to, &v[i], k);
    }
}

int bj_hostfold(struct bj_hostfold *f, struct bj_slice list,
                enum bj_hosts_grammar g, struct bj_hosts *ret)
{
    struct bj_hostlist l;
    struct bj_slice name;
    uint64_t slots = 0;
    size_t n = 0;
    int r = bj_hostlist_begin(&l, list, g);
    if (r < 0)
        return r;
    bj_arena_reset(&f->arena);
    while (bj_hostlist_next(&l, &name)) {
        if (!BJ_GROW(f->host, n + 1, f->cap))
            return -ENOMEM;
        f->host[n++] = split(bj_arena_copy(&f->arena, name));
        if (f->arena.failed)
            return -ENOMEM;
        if (__builtin_add_overflow(slots, l.slots, &slots))
            return -E2BIG;
    }
    if (n > 1)
        qsort(f->host, n, sizeof(*f->host), by_name);
    n = drop_repeated(f->host, n);
    put_all(&f->text, f->host, n);
    if (f->text.failed)
        return -ENOMEM;
    *ret = (struct bj_hosts){{f->text.p, f->text.len}, n, slots};
    return 0;
}

void bj_hostfold_free(struct bj_hostfold *f)
{
    bj_arena_free(&f->arena);
    free(f->host);
    bj_buf_free(&f->text);
    *f = (struct bj_hostfold){.host = NULL};
}
