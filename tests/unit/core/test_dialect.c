/* Dialects: the tables are consistent, and for random snapshots each value
 * equals the native one, converted to the dialect's unit. test_dialect_page.c
 * checks whole pages. */
#include "core/view/dialect.h"

#include "core/find/ident.h"
#include "core/view/view.h"
#include "tests/unit/lib/fail.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool is_name(const char *s, bool colons)
{
    if (!isalpha((unsigned char)*s) && *s != '_')
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_' && !(colons && *s == ':'))
            return false;
    return true;
}

/* All names of labels that a sample of the row may have. */
static size_t label_names(const struct bj_dialect *d,
                          const struct bj_dialect_row *row, const char *ret[32])
{
    size_t n = 0;
    const struct bj_dialect_label *l = d->labels[row->labels];
    assert_non_null(l);
    ret[n++] = "cluster";
    for (; l->name; l++)
        ret[n++] = l->name;
    for (int i = 0; i < 2 && row->of == BJ_ROW_USAGE; i++)
        if (d->step[i])
            ret[n++] = d->step[i];
    for (int i = 0; i < BJ_SUB_KEYS; i++)
        if (row->key[i])
            ret[n++] = row->key[i];
    for (int i = 0; row->info && row->info[i]; i++)
        ret[n++] = row->info[i];
    return n;
}

/* A row that continues the family of the row before has the same labels; it
 * differs in the value of a fixed label, or shows other records. */
static void check_more(const struct bj_dialect_row *row,
                       const struct bj_dialect_row *before)
{
    assert_string_equal(row->name, before->name);
    assert_int_equal(row->kind, before->kind);
    assert_int_equal(row->labels, before->labels);
    assert_int_equal(row->when, before->when);
    if (!row->fixed[0]) {
        assert_true(row->lacking ||
                    (row->off != before->off && row->size == 0));
        return;
    }
    bool differs = false;
    for (int i = 0; i < 2 && row->fixed[i] && before->fixed[i]; i++)
        differs |= strcmp(row->fixed[i], before->fixed[i]) != 0;
    assert_true(differs);
    assert_ptr_equal(row->info, before->info);
    for (int i = 0; i < BJ_SUB_KEYS && !row->info; i++)
        assert_string_equal(row->key[i], before->key[i]);
}

/* A row of GPUs has as many label names as label values. */
static void check_gpu_names(const struct bj_dialect_row *row)
{
    size_t fixed = 0, names = 0, want = 7;
    while (fixed < 2 && row->fixed[fixed])
        fixed++;
    while (row->info && row->info[names])
        names++;
    if (row->of == BJ_ROW_GPUS || row->of == BJ_ROW_GPU_PARTS) {
        assert_int_equal(names, row->key[0] ? 0 : 4);
        assert_int_equal(fixed, row->key[2] ? 1 : 0);
    } else if (row->of >= BJ_ROW_GPU_EACH && row->of <= BJ_ROW_GPU_CARDS) {
        if (row->of == BJ_ROW_GPU_CARDS)
            want = fixed > 0 || names == 4 ? 4 : 1; /* or only the first */
        assert_int_equal(names,
                         want + fixed + (row->of == BJ_ROW_GPU_EACH_REASON));
    } else {
        assert_int_equal(fixed, 0);
    }
}

/* Whether two sets of bits, of which 0 means all, have one in common. */
static bool at_once(unsigned a, unsigned b)
{
    return a == 0 || b == 0 || a & b;
}

