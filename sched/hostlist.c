#include "sched/hostlist.h"

#include "base/array.h"
#include "sched/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX (1ull << 62)

/* Cut "8" or "08-12" off the text in brackets, from r->next on. */
static int next_range(struct bj_host_range *r)
{
    struct bj_slice s = {r->text.p + r->next, r->text.n - r->next};
    struct bj_slice item;
    uint64_t first, last;
    if (s.n == 0 || !bj_slice_field(&s, ',', &item) || item.n == 0)
        return -EINVAL;
    r->next += item.n + 1;
    const size_t n = item.n;
    if (!bj_slice_number(&item, &first))
        return n > 18 ? -E2BIG : -EINVAL;
    const size_t width = n - item.n;
    last = first;
    if (item.n > 0) {
        if (item.p[0] != '-')
            return -EINVAL;
        item.p++;
        item.n--;
        if (item.n > 18)
            return -E2BIG;
        if (bj_slice_u64(item, &last) < 0 || last < first)
            return -EINVAL;
    }
    if (width > 18)
        return -E2BIG;
    r->at = first;
    r->last = last;
    r->width = (unsigned)width;
    return 0;
}

/* The number of names that a bracket stands for. */
static int count_bracket(struct bj_host_range *r, uint64_t *ret)
{
    uint64_t n = 0;
    r->next = 0;
    do {
        int e = next_range(r);
        if (e < 0)
            return e;
        n += r->last - r->at + 1;
        if (n > NAMES_MAX)
            return -E2BIG;
    } while (r->next < r->text.n);
    /* A comma at the end leaves an empty range. */
    if (r->next == r->text.n)
        return -EINVAL;
    *ret = n;
    return 0;
}

static bool hostlist_is_name(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || memchr("[],\x7f", s.p[i], 4))
            return false;
    return true;
}

/* Cut one element off *rest: up to a comma outside of brackets. */
static int cut_element(struct bj_slice *rest, struct bj_slice *ret)
{
    bool inside = false;
    size_t n = 0;
    for (; n < rest->n; n++) {
        const char c = rest->p[n];
        if (c == ',' && !inside)
            break;
        if ((c == '[' && inside) || (c == ']' && !inside))
            return -EINVAL;
        if (c == '[' || c == ']')
            inside = c == '[';
    }
    if (inside || n == 0 || n + 1 == rest->n)
        return -EINVAL;
    *ret = (struct bj_slice){rest->p, n};
    n += n < rest->n;
    rest->p += n;
    rest->n -= n;
    return 0;
}

/* Split an element into brackets and the text between them. */
static int split_element(struct bj_hostlist *l, struct bj_slice s)
{
    size_t longest = 0;
    l->ranges = 0;
    for (;;) {
        const char *open = s.n > 0 ? memchr(s.p, '[', s.n) : NULL;
        if (!open)
            break;
        if (l->ranges == BJ_HOST_BRACKETS)
            return -E2BIG;
        struct bj_host_range *r = &l->range[l->ranges++];
        const char *close = memchr(open, ']', s.n - (size_t)(open - s.p));
        r->before = (struct bj_slice){s.p, (size_t)(open - s.p)};
        r->text = (struct bj_slice){open + 1, (size_t)(close - open) - 1};
        s.n -= (size_t)(close - s.p) + 1;
        s.p = close + 1;
        longest += r->before.n + 18;
        if (!hostlist_is_name(r->before))
            return -EINVAL;
    }
    l->tail = s;
    if (!hostlist_is_name(s))
        return -EINVAL;
    return longest + s.n > BJ_HOST_MAX ? -E2BIG : 0;
}

static int count_element(struct bj_hostlist *l, uint64_t *total)
{
    struct bj_slice element;
    uint64_t n = 1, k;
    int r = cut_element(&l->rest, &element);
    if (r == 0)
        r = split_element(l, element);
    for (unsigned i = 0; r == 0 && i < l->ranges; i++) {
        r = count_bracket(&l->range[i], &k);
        if (r == 0 && __builtin_mul_overflow(n, k, &n))
            r = -E2BIG;
    }
    if (r == 0 &&
        (__builtin_add_overflow(*total, n, total) || *total > NAMES_MAX))
        r = -E2BIG;
    return r;
}

