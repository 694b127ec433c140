/* Recordings of Slurm 22.05, 24.11 and 26.05: the commands' text and the JSON
 * of the same moment, in every format that the version can write, give the same
 * sums. */
#include "core/cluster/part.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define FIXTURES "tests/fixtures/cluster/"

static const struct bj_scheduler_conf conf = {.max_series = 1000,
                                              .gpu_idle_cpus = 1};

static const struct version {
    const char *dir;
    const char *plugins[5];
    const char *cluster;
} versions[] = {
    {"22.05", {"37", "38"}, "sandbox"},
    {"24.11", {"40", "42"}, "rec"},
    {"26.05", {"43", "45"}, "rec"},
};

static struct bj_slice load(const struct version *v, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), FIXTURES "%s/%s", v->dir, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return (struct bj_slice){NULL, 0};
    char *p = malloc(1 << 20);
    assert_non_null(p);
    const size_t n = fread(p, 1, 1 << 20, f);
    fclose(f);
    return (struct bj_slice){p, n};
}

/* The time of the recording, in seconds. */
static uint64_t recorded_at(const struct version *v)
{
    struct bj_slice s = load(v, "time"), line;
    uint64_t sec = 0;
    assert_true(bj_slice_line(&s, &line));
    assert_int_equal(bj_slice_u64(line, &sec), 0);
    free((void *)(uintptr_t)(line.p));
    return sec;
}

static struct bj_cluster_work work(const struct version *v,
                                   const struct bj_cluster_part *held)
{
    return (struct bj_cluster_work){.conf = &conf,
                                    .by = 255,
                                    .wall_sec = recorded_at(v),
                                    .name = bj_slice_str(v->cluster),
                                    .reservations = held};
}

static void read_text(struct bj_cluster_work *w, enum bj_cluster_source id,
                      struct bj_slice text)
{
    struct bj_slice rest = text, line;
    assert_int_equal(bj_cluster_work_begin(w), 0);
    while (bj_slice_line(&rest, &line))
        assert_int_equal(bj_cluster_work_line(w, &bj_cluster_readers[id], line),
                         0);
    assert_int_equal(bj_cluster_work_end(w, &bj_cluster_readers[id]), 0);
}

static void read_json(struct bj_cluster_work *w, enum bj_cluster_source id,
                      struct bj_slice text)
{
    enum { STEP = 1009 };
    struct bj_slurmjson *j;
    struct bj_err err = {0};
    struct bj_cluster_reader reader = bj_cluster_readers[id];
    reader.end = NULL;
    assert_int_equal(bj_cluster_work_begin(w), 0);
    assert_int_equal(bj_cluster_json_new(w, reader.json, &j, NULL), 0);
    int r = 0;
    for (size_t at = 0; r == 0 && at < text.n; at += STEP) {
        const size_t n = text.n - at < STEP ? text.n - at : STEP;
        r = bj_slurmjson_feed(j, (struct bj_slice){text.p + at, n}, &err);
    }
    if (r == 0)
        r = bj_slurmjson_end(j, &err);
    if (r < 0)
        fail_msg("%s: %d %s", reader.name, r, err.msg);
    bj_slurmjson_free(j);
    assert_int_equal(bj_cluster_work_end(w, &reader), 0);
    assert_int_equal(w->bad, 0);
}

/* --- comparing ------------------------------------------------------------*/

static const struct bj_sub *record(const struct bj_cluster_work *w, unsigned k,
                                   size_t i)
{
    return (const void *)((const char *)w->part->list[k].v +
                          i * w->group[k].size);
}

/* Whether a value may differ: it changes between the two commands, or plugins
 * up to 0.0.40 do not report it for the controller. */
static bool may_differ(bool old, unsigned k, size_t at, uint64_t x, uint64_t y)
{
    /* The text was recorded without these. */
    if (k >= BJ_CL_NODES && k <= BJ_CL_EACH_NODE &&
        (at == offsetof(struct bj_nodes_stat, load_centi) ||
         at == offsetof(struct bj_nodes_stat, weight)))
        return true;
    if (k >= BJ_CL_NODES && k <= BJ_CL_EACH_NODE)
        return at == offsetof(struct bj_nodes_stat, mem_free_bytes) &&
               (x == BJ_ABSENT) == (y == BJ_ABSENT);
    if (k != BJ_CL_CONTROLLER)
        return false;
    if (at == offsetof(struct bj_controller_stat, diag.bf_sum_usec))
        return x == BJ_ABSENT; /* text has none */
    return old ? y == BJ_ABSENT || x != BJ_ABSENT
               : (x == BJ_ABSENT) == (y == BJ_ABSENT);
}