static void check_row(const struct bj_dialect *d, size_t i)
{
    const struct bj_dialect_row *row = &d->rows[i];
    const char *label[32];
    size_t n = label_names(d, row, label);
    print_message("# %s %s\n", d->name, row->name);
    assert_true(is_name(row->name, true));
    assert_true(strlen(row->name) < 100);
    size_t first = i;
    while (d->rows[first].more)
        first--;
    for (size_t k = 0; k < first; k++)
        if (at_once(row->when, d->rows[k].when) &&
            at_once(row->versions, d->rows[k].versions))
            assert_string_not_equal(row->name, d->rows[k].name);
    if (row->more)
        check_more(row, &d->rows[i - 1]);
    check_gpu_names(row);
    assert_true(*row->help && !strpbrk(row->help, "\\\n\""));
    if (d->openmetrics && row->kind == BJ_COUNTER)
        assert_non_null(strstr(row->name, "_total"));
    for (size_t a = 0; a < n; a++) {
        assert_true(is_name(label[a], false));
        for (size_t b = 0; b < a; b++)
            assert_string_not_equal(label[a], label[b]);
    }
    for (size_t k = 0; row->of == BJ_ROW_USAGE && k < d->nrows; k++)
        if (d->rows[k].labels == row->labels)
            assert_int_equal(d->rows[k].of, BJ_ROW_USAGE);
    if (row->words_only)
        assert_non_null(row->words);
    if (row->of == BJ_ROW_JOBS || row->of == BJ_ROW_SNAPS ||
        row->of == BJ_ROW_SUMS)
        assert_true(row->size >= sizeof(struct bj_sub) + sizeof(uint64_t));
}

static void tables(void **state)
{
    (void)state;
    assert_null(bj_dialect_find(BJ_SLICE("native")));
    assert_null(bj_dialect_find((struct bj_slice){0}));
    for (size_t d = 0; bj_dialects[d]; d++) {
        struct bj_slice name = bj_slice_str(bj_dialects[d]->name);
        assert_ptr_equal(bj_dialect_find(name), bj_dialects[d]);
        for (size_t i = 0; i < bj_dialects[d]->nrows; i++)
            check_row(bj_dialects[d], i);
    }
}

/* Find the native metric of the same field as a row of a dialect. */

static bool is_of_job(const struct bj_dialect_row *row)
{
    return row->of == BJ_ROW_GPU_PARTS || row->of == BJ_ROW_JOB ||
           row->of == BJ_ROW_USAGE || row->of == BJ_ROW_JOBS;
}

static bool is_of_gpus(const struct bj_dialect_row *row)
{
    return row->of == BJ_ROW_GPUS || row->of == BJ_ROW_GPU_EACH ||
           row->of == BJ_ROW_GPU_EACH_CARD || row->of == BJ_ROW_GPU_CARDS;
}

static bool is_list(const struct bj_dialect_row *row)
{
    return row->of == BJ_ROW_JOBS || row->of == BJ_ROW_SNAPS ||
           row->of == BJ_ROW_SUMS || is_of_gpus(row) ||
           row->of == BJ_ROW_GPU_PARTS;
}

static bool has_field(const struct bj_dialect_row *row)
{
    return is_of_job(row) || is_list(row) || row->of == BJ_ROW_SNAP;
}

static size_t list_of(const struct bj_dialect_row *row)
{
    return is_of_gpus(row)               ? offsetof(struct bj_snap, gpus)
           : row->of == BJ_ROW_GPU_PARTS ? offsetof(struct bj_job, gpus)
                                         : row->list;
}

static const struct bj_metric *native_of(const struct bj_dialect_row *row,
                                         size_t off,
                                         const struct bj_metric_table **ret)
{
    enum bj_owner owner = is_of_job(row) ? BJ_OF_JOB : BJ_OF_SNAP;
    for (size_t t = 0; t < bj_metric_ntables; t++) {
        const struct bj_metric_table *table = &bj_metric_tables[t];
        if (table->owner != owner || table->list != is_list(row) ||
            (table->list && table->off != list_of(row)))
            continue;
        size_t base = table->rows_off + (table->list ? 0 : table->off);
        for (size_t m = 0; m < table->nrows; m++)
            if (base + table->rows[m].off == off) {
                *ret = table;
                return &table->rows[m];
            }
    }
    return NULL;
}