/* Write the name at the current place of the ranges. */
static struct bj_slice write_name(struct bj_hostlist *l)
{
    char *to = l->name;
    for (unsigned i = 0; i < l->ranges; i++) {
        const struct bj_host_range *r = &l->range[i];
        memcpy(to, r->before.p, r->before.n);
        to += r->before.n;
        unsigned n = 1;
        for (uint64_t v = r->at; v >= 10; v /= 10)
            n++;
        if (n < r->width)
            n = r->width;
        uint64_t v = r->at;
        for (unsigned k = n; k-- > 0; v /= 10)
            to[k] = (char)('0' + v % 10);
        to += n;
    }
    if (l->tail.n > 0)
        memcpy(to, l->tail.p, l->tail.n);
    to[l->tail.n] = '\0';
    return (struct bj_slice){l->name, (size_t)(to - l->name) + l->tail.n};
}

/* Advance the last bracket; at its end restart it and advance the one before.
 * False when all are at their end. */
static bool step_ranges(struct bj_hostlist *l)
{
    for (unsigned i = l->ranges; i-- > 0;) {
        struct bj_host_range *r = &l->range[i];
        if (r->at < r->last) {
            r->at++;
            return true;
        }
        const bool through = r->next >= r->text.n;
        if (through)
            r->next = 0;
        next_range(r);
        if (!through)
            return true;
    }
    return false;
}

static bool slurm_next(struct bj_hostlist *l, struct bj_slice *ret_name)
{
    if (l->more)
        l->more = step_ranges(l);
    if (!l->more) {
        struct bj_slice element;
        if (l->rest.n == 0)
            return false;
        if (cut_element(&l->rest, &element) < 0 ||
            split_element(l, element) < 0)
            return false;
        for (unsigned i = 0; i < l->ranges; i++) {
            l->range[i].next = 0;
            next_range(&l->range[i]);
        }
        l->more = true;
    }
    *ret_name = write_name(l);
    return true;
}

/* Cut the next item of a list without brackets; false at the end. */
static bool cut_item(struct bj_hostlist *l, struct bj_slice *ret)
{
    const char *seps = l->grammar == BJ_HOSTS_PBS ? "+()" : ": \t\n\r";
    const size_t kinds = strlen(seps);
    struct bj_slice s = l->rest;
    while (s.n > 0 && memchr(seps, s.p[0], kinds)) {
        s.p++;
        s.n--;
    }
    size_t n = 0;
    if (s.n == 0)
        return false;
    while (n < s.n && !memchr(seps, s.p[n], kinds))
        n++;
    l->rest = (struct bj_slice){s.p + n, s.n - n};
    *ret = (struct bj_slice){s.p, n};
    return n > 0;
}

/* The number of slots of Torque: "0-3,7" has 5; 1 for any other text. */
static uint64_t count_slots(struct bj_slice s)
{
    struct bj_slice item;
    uint64_t n = 0, first, last;
    while (bj_slice_field(&s, ',', &item)) {
        if (!bj_slice_number(&item, &first))
            return 1;
        last = first;
        if (item.n > 0 && item.p[0] == '-') {
            item.p++;
            item.n--;
            if (!bj_slice_number(&item, &last))
                return 1;
        }
        if (item.n > 0 || last < first || last - first > UINT32_MAX)
            return 1;
        n += last - first + 1;
    }
    return n ? n : 1;
}

/* "n1/0*4", "n1/0-3", "n1:ncpus=4:mem=2gb", "n1[0]:ncpus=4": vnode 0 of n1 */
static int pbs_item(struct bj_hostlist *l, struct bj_slice s,
                    struct bj_slice *name)
{
    size_t n = 0;
    while (n < s.n && s.p[n] != '/' && s.p[n] != ':' && s.p[n] != '[')
        n++;
    *name = (struct bj_slice){s.p, n};
    const bool has_slots = n < s.n && s.p[n] == '/';
    const char *star = has_slots ? memchr(s.p, '*', s.n) : NULL;
    if (has_slots && !star)
        l->slots = count_slots((struct bj_slice){s.p + n + 1, s.n - n - 1});
    if (star) {
        struct bj_slice times = {star + 1, s.n - (size_t)(star - s.p) - 1};
        if (bj_slice_u64(times, &l->slots) < 0)
            return -EINVAL;
    }
    return 0;
}