static void same_record(bool old, const char *what, unsigned k,
                        const struct bj_sub *a, const struct bj_sub *b,
                        size_t size)
{
    for (int i = 0; i < BJ_SUB_KEYS; i++)
        if (k == BJ_CL_NODE_REASONS && i == 1) {
            /* The text was recorded without who set the reason; Slurm itself
             * set this one. */
            const bool own =
                bj_slice_eq(b->key[2], BJ_SLICE("POWER_DOWN_ASAP"));
            assert_int_equal(a->key[i].n, 0);
            assert_true(
                bj_slice_eq(b->key[i], own ? BJ_SLICE("") : BJ_SLICE("root")));
        } else if (!bj_slice_eq(a->key[i], b->key[i]))
            fail_msg("%s, list %u: key '%.*s', not '%.*s'", what, k,
                     (int)b->key[i].n, b->key[i].p, (int)a->key[i].n,
                     a->key[i].p);
    for (size_t at = sizeof(*a); at < size; at += sizeof(uint64_t)) {
        uint64_t x, y;
        memcpy(&x, (const char *)a + at, sizeof(x));
        memcpy(&y, (const char *)b + at, sizeof(y));
        if (x == y || may_differ(old, k, at, x, y))
            continue;
        fail_msg("%s, list %u, %.*s/%.*s/%.*s: number %zu is %llu, not %llu",
                 what, k, (int)a->key[0].n, a->key[0].p, (int)a->key[1].n,
                 a->key[1].p, (int)a->key[2].n, a->key[2].p,
                 (at - sizeof(*a)) / sizeof(uint64_t), (unsigned long long)y,
                 (unsigned long long)x);
    }
}

/* Whether this version's JSON lacks a list. */
static bool not_in_json(const struct version *v, unsigned k)
{
    return strcmp(v->dir, "22.05") == 0 && k == BJ_CL_HOST_JOBS;
}

static unsigned compare(const struct version *v, const char *what,
                        const struct bj_cluster_work *a,
                        const struct bj_cluster_work *b)
{
    const bool old = strcmp(what + strlen(what) - 2, "40") <= 0;
    unsigned n = 0;
    for (unsigned k = 0; k < BJ_CL_LISTS; k++) {
        /* Text and JSON use different words for a state. */
        if (not_in_json(v, k) || k == BJ_CL_RPC_TYPES || k == BJ_CL_RPC_USERS ||
            k == BJ_CL_NODE_STATES)
            continue;
        if (a->part->list[k].n != b->part->list[k].n)
            fail_msg("%s, list %u: %zu records, not %zu", what, k,
                     b->part->list[k].n, a->part->list[k].n);
        for (size_t i = 0; i < a->part->list[k].n; i++, n++)
            same_record(old, what, k, record(a, k, i), record(b, k, i),
                        a->group[k].size);
    }
    return n;
}

/* Returns the number of compared records; 0 if there is no such recording. */
static unsigned check(const struct version *v, enum bj_cluster_source id,
                      const char *plugin, const struct bj_cluster_part *held)
{
    char name[64], what[64];
    const char *source = bj_cluster_readers[id].name;
    snprintf(name, sizeof(name), "%s.txt", source);
    struct bj_slice text = load(v, name);
    snprintf(name, sizeof(name), "%s.%s.json", source, plugin);
    struct bj_slice json = load(v, name);
    unsigned n = 0;
    snprintf(what, sizeof(what), "%s %s 0.0.%s", v->dir, source, plugin);
    if (text.p && json.p) {
        struct bj_cluster_work a = work(v, held), b = work(v, held);
        read_text(&a, id, text);
        read_json(&b, id, json);
        n = compare(v, what, &a, &b);
        assert_true(n > 0);
        bj_cluster_work_free(&a);
        bj_cluster_work_free(&b);
    }
    free((void *)(uintptr_t)text.p);
    free((void *)(uintptr_t)json.p);
    return n;
}

static void test_same(void **state)
{
    static const enum bj_cluster_source sources[] = {
        BJ_CLUSTER_RESERVATIONS, BJ_CLUSTER_QUEUE,    BJ_CLUSTER_NODES,
        BJ_CLUSTER_DIAG,         BJ_CLUSTER_LICENSES, BJ_CLUSTER_SHARES,
        BJ_CLUSTER_LIMITS};
    (void)state;
    for (size_t i = 0; i < COUNT(versions); i++) {
        const struct version *v = &versions[i];
        struct bj_slice text = load(v, "reservations.txt");
        struct bj_cluster_work held = work(v, NULL);
        read_text(&held, BJ_CLUSTER_RESERVATIONS, text);
        for (size_t p = 0; v->plugins[p]; p++) {
            unsigned seen = 0;
            for (size_t k = 0; k < COUNT(sources); k++)
                seen += check(v, sources[k], v->plugins[p], held.part) > 0;
            /* 0.0.37 has no licences; plugins before 0.0.40 have no shares. */
            assert_true(seen >= (i == 0 ? 5 : 7));
        }
        bj_cluster_work_free(&held);
        free((void *)(uintptr_t)text.p);
    }
}