/* How a scale converts a native value (times / by; whole: rounded down), and
 * the native units that it accepts. */
static const struct {
    double times, by;
    bool whole;
    bool fits[BJ_BYTES_PER_SEC + 1];
} scales[] = {
    [BJ_SCALE_NONE] = {1,
                       1,
                       true,
                       {[BJ_NUMBER] = 1,
                        [BJ_SEC] = 1,
                        [BJ_USEC] = 1,
                        [BJ_BYTES] = 1,
                        [BJ_BYTES_PER_SEC] = 1}},
    [BJ_SCALE_MICRO] = {1,
                        1e6,
                        false,
                        {[BJ_USEC] = 1,
                         [BJ_UJ] = 1,
                         [BJ_UW] = 1,
                         [BJ_UG_PER_KWH] = 1,
                         [BJ_UCELSIUS] = 1,
                         [BJ_HERTZ] = 1, /* in MHz */
                         [BJ_PPM] = 1}},
    [BJ_SCALE_NSEC] = {1e3, 1, true, {[BJ_USEC] = 1}},
    [BJ_SCALE_TICKS] = {1, 1e4, true, {[BJ_USEC] = 1}},
    [BJ_SCALE_MIB] = {1, 1048576, false, {[BJ_BYTES] = 1}},
    [BJ_SCALE_MILLI] = {1, 1e3, false, {[BJ_UW] = 1, [BJ_USEC] = 1}},
    [BJ_SCALE_MB] = {1e6, 1048576, false, {[BJ_BYTES] = 1}},
    [BJ_SCALE_PERCENT] = {1, 1e4, false, {[BJ_PPM] = 1}},
    [BJ_SCALE_FLAG] = {0, 1, true, {[BJ_NUMBER] = 1, [BJ_PPM] = 1}},
    [BJ_SCALE_ZERO] = {0, 1, true, {[BJ_BYTES] = 1}},
};

