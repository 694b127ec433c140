/* Shared by the tests of the cluster's sums: reading a text as the output of a
 * source, and finding records by their keys. */
#ifndef BJ_TESTS_UNIT_CORE_TEST_CLUSTER_PARTS_H
#define BJ_TESTS_UNIT_CORE_TEST_CLUSTER_PARTS_H

#include "core/cluster/part.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FIXTURES "tests/fixtures/cluster/"
#define S(text) bj_slice_str(text)
#define SEP "\x1f"

enum { ALL = 511, NOW = 1795195564 };

static struct bj_scheduler_conf conf = {.max_series = 1000, .gpu_idle_cpus = 1};

static inline char *load(const char *name)
{
    static char text[1 << 16];
    FILE *f = fopen(name, "rb");
    if (!f)
        fail_msg("%s is missing", name);
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    fclose(f);
    return text;
}

/* Read a text as the output of a source; the caller frees the work. */
static inline int read_text(struct bj_cluster_work *w,
                            enum bj_cluster_source id, const char *text)
{
    struct bj_slice rest = S(text), line;
    int r = bj_cluster_work_begin(w);
    if (r == 0 && id == BJ_CLUSTER_CONSTANTS)
        r = bj_cluster_read_constants(w, "numbers", rest);
    while (r == 0 && id != BJ_CLUSTER_CONSTANTS && bj_slice_line(&rest, &line))
        r = bj_cluster_work_line(w, &bj_cluster_readers[id], line);
    return r < 0 ? r : bj_cluster_work_end(w, &bj_cluster_readers[id]);
}

static inline struct bj_cluster_work
make_work(enum bj_cluster_source id, const char *text,
          const struct bj_cluster_part *held)
{
    struct bj_cluster_work w = {
        .conf = &conf, .by = ALL, .wall_sec = NOW, .reservations = held};
    assert_int_equal(read_text(&w, id, text), 0);
    return w;
}

/* The record with these keys, or NULL. */
static inline const void *find(const struct bj_cluster_work *w,
                               enum bj_cluster_list list, const char *k0,
                               const char *k1, const char *k2)
{
    const struct bj_list *l = &w->part->list[list];
    const char *key[] = {k0, k1, k2};
    for (size_t i = 0; i < l->n; i++) {
        const struct bj_sub *sub =
            (const void *)((const char *)l->v + i * w->group[list].size);
        bool same = true;
        for (int k = 0; k < 3 && key[k]; k++)
            same &= bj_slice_eq(sub->key[k], S(key[k]));
        if (same)
            return sub;
    }
    return NULL;
}

static inline void check_jobs(const struct bj_cluster_work *w,
                              enum bj_cluster_list list, const char *k0,
                              const char *k1, uint64_t jobs, uint64_t cpus,
                              uint64_t mib)
{
    const struct bj_jobs_stat *s = find(w, list, k0, k1, NULL);
    if (!s)
        fail_msg("list %d has no %s, %s", (int)list, k0, k1 ? k1 : "-");
    assert_int_equal(s->jobs, jobs);
    assert_int_equal(s->cpus, cpus);
    assert_int_equal(s->mem_bytes, mib << 20);
}

#endif
