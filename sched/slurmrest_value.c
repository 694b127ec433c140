#include "sched/slurmrest_value.h"

#include "sched/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Plain numbers may be Slurm's "no value" of 16, 32 and 64 bits. */
static uint64_t slurmrest_value_known(uint64_t v)
{
    return v == 0xfffffffe || v >= UINT64_MAX - 2 ? BJ_ABSENT : v;
}

/* 1: infinite; 0: *ret; -ENOENT: none; else an error.  "No value" of 64 bits
 * may have a sign: the energy of a job is -2 where it is not measured. */
static int get_number(const struct bj_json *v, uint64_t *ret)
{
    enum { NO_VALUE = -2 };
    uint64_t n;
    int64_t i;
    int r = bj_json_slurm_u64(v, &n);
    if (r == -ERANGE && bj_json_i64(v, &i) == 0 && i == NO_VALUE)
        return -ENOENT;
    if (r == 0 && slurmrest_value_known(n) == BJ_ABSENT)
        return -ENOENT;
    if (r == 0)
        *ret = n;
    return r;
}

int bj_rest_text(const struct bj_json *v, struct bj_arena *a, void *to)
{
    (void)a;
    if (bj_json_kind(v) != BJ_JSON_STRING) /* "name": 0 */
        return 0;
    const struct bj_slice s = bj_word_text(bj_json_text(v));
    if (s.n > 0)
        *(struct bj_slice *)to = s;
    return 0;
}

int bj_rest_words(const struct bj_json *v, struct bj_arena *a, void *to)
{
    if (bj_json_kind(v) != BJ_JSON_ARRAY)
        return bj_rest_text(v, a, to);
    size_t n = 0;
    BJ_JSON_EACH(word, v)
    n += bj_json_text(word).n + 1;
    if (n == 0)
        return 0;
    char *text = bj_arena_alloc(a, n);
    if (!text)
        return -ENOMEM;
    size_t at = 0;
    BJ_JSON_EACH(word, v)
    {
        const struct bj_slice s = bj_json_text(word);
        if (at > 0)
            text[at++] = '+';
        if (s.n > 0)
            memcpy(text + at, s.p, s.n);
        at += s.n;
    }
    *(struct bj_slice *)to = (struct bj_slice){text, at};
    return 0;
}

int bj_rest_number(const struct bj_json *v, struct bj_arena *a, void *to)
{
    (void)a;
    const int r = get_number(v, to);
    return r == -ENOENT || r == 1 ? 0 : r;
}

int bj_rest_time(const struct bj_json *v, struct bj_arena *a, void *to)
{
    uint64_t sec = 0;
    const int r = bj_rest_number(v, a, &sec);
    if (r == 0 && sec > 0 && sec <= INT64_MAX)
        *(uint64_t *)to = sec;
    return r;
}

int bj_rest_minutes(const struct bj_json *v, struct bj_arena *a, void *to)
{
    uint64_t minutes = 0, *sec = to;
    (void)a;
    const int r = get_number(v, &minutes);
    if (r == 1 || (r == 0 && minutes == UINT32_MAX))
        *sec = BJ_UNLIMITED;
    else if (r == 0 && __builtin_mul_overflow(minutes, 60u, sec))
        return -ERANGE;
    return r == -ENOENT || r == 1 ? 0 : r;
}

int bj_rest_usec(const struct bj_json *v, struct bj_arena *a, void *to)
{
    uint64_t sec = BJ_ABSENT, usec = 0, sum;
    int r = bj_rest_number(bj_json_get(v, "seconds"), a, &sec);
    if (r == 0)
        r = bj_rest_number(bj_json_get(v, "microseconds"), a, &usec);
    if (r < 0 || sec == BJ_ABSENT)
        return r;
    if (__builtin_mul_overflow(sec, 1000000u, &sum) ||
        __builtin_add_overflow(sum, usec, &sum) || sum >= BJ_UNLIMITED)
        return -ERANGE;
    *(uint64_t *)to = sum;
    return 0;
}

int bj_rest_energy(const struct bj_json *v, struct bj_arena *a, void *to)
{
    uint64_t joules = 0;
    const int r = bj_rest_number(v, a, &joules);
    if (r == 0 && joules > 0)
        *(uint64_t *)to = joules;
    return r;
}

int bj_rest_exit(const struct bj_json *v, struct bj_arena *a, void *to)
{
    uint64_t *pair = to, code = BJ_ABSENT, sig = BJ_ABSENT;
    const struct bj_json *signal = bj_json_get(v, "signal");
    int r = bj_rest_number(bj_json_get(v, "return_code"), a, &code);
    if (r == 0)
        r = bj_rest_number(bj_json_get(signal, "id"), a, &sig);
    if (r == 0 && sig == BJ_ABSENT)
        r = bj_rest_number(bj_json_get(signal, "signal_id"), a, &sig);
    if (r < 0 || (code == BJ_ABSENT && sig == BJ_ABSENT))
        return r;
    pair[0] = code == BJ_ABSENT ? 0 : code;
    pair[1] = sig == BJ_ABSENT ? 0 : sig;
    return 0;
}