/* Fields that only dialects show; other tests check their values. */
static bool is_dialect_only(const char *name)
{
    static const char *const names[] = {"slurm_lic_last_consumed",
                                        "slurm_lic_last_deficit",
                                        "slurm_bf_cycle_tot",
                                        "slurm_bfscheduler_cycle_sum_seconds",
                                        "slurm_jobs_gpus_alloc",
                                        "slurm_user_jobs_gpus_alloc",
                                        "slurm_account_jobs_gpus_alloc",
                                        "slurm_partition_jobs_gpus_alloc"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_extra(const struct bj_dialect_row *row)
{
    return row->of == BJ_ROW_JOBS &&
           (row->list == offsetof(struct bj_job, exe_counts) ||
            row->list == offsetof(struct bj_job, names) ||
            row->list == offsetof(struct bj_job, extras) ||
            row->list == offsetof(struct bj_job, even_cores) ||
            row->list == offsetof(struct bj_job, user_states));
}

static void rows_match_native(void **state)
{
    (void)state;
    for (size_t d = 0; bj_dialects[d]; d++)
        for (size_t i = 0; i < bj_dialects[d]->nrows; i++) {
            const struct bj_dialect_row *row = &bj_dialects[d]->rows[i];
            const struct bj_metric_table *t;
            if (!has_field(row) || row->value || is_dialect_only(row->name) ||
                is_extra(row))
                continue;
            print_message("# %s %s\n", bj_dialects[d]->name, row->name);
            const struct bj_metric *m = native_of(row, row->off, &t);
            assert_non_null(m);
            if (row->of != BJ_ROW_GPUS && !row->lack_at) /* may outlive a job */
                assert_int_equal(m->live, row->live);
            assert_true(scales[row->scale].fits[m->unit]);
            if (row->kind == BJ_COUNTER && !(row->when & BJ_WHEN_STRICT))
                assert_int_equal(m->kind, BJ_COUNTER);
            if (row->list > 0)
                assert_int_equal(t->size, row->size);
            if (row->use == BJ_SECOND_NONE)
                continue;
            const struct bj_metric *more = native_of(row, row->second, &t);
            assert_non_null(more);
            if (row->use != BJ_SECOND_PER && row->use != BJ_SECOND_SHARE)
                assert_int_equal(more->unit, m->unit);
            if (row->use != BJ_SECOND_LACK)
                assert_int_equal(more->live, m->live);
        }
}

/* Random snapshots in the native view and in the dialects. */

enum { JOBS = 9, SUBS = 4, SEEN = 100000 };

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 11;
}

/* A random value: often absent, often 0, else of any size that a counter may
 * have. */
static uint64_t any_value(uint64_t *seed)
{
    uint64_t what = next_random(seed) % 8;
    if (what < 2)
        return what ? 0 : BJ_ABSENT;
    return next_random(seed) >> (4 + next_random(seed) % 50);
}

static void fill(uint64_t *seed, void *from, size_t bytes)
{
    uint64_t *v = from;
    for (size_t i = 0; i < bytes / sizeof(*v); i++)
        v[i] = any_value(seed);
}

/* Keys that the tables select, and others. */
static const char *const first_keys[] = {"rapl", "disk_sleep", "/bin/bash",
                                         "scratch"};
static const char *const second_keys[] = {"package-0", "package-1.dram",
                                          "average_lifecycle", "node"};

static struct bj_list any_list(uint64_t *seed, size_t size)
{
    char *v = calloc(SUBS, size);
    assert_non_null(v);
    for (size_t i = 0; i < SUBS; i++) {
        char *record = v + i * size;
        struct bj_sub *sub = (void *)record;
        fill(seed, record + sizeof(*sub), size - sizeof(*sub));
        sub->key[0] = bj_slice_str(first_keys[i]);
        sub->key[1] = bj_slice_str(second_keys[(i + size) % SUBS]);
    }
    return (struct bj_list){v, next_random(seed) % (SUBS + 1)};
}

static struct bj_ident *any_ident(uint64_t *seed, unsigned number)
{
    struct bj_slice f[BJ_ID_FIELDS] = {{0}};
    struct bj_conf conf = {.label_user = true, .label_account = true};
    char id[16];
    snprintf(id, sizeof(id), "%u", number);
    f[BJ_ID_JOBID] = bj_slice_str(id);
    f[BJ_ID_USER] = BJ_SLICE("anna");
    f[BJ_ID_UID] = BJ_SLICE("1000");
    if (next_random(seed) % 4)
        f[BJ_ID_SYSTEM] = BJ_SLICE("slurm");
    struct bj_ident *ident = bj_ident_new(f, &conf);
    assert_non_null(ident);
    return ident;
}

/* Fill all lists of a job, or of the snapshot. */
static void any_lists(uint64_t *seed, enum bj_owner owner, char *record)
{
    for (size_t t = 0; t < bj_metric_ntables; t++) {
        const struct bj_metric_table *table = &bj_metric_tables[t];
        if (table->owner != owner || !table->list)
            continue;
        struct bj_list *list = (void *)(record + table->off);
        if (!list->v)
            *list = any_list(seed, table->size);
    }
}

static void free_lists(enum bj_owner owner, char *record)
{
    for (size_t t = 0; t < bj_metric_ntables; t++) {
        struct bj_list *list = (void *)(record + bj_metric_tables[t].off);
        if (bj_metric_tables[t].owner != owner || !bj_metric_tables[t].list)
            continue;
        free(list->v);
        *list = (struct bj_list){0};
    }
}

static struct bj_snap *make_snap(uint64_t seed)
{
    struct bj_snap *snap = calloc(1, sizeof(*snap));
    struct bj_job *job = calloc(JOBS, sizeof(*job));
    assert_true(snap && job);
    fill(&seed, &snap->node, sizeof(snap->node));
    fill(&seed, &snap->self, sizeof(snap->self));
    snap->node.modes = snap->node.energy = (struct bj_list){0};
    snap->self.collectors = (struct bj_list){0};
    memset(&snap->node.energy_info, 0, sizeof(snap->node.energy_info));
    memset(&snap->self.build_info, 0, sizeof(snap->self.build_info));
    snap->node.energy_info.one = snap->self.build_info.one = 1;
    any_lists(&seed, BJ_OF_SNAP, (char *)snap);
    for (unsigned i = 0; i < JOBS; i++) {
        fill(&seed, &job[i].use, sizeof(job[i].use));
        fill(&seed, &job[i].proc, sizeof(job[i].proc));
        job[i].ident = any_ident(&seed, i);
        job[i].end_sec = next_random(&seed) % 3 ? BJ_ABSENT : 1;
        job[i].ident_info = 1;
        any_lists(&seed, BJ_OF_JOB, (char *)&job[i]);
    }
    snap->jobs = (struct bj_list){job, JOBS};
    return snap;
}

static void free_snap(struct bj_snap *snap)
{
    struct bj_job *job = snap->jobs.v;
    for (int i = 0; i < JOBS; i++) {
        free_lists(BJ_OF_JOB, (char *)&job[i]);
        bj_ident_unref(job[i].ident);
    }
    free(job);
    free_lists(BJ_OF_SNAP, (char *)snap);
    free(snap);
}

/* The samples of one native metric, in order. */
struct seen {
    const struct bj_metric *want, *now;
    size_t n;
    uint64_t v[JOBS * SUBS + JOBS];
};

static int native_family(void *ctx, const struct bj_metric_table *t,
                         const struct bj_metric *m)
{
    (void)t;
    ((struct seen *)ctx)->now = m;
    return 0;
}

static int native_sample(void *ctx, const struct bj_sample *s)
{
    struct seen *seen = ctx;
    if (seen->now != seen->want)
        return 0;
    if (s->job &&
        !bj_slice_eq(s->job->ident->f[BJ_ID_SYSTEM], BJ_SLICE("slurm")))
        return 0;
    assert_true(seen->n < COUNT(seen->v));
    seen->v[seen->n++] = s->value;
    return 0;
}

struct shown {
    const struct bj_dialect_row *now;
    size_t n;
    struct {
        const struct bj_dialect_row *row;
        double value;
        bool job_itself;
    } v[SEEN];
};

static int dialect_family(void *ctx, const struct bj_dialect_row *row,
                          const char *const *key)
{
    (void)key;
    ((struct shown *)ctx)->now = row;
    return 0;
}

static int dialect_sample(void *ctx, const struct bj_dialect_sample *s)
{
    struct shown *shown = ctx;
    assert_true(shown->n < SEEN);
    shown->v[shown->n].row = shown->now;
    shown->v[shown->n].job_itself = shown->now->of != BJ_ROW_USAGE || !s->key;
    shown->v[shown->n++].value =
        (double)s->value / (s->digits == BJ_DIGITS_MICRO ? 1e6 : 1);
    return 0;
}

/* Rows that show every record of the native metric unchanged, except for its
 * unit. */
static bool is_plain(const struct bj_dialect_row *row)
{
    return has_field(row) && row->use == BJ_SECOND_NONE && !row->lack &&
           !row->only[0] && !row->only[1] && !row->skip && !row->least &&
           !row->first && !row->words_only && row->scale != BJ_SCALE_FLAG &&
           !is_of_gpus(row) && row->of != BJ_ROW_SUMS && !is_extra(row) &&
           (row->when == BJ_WHEN_ANY || row->when & BJ_WHEN_RIGHT);
}

static void compare(const struct bj_snap *snap, const struct shown *shown,
                    const struct bj_dialect_row *row)
{
    const struct bj_metric_table *t;
    struct seen seen = {.want = native_of(row, row->off, &t)};
    bj_view_native(snap,
                   &(struct bj_sink){&seen, native_family, native_sample});
    size_t k = 0;
    for (size_t i = 0; i < shown->n; i++) {
        if (shown->v[i].row != row || !shown->v[i].job_itself)
            continue;
        if (k >= seen.n)
            fail_msg("%s has a value that native lacks", row->name);
        double want = (double)seen.v[k++] * scales[row->scale].times /
                      scales[row->scale].by;
        if (scales[row->scale].whole)
            want = floor(want);
        double off = fabs(shown->v[i].value - want);
        assert_true(off <= 1e-6 + 1e-9 * want);
    }
    assert_int_equal(k, seen.n);
}

static void agrees_with_native(void **state)
{
    (void)state;
    static struct shown shown;
    struct bj_dialect_room room = {0};
    const struct bj_dialect_env env = {.host = BJ_SLICE("node1.site")};
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct bj_snap *snap = make_snap(seed * 7919);
        for (size_t d = 0; bj_dialects[d]; d++) {
            const struct bj_dialect *dialect = bj_dialects[d];
            const struct bj_dialect_sink sink = {&shown, dialect_family,
                                                 dialect_sample};
            shown.n = 0;
            assert_int_equal(bj_view_dialect(dialect, snap, &env, &room, &sink),
                             0);
            for (size_t i = 0; i < dialect->nrows; i++)
                if (is_plain(&dialect->rows[i]) &&
                    (i + 1 == dialect->nrows || !dialect->rows[i + 1].more))
                    compare(snap, &shown, &dialect->rows[i]);
        }
        free_snap(snap);
    }
    bj_dialect_room_free(&room);
}