/* --- sums, and facts about the recordings ----------------------------------*/

static uint64_t sum(const struct bj_cluster_work *w, unsigned k, size_t at)
{
    uint64_t s = 0;
    for (size_t i = 0; i < w->part->list[k].n; i++) {
        uint64_t v;
        memcpy(&v, (const char *)record(w, k, i) + at, sizeof(v));
        s += v;
    }
    return s;
}

#define SUM(w, list, type, member) sum(w, list, offsetof(struct type, member))

static const void *find(const struct bj_cluster_work *w, unsigned k,
                        const char *k0, const char *k1, const char *k2)
{
    const char *key[] = {k0, k1, k2};
    for (size_t i = 0; i < w->part->list[k].n; i++) {
        const struct bj_sub *sub = record(w, k, i);
        bool same = true;
        for (int x = 0; x < 3 && key[x]; x++)
            same = same && bj_slice_eq(sub->key[x], bj_slice_str(key[x]));
        if (same)
            return sub;
    }
    fail_msg("list %u has no %s/%s/%s", k, k0, k1 ? k1 : "", k2 ? k2 : "");
    return NULL;
}

static struct bj_cluster_work
read_file(const struct version *v, enum bj_cluster_source id, const char *file)
{
    struct bj_slice json = load(v, file);
    struct bj_cluster_work w = work(v, NULL);
    assert_non_null(json.p);
    read_json(&w, id, json);
    free((void *)(uintptr_t)json.p);
    return w;
}

/* Twelve nodes of Slurm 26.05: 11 of 8 CPUs and one of 80. */
static void test_nodes(void **state)
{
    (void)state;
    struct bj_cluster_work w =
        read_file(&versions[2], BJ_CLUSTER_NODES, "nodes.45.json");
    static const unsigned once[] = {BJ_CL_NODES, BJ_CL_RESERVATION_NODES,
                                    BJ_CL_EACH_NODE};
    assert_true(bj_slice_eq(w.part->cluster, bj_slice_str("rec")));
    for (size_t i = 0; i < COUNT(once); i++) {
        if (w.part->list[once[i]].n == 0)
            continue;
        assert_int_equal(SUM(&w, once[i], bj_nodes_stat, nodes), 12);
        assert_int_equal(SUM(&w, once[i], bj_nodes_stat, cpus), 11 * 8 + 80);
        assert_int_equal(SUM(&w, once[i], bj_nodes_stat, cpus_allocated) +
                             SUM(&w, once[i], bj_nodes_stat, cpus_idle) +
                             SUM(&w, once[i], bj_nodes_stat, cpus_other),
                         11 * 8 + 80);
    }
    /* 2 with 2 tesla, 5 with 8 rtx8000, 5 with 4 of no type */
    const struct bj_list *gpus = &w.part->list[BJ_CL_GPUS];
    const struct bj_gpus_stat *g = gpus->v;
    uint64_t tesla = 0, rtx = 0, none = 0;
    for (size_t i = 0; i < gpus->n; i++) {
        assert_int_equal(g[i].gpus, g[i].allocated + g[i].idle + g[i].blocked +
                                        g[i].other);
        if (bj_slice_eq(g[i].sub.key[2], bj_slice_str("tesla")))
            tesla += g[i].gpus;
        else if (bj_slice_eq(g[i].sub.key[2], bj_slice_str("rtx8000")))
            rtx += g[i].gpus;
        else
            none += g[i].gpus;
    }
    assert_int_equal(tesla, 4);
    assert_int_equal(rtx, 40);
    assert_int_equal(none, 20);
    static const char *const each[][3] = {
        {"n1", "mixed", "maintenance+reserved"},
        {"n2", "allocated", "drain"},
        {"n3", "allocated", ""},
        {"n5", "allocated", "drain+reboot_requested"},
        {"n6", "mixed", "drain"},
        {"n8", "mixed", "drain+power_down"},
        {"n9", "mixed", ""},
        {"n10", "idle", "planned"},
        {"n11", "down", ""},
        {"n12", "idle", "fail"},
    };
    for (size_t i = 0; i < COUNT(each); i++)
        find(&w, BJ_CL_EACH_NODE, each[i][0], each[i][1], each[i][2]);
    const struct bj_nodes_stat *n =
        find(&w, BJ_CL_EACH_NODE, "n6", "mixed", "drain");
    assert_int_equal(n->cpus_allocated, 4);
    assert_int_equal(n->cpus_other, 4);
    bj_cluster_work_free(&w);
}

/* --- against sinfo's own sums of CPUs, counted from its text ---------------*/

struct counted {
    struct bj_slice partition; /* p NULL: all nodes, each counted once */
    uint64_t nodes, cpus[4];   /* allocated, idle, other, all */
};