/* "4*hostA" */
static int lsf_item(struct bj_hostlist *l, struct bj_slice s,
                    struct bj_slice *name)
{
    struct bj_slice rest = s;
    *name = s;
    if (!bj_slice_number(&rest, &l->slots) || rest.n == 0 || rest.p[0] != '*') {
        l->slots = 1;
        return 0;
    }
    *name = (struct bj_slice){rest.p + 1, rest.n - 1};
    return 0;
}

/* 1, 0 at the end, or an error. */
static int item_next(struct bj_hostlist *l, struct bj_slice *ret_name)
{
    struct bj_slice item, name;
    l->slots = 1;
    if (!cut_item(l, &item))
        return 0;
    int r = l->grammar == BJ_HOSTS_PBS ? pbs_item(l, item, &name)
                                       : lsf_item(l, item, &name);
    if (r < 0 || name.n == 0 || !hostlist_is_name(name))
        return -EINVAL;
    if (name.n > BJ_HOST_MAX)
        return -E2BIG;
    memcpy(l->name, name.p, name.n);
    l->name[name.n] = '\0';
    *ret_name = (struct bj_slice){l->name, name.n};
    return 1;
}

static void hostlist_start(struct bj_hostlist *l, struct bj_slice s,
                           enum bj_hosts_grammar g)
{
    l->rest = bj_word_text(bj_slice_trim(s));
    l->grammar = g;
    l->ranges = 0;
    l->tail = (struct bj_slice){NULL, 0};
    l->more = false;
    l->slots = 1;
    l->name[0] = '\0';
}

int bj_hostlist_count(struct bj_slice s, enum bj_hosts_grammar g, uint64_t *ret)
{
    struct bj_hostlist l;
    struct bj_slice name;
    uint64_t n = 0;
    int r = 0;
    hostlist_start(&l, s, g);
    if (g == BJ_HOSTS_SLURM) {
        while (r == 0 && l.rest.n > 0)
            r = count_element(&l, &n);
    } else {
        while ((r = item_next(&l, &name)) > 0)
            n++;
    }
    if (r == 0)
        *ret = n;
    return r;
}

int bj_hostlist_begin(struct bj_hostlist *l, struct bj_slice s,
                      enum bj_hosts_grammar g)
{
    uint64_t n;
    int r = bj_hostlist_count(s, g, &n);
    if (r == 0)
        hostlist_start(l, s, g);
    return r;
}

bool bj_hostlist_next(struct bj_hostlist *l, struct bj_slice *ret_name)
{
    return l->grammar == BJ_HOSTS_SLURM ? slurm_next(l, ret_name)
                                        : item_next(l, ret_name) > 0;
}

/* --- folding --------------------------------------------------------------*/

/* A name, split where its last digits begin. */
struct bj_folded_host {
    struct bj_slice head, digits; /* digits may be empty */
    uint64_t number;
};

static struct bj_folded_host hostlist_split(struct bj_slice name)
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

static int hostlist_compare(struct bj_slice a, struct bj_slice b)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    const int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

/* 2 before 10, and 2 before 02. */
static int hostlist_by_name(const void *pa, const void *pb)
{
    const struct bj_folded_host *a = pa, *b = pb;
    int c = hostlist_compare(a->head, b->head);
    if (c == 0)
        c = (a->number > b->number) - (a->number < b->number);
    return c ? c : (a->digits.n > b->digits.n) - (a->digits.n < b->digits.n);
}

static size_t drop_repeated(struct bj_folded_host *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || hostlist_by_name(&v[kept - 1], &v[i]) != 0)
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
static void hostlist_put_group(struct bj_buf *to,
                               const struct bj_folded_host *v, size_t n)
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
    bj_buf_reset(to);
    for (size_t i = 0, k; i < n; i += k) {
        /* "n" has no digits and does not belong to "n1". */
        for (k = 1; v[i].digits.n > 0 && i + k < n &&
                    bj_slice_eq(v[i].head, v[i + k].head);
             k++)
            ;
        bj_buf_str(to, i > 0 ? "," : "");
        hostlist_put_group(to, &v[i], k);
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
        f->host[n++] = hostlist_split(bj_arena_copy(&f->arena, name));
        if (f->arena.failed)
            return -ENOMEM;
        if (__builtin_add_overflow(slots, l.slots, &slots))
            return -E2BIG;
    }
    if (n > 1)
        qsort(f->host, n, sizeof(*f->host), hostlist_by_name);
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