/* Scales at their limits: rounding, overflow, absent values. */
static const struct {
    enum bj_scale scale;
    uint64_t in, out;
} limits[] = {
    {BJ_SCALE_NSEC, 1, 1000},
    {BJ_SCALE_NSEC, UINT64_MAX / 1000, UINT64_MAX / 1000 * 1000},
    {BJ_SCALE_NSEC, UINT64_MAX / 1000 + 1, BJ_ABSENT},
    {BJ_SCALE_TICKS, 9999, 0},
    {BJ_SCALE_TICKS, 10000, 1},
    {BJ_SCALE_MIB, 1048576, 1000000},
    {BJ_SCALE_MIB, 1, 0},
    {BJ_SCALE_MIB, 3, 2}, /* 3 / 1048576 = 0.00000286 */
    {BJ_SCALE_MIB, 1ull << 63, (1ull << 43) * 1000000},
    {BJ_SCALE_PERCENT, 1000000, 100 * 1000000},
    {BJ_SCALE_MILLI, 250, 250000},
    {BJ_SCALE_FLAG, 0, 0},
    {BJ_SCALE_FLAG, 17, 1},
    {BJ_SCALE_NONE, BJ_ABSENT, BJ_ABSENT},
};

static void scale_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(limits); i++) {
        const struct bj_dialect_row row = {.scale = limits[i].scale};
        assert_int_equal(bj_dialect_value(&row, (const char *)&limits[i].in),
                         limits[i].out);
    }
    const uint64_t two[] = {5, BJ_ABSENT, 7};
    struct bj_dialect_row row = {.use = BJ_SECOND_ADD,
                                 .second = sizeof(uint64_t)};
    assert_int_equal(bj_dialect_value(&row, (const char *)two), BJ_ABSENT);
    row.second = 2 * sizeof(uint64_t);
    assert_int_equal(bj_dialect_value(&row, (const char *)two), 12);
    row.off = sizeof(uint64_t);
    row.use = BJ_SECOND_ELSE;
    assert_int_equal(bj_dialect_value(&row, (const char *)two), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
        cmocka_unit_test(rows_match_native),
        cmocka_unit_test(agrees_with_native),
        cmocka_unit_test(scale_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