static void count_line(struct counted *c, struct bj_slice cpus)
{
    c->nodes++;
    for (int i = 0; i < 4; i++) {
        struct bj_slice one;
        uint64_t n;
        assert_true(bj_slice_field(&cpus, '/', &one));
        assert_int_equal(bj_slice_u64(one, &n), 0);
        c->cpus[i] += n;
    }
}

/* Sum sinfo's CPUs; the lines of a node follow each other. */
static size_t count_text(struct bj_slice text, struct counted *c, size_t max)
{
    struct bj_slice line, last = {NULL, 0};
    size_t n = 1;
    while (bj_slice_line(&text, &line)) {
        struct bj_slice f[4];
        for (int i = 0; i < 4; i++)
            assert_true(bj_slice_field(&line, '\x1f', &f[i]));
        if (!bj_slice_eq(f[0], last))
            count_line(&c[0], f[3]);
        last = f[0];
        size_t at = 1;
        while (at < n && !bj_slice_eq(c[at].partition, f[1]))
            at++;
        assert_true(at < max);
        c[at].partition = f[1];
        n = at == n ? n + 1 : n;
        count_line(&c[at], f[3]);
    }
    return n;
}

static void check_counted(const struct bj_cluster_work *w, unsigned list,
                          const struct counted *want)
{
    struct counted got = {.partition = want->partition};
    const struct bj_nodes_stat *v = w->part->list[list].v;
    for (size_t i = 0; i < w->part->list[list].n; i++) {
        if (want->partition.p && !bj_slice_eq(v[i].sub.key[0], want->partition))
            continue;
        got.nodes += v[i].nodes;
        got.cpus[0] += v[i].cpus_allocated;
        got.cpus[1] += v[i].cpus_idle;
        got.cpus[2] += v[i].cpus_other;
        got.cpus[3] += v[i].cpus;
    }
    assert_int_equal(got.nodes, want->nodes);
    for (int i = 0; i < 4; i++)
        assert_int_equal(got.cpus[i], want->cpus[i]);
}

static void test_sums(void **state)
{
    static const unsigned whole[] = {BJ_CL_NODES, BJ_CL_RESERVATION_NODES,
                                     BJ_CL_EACH_NODE};
    (void)state;
    for (size_t i = 0; i < COUNT(versions); i++) {
        const struct version *v = &versions[i];
        struct counted c[8] = {{.nodes = 0}};
        struct bj_slice text = load(v, "nodes.txt");
        struct bj_slice resv = load(v, "reservations.txt");
        const size_t n = count_text(text, c, COUNT(c));
        struct bj_cluster_work held = work(v, NULL);
        read_text(&held, BJ_CLUSTER_RESERVATIONS, resv);
        for (size_t p = 0; v->plugins[p]; p++) {
            char name[64];
            snprintf(name, sizeof(name), "nodes.%s.json", v->plugins[p]);
            struct bj_slice json = load(v, name);
            struct bj_cluster_work w = work(v, held.part);
            read_json(&w, BJ_CLUSTER_NODES, json);
            for (size_t k = 0; k < COUNT(whole); k++)
                check_counted(&w, whole[k], &c[0]);
            for (size_t k = 1; k < n; k++)
                check_counted(&w, BJ_CL_PARTITION_NODES, &c[k]);
            bj_cluster_work_free(&w);
            free((void *)(uintptr_t)json.p);
        }
        bj_cluster_work_free(&held);
        free((void *)(uintptr_t)text.p);
        free((void *)(uintptr_t)resv.p);
    }
}

/* Every grouping counts each job once. */
static void test_job_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(versions); i++) {
        char name[64];
        snprintf(name, sizeof(name), "queue.%s.json", versions[i].plugins[0]);
        struct bj_cluster_work w =
            read_file(&versions[i], BJ_CLUSTER_QUEUE, name);
        static const size_t at[] = {offsetof(struct bj_jobs_stat, jobs),
                                    offsetof(struct bj_jobs_stat, cpus),
                                    offsetof(struct bj_jobs_stat, mem_bytes),
                                    offsetof(struct bj_jobs_stat, gpus)};
        for (unsigned k = BJ_CL_JOBS; k <= BJ_CL_RESERVATION_JOBS; k++)
            for (size_t a = 0; !not_in_json(&versions[i], k) && a < COUNT(at);
                 a++)
                assert_int_equal(sum(&w, k, at[a]), sum(&w, BJ_CL_JOBS, at[a]));
        assert_int_equal(SUM(&w, BJ_CL_JOBS_GPUS, bj_count_stat, count),
                         SUM(&w, BJ_CL_JOBS, bj_jobs_stat, gpus));
        assert_true(SUM(&w, BJ_CL_JOBS, bj_jobs_stat, gpus) > 0);
        bj_cluster_work_free(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_job_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