static const struct {
    struct bj_slice name;
    enum bj_tres_type type;
} types[] = {
    {BJ_WORD("cpu"), BJ_TRES_CPU},       {BJ_WORD("mem"), BJ_TRES_MEM},
    {BJ_WORD("node"), BJ_TRES_NODE},     {BJ_WORD("billing"), BJ_TRES_BILLING},
    {BJ_WORD("energy"), BJ_TRES_ENERGY}, {BJ_WORD("vmem"), BJ_TRES_VMEM},
    {BJ_WORD("pages"), BJ_TRES_PAGES},   {BJ_WORD("gres"), BJ_TRES_GRES},
    {BJ_WORD("fs"), BJ_TRES_FS},         {BJ_WORD("license"), BJ_TRES_LICENSE},
    {BJ_WORD("bb"), BJ_TRES_BB},         {BJ_WORD("ic"), BJ_TRES_IC},
};

static void slurmrest_value_put_names(const struct bj_json *v,
                                      struct bj_tres *t)
{
    const struct bj_slice type = bj_json_text(bj_json_get(v, "type"));
    *t = (struct bj_tres){.type = BJ_TRES_OTHER, .name = type};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (bj_slice_eq(type, types[i].name))
            t->type = types[i].type;
    if (t->type == BJ_TRES_OTHER)
        return;
    t->name = bj_json_text(bj_json_get(v, "name"));
    const char *colon = t->type == BJ_TRES_GRES && t->name.n > 0
                            ? memchr(t->name.p, ':', t->name.n)
                            : NULL;
    if (colon) {
        const size_t n = (size_t)(colon - t->name.p);
        t->model = (struct bj_slice){colon + 1, t->name.n - n - 1};
        t->name.n = n;
    }
}

int bj_rest_tres(const struct bj_json *v, struct bj_arena *a, void *to)
{
    struct bj_tres_list *list = to;
    (void)a;
    list->n = 0;
    BJ_JSON_EACH(entry, v)
    {
        struct bj_tres t;
        const int r = get_number(bj_json_get(entry, "count"), &t.count);
        const uint64_t count = t.count;
        if (r == -ENOENT || r == 1)
            continue;
        if (r < 0)
            return r;
        slurmrest_value_put_names(entry, &t);
        t.count = count;
        if (t.type == BJ_TRES_MEM &&
            __builtin_mul_overflow(count, 1u << 20, &t.count))
            return -ERANGE;
        if (list->n < BJ_TRES_MAX)
            list->v[list->n++] = t;
    }
    return 0;
}

static int slurmrest_value_by_name(const void *pa, const void *pb)
{
    return strcmp(pa, pb);
}

int bj_rest_tres_text(const struct bj_json *v, struct bj_arena *a, void *to)
{
    enum { LEN = 80 };
    char text[BJ_TRES_MAX][LEN];
    size_t n = 0, len = 0;
    BJ_JSON_EACH(entry, v)
    {
        const struct bj_slice type = bj_json_text(bj_json_get(entry, "type"));
        const struct bj_slice name = bj_json_text(bj_json_get(entry, "name"));
        uint64_t count;
        if (get_number(bj_json_get(entry, "count"), &count) != 0 ||
            n == BJ_TRES_MAX)
            continue;
        const int k =
            snprintf(text[n], LEN, "%.*s%s%.*s=%llu%s", (int)(type.n % LEN),
                     type.p, name.n > 0 ? "/" : "", (int)(name.n % LEN),
                     name.n > 0 ? name.p : "", (unsigned long long)count,
                     bj_slice_eq(type, BJ_SLICE("mem")) ? "M" : "");
        if (type.n == 0 || k >= LEN)
            continue;
        len += (size_t)k + 1;
        n++;
    }
    if (n == 0)
        return 0;
    qsort(text, n, LEN, slurmrest_value_by_name);
    char *all = bj_arena_alloc(a, len);
    if (!all)
        return -ENOMEM;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t k = strlen(text[i]);
        memcpy(all + at, text[i], k);
        all[at + k] = ',';
        at += k + 1;
    }
    *(struct bj_slice *)to = (struct bj_slice){all, at - 1};
    return 0;
}

uint64_t bj_rest_used(const struct bj_json *list, const char *type,
                      const char *name, struct bj_slice *ret_node)
{
    BJ_JSON_EACH(entry, list)
    {
        uint64_t count;
        if (!bj_slice_eq(bj_json_text(bj_json_get(entry, "type")),
                         bj_slice_str(type)) ||
            !bj_slice_eq(bj_json_text(bj_json_get(entry, "name")),
                         bj_slice_str(name)))
            continue;
        if (get_number(bj_json_get(entry, "count"), &count) != 0)
            return BJ_ABSENT;
        if (ret_node)
            *ret_node = bj_json_text(bj_json_get(entry, "node"));
        return count;
    }
    return BJ_ABSENT;
}

void bj_rest_error(const struct bj_json *v, char text[static BJ_REST_ERROR])
{
    enum { NOTHING_FOUND = 9003 }; /* ESLURM_REST_EMPTY_RESULT */
    if (text[0] ||
        bj_json_u64_or(bj_json_get(v, "error_number"), 0) == NOTHING_FOUND)
        return;
    struct bj_slice s = bj_json_text(bj_json_get(v, "error"));
    const struct bj_slice d = bj_json_text(bj_json_get(v, "description"));
    if (s.n == 0 && d.n == 0)
        s = BJ_SLICE("an error without a text");
    snprintf(text, BJ_REST_ERROR, "%.*s%s%.*s", (int)d.n, d.n ? d.p : "",
             s.n > 0 && d.n > 0 ? ": " : "", (int)s.n, s.n ? s.p : "");
}
