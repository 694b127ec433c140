/* The tables of a snapshot as managers see them: order, indexes, types, unknown
 * values, and the object that follows any name. */
#include "tests/unit/lib/testclock.h"
#include "tests/unit/snmp-agent/snap.h"

enum { STALE_USEC = 60 * 1000000, MOST = 10000 };

#define ROOT "1.3.6.1.4.1.8072.9999.9999.9010"

static struct bj_snmp_view *view;

static int make_view(void **state)
{
    (void)state;
    const struct bj_oid base = oid_of(ROOT);
    return bj_snmp_view_new(&base, STALE_USEC, &view, NULL);
}

static int drop_view(void **state)
{
    (void)state;
    testclock_run();
    bj_snmp_view_free(view);
    return 0;
}

/* Show a snapshot; the view owns it. */
static void show(struct bj_snap *s)
{
    bj_snmp_view_set(view, snap_rows(s, MOST));
}

static struct bj_value get(const char *name)
{
    const struct bj_oid oid = oid_of(name);
    const struct bj_objects o = bj_snmp_view_begin(view);
    struct bj_value v = o.get(o.ctx, &oid);
    bj_snmp_view_end(view);
    return v;
}

static void expect_number(const char *name, enum bj_value_type type,
                          uint64_t number)
{
    struct bj_value v = get(name);
    if (v.type != type || v.number != number)
        fail_msg("%s: type %u, %llu", name, v.type,
                 (unsigned long long)v.number);
}

static void expect_text(const char *name, const char *text)
{
    struct bj_value v = get(name);
    if (v.type != BJ_VALUE_TEXT || !bj_slice_eq(v.text, bj_slice_str(text)))
        fail_msg("%s: type %u, '%.*s'", name, v.type, (int)v.text.n, v.text.p);
}

static void expect_type(const char *name, enum bj_value_type type)
{
    struct bj_value v = get(name);
    if (v.type != type)
        fail_msg("%s: type %u", name, v.type);
}

/* All names of a walk, each behind the one before; returns how many. */
static size_t walk(struct bj_oid *names, size_t most)
{
    const struct bj_objects o = bj_snmp_view_begin(view);
    struct bj_oid name = {0};
    struct bj_value v;
    size_t n = 0;
    while (n < most) {
        struct bj_oid before = name;
        if (!o.next(o.ctx, &name, false, &v))
            break;
        assert_true(bj_oid_compare(&before, &name) < 0);
        assert_true(v.type < BJ_VALUE_NO_OBJECT);
        names[n++] = name;
    }
    bj_snmp_view_end(view);
    return n;
}

/* --- */

static void before_first_pass(void **state)
{
    (void)state;
    static struct bj_oid names[8];
    /* Version and refused notifications; age, success and the rest are not
     * known. */
    assert_int_equal(walk(names, COUNT(names)), 2);
    expect_type(ROOT ".1.1.1.0", BJ_VALUE_TEXT);
    expect_type(ROOT ".1.1.2.0", BJ_VALUE_NO_INSTANCE);
    expect_type(ROOT ".1.1.3.0", BJ_VALUE_NO_INSTANCE);
    expect_type(ROOT ".3.1.1.2.1.49", BJ_VALUE_NO_INSTANCE);
    /* A pass that failed. */
    bj_snmp_view_set(view, NULL);
    expect_number(ROOT ".1.1.3.0", BJ_VALUE_INTEGER, 2);
    expect_type(ROOT ".1.1.2.0", BJ_VALUE_NO_INSTANCE);
}

static void show_jobs(void)
{
    struct bj_snap *s = snap_new(3);
    snap_name(s, 0, "100", NULL, "anna");
    snap_name(s, 1, "9", NULL, "bert");
    snap_name(s, 2, "10", "node1", NULL);
    snap_job(s, 0)->use.cpu_usec = UINT64_MAX - 1;
    snap_job(s, 0)->use.mem_used_bytes = 5;
    snap_job(s, 0)->use.mem_peak_bytes = 7;
    snap_job(s, 0)->use.pids = 0;
    snap_job(s, 1)->use.mem_used_bytes = 6;
    snap_job(s, 1)->use.mem_peak_bytes = 8;
    snap_job(s, 1)->use.mem_held_sampled = 1;
    snap_job(s, 1)->end_sec = 1700000000;
    show(s);
}

static void jobs(void **state)
{
    (void)state;
    show_jobs();
    /* The id as index: length, then bytes.  Columns by their number in
     * numbers.c. */
    expect_text(ROOT ".3.1.1.2.1.57", "9");
    expect_text(ROOT ".3.1.1.2.3.49.48.48", "100");
    expect_text(ROOT ".3.1.1.2.8.49.48.64.110.111.100.101.49", "10@node1");
    expect_text(ROOT ".3.1.1.3.8.49.48.64.110.111.100.101.49", "node1");
    expect_type(ROOT ".3.1.1.3.1.57", BJ_VALUE_NO_INSTANCE);
    expect_type(ROOT ".3.1.1.1.1.57", BJ_VALUE_NO_INSTANCE); /* index */
    expect_type(ROOT ".3.1.1.2.1.58", BJ_VALUE_NO_INSTANCE);
    expect_type(ROOT ".3.1.1.2", BJ_VALUE_NO_INSTANCE);
    expect_type(ROOT ".3.1.1.2.1", BJ_VALUE_NO_INSTANCE);
    expect_type(ROOT ".3.1.1.2.1.57.0", BJ_VALUE_NO_INSTANCE);
    expect_type(ROOT ".3.1.1.999.1.57", BJ_VALUE_NO_OBJECT);
    expect_type(ROOT ".3.1", BJ_VALUE_NO_OBJECT);
    expect_type("1.3.6.1.4.1.8072.9999.9999.9011.1.1.1.0", BJ_VALUE_NO_OBJECT);
    expect_type("1.3.6", BJ_VALUE_NO_OBJECT);
    /* Owners are below a number of their own. */
    expect_text(ROOT ".4.1.1.1.1.57", "9");
    expect_text(ROOT ".4.1.1.2.1.57", "bert");
    expect_type(ROOT ".4.1.1.2.8.49.48.64.110.111.100.101.49",
                BJ_VALUE_NO_INSTANCE);
}

/* Values of 64 bits; 0 is a value; unknown is no instance. */
static void values_of_jobs(void **state)
{
    (void)state;
    show_jobs();
    const struct bj_snmp_column *cpu =
        bj_snmp_column(BJ_SNMP_JOB, "batchjob_job_cpu_seconds_total");
    const struct bj_snmp_column *used =
        bj_snmp_column(BJ_SNMP_JOB, "batchjob_job_memory_used_bytes");
    const struct bj_snmp_column *peak =
        bj_snmp_column(BJ_SNMP_JOB, "batchjob_job_memory_charged_peak_bytes");
    const struct bj_snmp_column *pids =
        bj_snmp_column(BJ_SNMP_JOB, "batchjob_job_pids");
    const struct bj_snmp_column *sampled =
        bj_snmp_column(BJ_SNMP_JOB, "batchjob_job_memory_held_peak_sampled");
    const struct {
        const struct bj_snmp_column *c;
        const char *job;
        enum bj_value_type type;
        uint64_t number;
    } cases[] = {
        {cpu, "3.49.48.48", BJ_VALUE_COUNTER64, UINT64_MAX - 1},
        {cpu, "1.57", BJ_VALUE_NO_INSTANCE, 0},
        {used, "3.49.48.48", BJ_VALUE_COUNTER64, 5},
        {used, "1.57", BJ_VALUE_NO_INSTANCE, 0}, /* ended: no levels */
        {peak, "1.57", BJ_VALUE_COUNTER64, 8},
        {pids, "3.49.48.48", BJ_VALUE_GAUGE32, 0},
        {pids, "1.57", BJ_VALUE_NO_INSTANCE, 0},
        {sampled, "1.57", BJ_VALUE_INTEGER, 1},
        {sampled, "3.49.48.48", BJ_VALUE_NO_INSTANCE, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char name[200];
        assert_non_null(cases[i].c);
        snprintf(name, sizeof(name), ROOT ".3.1.1.%u.%s",
                 cases[i].c->number->number, cases[i].job);
        expect_number(name, cases[i].type, cases[i].number);
    }
}

/* Without label.user no table has users. */
static void hidden_labels(void **state)
{
    (void)state;
    static const struct bj_conf conf = {.label_account = true};
    struct bj_snap *s = snap_new(1);
    snap_name(s, 0, "9", NULL, "bert");
    bj_snmp_view_set(view, bj_snmp_rows_new(s, &conf, MOST));
    bj_snap_unref(s);
    expect_text(ROOT ".4.1.1.1.1.57", "9");
    expect_type(ROOT ".4.1.1.2.1.57", BJ_VALUE_NO_INSTANCE);
}

static void refused_rows(void **state)
{
    (void)state;
    static const char bytes65[] = "0123456789012345678901234567890123456789"
                                  "0123456789012345678901234";
    struct bj_snap *s = snap_new(4);
    snap_name(s, 0, bytes65 + 1, NULL, "anna");
    snap_name(s, 1, bytes65, NULL, "anna");
    snap_name(s, 2, "7", NULL, "anna");
    snap_name(s, 3, "7", NULL, "bert");
    show(s);
    /* In bjJobTable and in bjOwnerTable: the id of 65 bytes, the second job 7.
     */
    expect_number(ROOT ".1.1.4.0", BJ_VALUE_GAUGE32, 4);
    expect_text(ROOT ".4.1.1.2.1.55", "anna");
    expect_text(ROOT ".3.1.1.2.64.49.50.51.52.53.54.55.56.57.48"
                     ".49.50.51.52.53.54.55.56.57.48"
                     ".49.50.51.52.53.54.55.56.57.48"
                     ".49.50.51.52.53.54.55.56.57.48"
                     ".49.50.51.52.53.54.55.56.57.48"
                     ".49.50.51.52.53.54.55.56.57.48.49.50.51.52",
                bytes65 + 1);
    /* More rows than snmp.max-rows. */
    s = snap_new(3);
    snap_name(s, 0, "1", NULL, NULL);
    snap_name(s, 1, "2", NULL, NULL);
    snap_name(s, 2, "3", NULL, NULL);
    bj_snmp_view_set(view, snap_rows(s, 2));
    expect_number(ROOT ".1.1.4.0", BJ_VALUE_GAUGE32, 2);
    expect_type(ROOT ".3.1.1.2.1.51", BJ_VALUE_NO_INSTANCE);
}

#define TEXT(s)                                                                \
    {                                                                          \
        s, sizeof(s) - 1                                                       \
    }

static void lists(void **state)
{
    (void)state;
    static struct bj_meter_stat meters[2];
    static struct bj_gpu_part parts[1];
    static struct bj_gpu_use gpus[1];
    static struct bj_gpu_label models[1] = {
        {{{TEXT("GPU-1"), TEXT("0"), TEXT("H200")}}, 1}};
    static struct bj_energy_use energy[1] = {{{{TEXT("cpu")}}, 123456789}};
    memset(meters, 0xff, sizeof(meters));
    memset(parts, 0xff, sizeof(parts));
    memset(gpus, 0xff, sizeof(gpus));
    meters[0].sub = (struct bj_sub){{TEXT("rapl")}};
    meters[0].success = 0;
    meters[1].sub = (struct bj_sub){{TEXT("ipmi")}};
    meters[1].success = 1;
    gpus[0].sub = parts[0].sub = (struct bj_sub){{TEXT("GPU-1"), TEXT("0")}};
    gpus[0].temperature_uc = 45500000;
    parts[0].held_usec = 10;
    parts[0].power_uw = 4294967296;
    struct bj_snap *s = snap_new(1);
    snap_name(s, 0, "9", NULL, NULL);
    s->meters = (struct bj_list){meters, 2};
    s->gpus = (struct bj_list){gpus, 1};
    s->gpu_models = (struct bj_list){models, 1};
    snap_job(s, 0)->gpus = (struct bj_list){parts, 1};
    snap_job(s, 0)->energy = (struct bj_list){energy, 1};
    show(s);
    expect_text(ROOT ".1.4.1.2.4.105.112.109.105", "ipmi");
    expect_number(ROOT ".1.4.1.3.4.105.112.109.105", BJ_VALUE_INTEGER, 1);
    expect_number(ROOT ".1.4.1.3.4.114.97.112.108", BJ_VALUE_INTEGER, 2);
    expect_text(ROOT ".1.7.1.2.5.71.80.85.45.49", "GPU-1");
    expect_text(ROOT ".1.7.1.3.5.71.80.85.45.49", "0");
    expect_text(ROOT ".1.7.1.4.5.71.80.85.45.49", "H200");
    expect_type(ROOT ".1.7.1.5.5.71.80.85.45.49", BJ_VALUE_NO_INSTANCE);
    /* Two parts of an index, without the name of the component twice. */
    expect_number(ROOT ".3.3.1.4.1.57.3.99.112.117", BJ_VALUE_COUNTER64,
                  123456789);
    const struct bj_snmp_column *power =
        bj_snmp_column(BJ_SNMP_JOB_GPU, "batchjob_job_gpu_power_watts");
    char name[100];
    snprintf(name, sizeof(name), ROOT ".3.2.1.%u.1.57.5.71.80.85.45.49",
             power->number->number);
    expect_number(name, BJ_VALUE_COUNTER64, 4294967296);
}

/* The reasons of a GPU differ in the last of three parts of the index. */
static void gpu_states(void **state)
{
    (void)state;
    static struct bj_gpu_label reasons[2] = {
        {{{TEXT("G"), TEXT("0"), TEXT("idle")}}, 0},
        {{{TEXT("G"), TEXT("0"), TEXT("pwr")}}, 1}};
    static struct bj_gpu_label conflicts[1] = {{{{TEXT("denied")}}, 3}};
    struct bj_snap *s = snap_new(0);
    s->gpu_reasons = (struct bj_list){reasons, 2};
    s->gpu_conflicts = (struct bj_list){conflicts, 1};
    show(s);
#define IDLE "1.71.1.48.4.105.100.108.101"
#define POWER "1.71.1.48.3.112.119.114"
    expect_number(ROOT ".1.10.1.7." IDLE, BJ_VALUE_INTEGER, 2);
    expect_number(ROOT ".1.10.1.7." POWER, BJ_VALUE_INTEGER, 1);
    expect_text(ROOT ".1.10.1.5." POWER, "0");
    expect_text(ROOT ".1.10.1.6." POWER, "pwr");
    expect_number(ROOT ".1.11.1.3.6.100.101.110.105.101.100",
                  BJ_VALUE_COUNTER64, 3);
}

/* The sum of the components is shown only with a meter of the whole node. */
static void whole_node(void **state)
{
    (void)state;
    static struct bj_energy_split split[3];
    const char *total = ROOT ".1.1.41.0";
    memset(split, 0xff, sizeof(split));
    split[0].sub = (struct bj_sub){{TEXT("cpu")}};
    split[1].sub = (struct bj_sub){{TEXT("gpu")}};
    split[2].sub = (struct bj_sub){{TEXT("other")}};
    split[0].energy_uj = 5000000000;
    for (int i = 0; i < 2; i++) {
        struct bj_snap *s = snap_new(0);
        split[2].energy_uj = i == 0 ? BJ_ABSENT : 0;
        s->node.energy = (struct bj_list){split, 3};
        show(s);
        if (i == 0)
            expect_type(total, BJ_VALUE_NO_INSTANCE);
        else
            expect_number(total, BJ_VALUE_COUNTER64, 5000000000);
    }
    show(snap_new(0));
    expect_type(total, BJ_VALUE_NO_INSTANCE);
}

/* Rows older than the limit are not shown, only what the program itself knows.
 */
static void stale(void **state)
{
    (void)state;
    testclock_stop();
    struct bj_snap *s = snap_new(1);
    snap_name(s, 0, "9", NULL, NULL);
    s->node.cpus = 4;
    show(s);
    testclock_advance(STALE_USEC);
    expect_text(ROOT ".3.1.1.2.1.57", "9");
    expect_number(ROOT ".1.1.2.0", BJ_VALUE_GAUGE32, STALE_USEC / 1000);
    testclock_advance(1000000);
    expect_type(ROOT ".3.1.1.2.1.57", BJ_VALUE_NO_INSTANCE);
    expect_number(ROOT ".1.1.2.0", BJ_VALUE_GAUGE32, STALE_USEC / 1000 + 1000);
    static struct bj_oid names[8];
    assert_int_equal(walk(names, COUNT(names)), 5);
}

/* From any name GetNext leads to the object that a list of all names has behind
 * it, with include also to the name itself. */
static void any_name(void **state)
{
    (void)state;
    static struct bj_oid names[MOST];
    static struct bj_meter_stat meters[2];
    memset(meters, 0xff, sizeof(meters));
    meters[0].sub = (struct bj_sub){{TEXT("rapl")}};
    meters[1].sub = (struct bj_sub){{TEXT("ipmi")}};
    struct bj_snap *s = snap_new(50);
    s->meters = (struct bj_list){meters, 2};
    srand(1);
    for (size_t i = 0; i < 50; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%zu", i * i * i * 7);
        snap_name(s, i, id, NULL, i % 3 ? "anna" : NULL);
        uint64_t *use = (uint64_t *)(void *)&snap_job(s, i)->use;
        for (size_t k = 0; k < sizeof(struct bj_usage) / sizeof(*use); k++)
            if (rand() % 4 == 0)
                use[k] = (uint64_t)rand();
    }
    show(s);
    const size_t n = walk(names, COUNT(names));
    assert_in_range(n, 500, COUNT(names) - 1);
    const struct bj_objects o = bj_snmp_view_begin(view);
    for (int round = 0; round < 50000; round++) {
        struct bj_oid name = names[(size_t)rand() % n], from;
        struct bj_value v;
        if (rand() % 2)
            name.n -= (unsigned)rand() % (name.n + 1);
        if (rand() % 2 && name.n > 0)
            name.id[(unsigned)rand() % name.n] += (uint32_t)(rand() % 5 - 2);
        if (rand() % 4 == 0 && name.n < BJ_OID_MAX)
            name.id[name.n++] = (uint32_t)rand() % 3;
        const bool include = rand() % 2;
        size_t want = 0;
        while (want < n && (include ? bj_oid_compare(&names[want], &name) < 0
                                    : bj_oid_compare(&names[want], &name) <= 0))
            want++;
        from = name;
        bool any = o.next(o.ctx, &name, include, &v);
        assert_int_equal(any, want < n);
        if (any && bj_oid_compare(&name, &names[want]) != 0)
            fail_msg("round %d: behind %u numbers, not object %zu", round,
                     from.n, want);
    }
    bj_snmp_view_end(view);
}

/* --- numbers */

static void numbers(void **state)
{
    (void)state;
    static const struct {
        size_t at;        /* line that is changed */
        int by;           /* its number */
        const char *name; /* its metric */
        const char *gone;
        const char *message;
    } cases[] = {
        {0, 1, NULL, NULL, "number 2 is not the next one"},
        {20, 1, NULL, NULL, "is not the next one"},
        {20, -1, NULL, NULL, "is not the next one"},
        {20, 0, "batchjob_no_such_metric", NULL,
         "has no metric batchjob_no_such_metric"},
        {20, 0, NULL, "Counter64", "is marked as gone, but"},
        {20, 0, "batchjob_no_such_metric", "Counter64", "has 0 numbers in bj"},
    };
    struct bj_snmp_number *list = malloc(bj_snmp_nnumbers * sizeof(*list));
    struct bj_err err = {0};
    assert_int_equal(
        bj_snmp_numbers_check(bj_snmp_numbers, bj_snmp_nnumbers, &err), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        memcpy(list, bj_snmp_numbers, bj_snmp_nnumbers * sizeof(*list));
        struct bj_snmp_number *line = &list[cases[i].at];
        line->number += (uint32_t)cases[i].by;
        line->name = cases[i].name ? cases[i].name : line->name;
        line->gone = cases[i].gone;
        assert_int_equal(bj_snmp_numbers_check(list, bj_snmp_nnumbers, &err),
                         -EINVAL);
        if (!strstr(err.msg, cases[i].message))
            fail_msg("%s", err.msg);
    }
    /* A line less in the middle, or at the end of a table. */
    memcpy(list, bj_snmp_numbers, bj_snmp_nnumbers * sizeof(*list));
    size_t end = 0;
    while (list[end].table <= BJ_SNMP_NODE_ENERGY) /* ends with metrics */
        end++;
    for (size_t cut = end - 2; cut < end; cut++) {
        memcpy(list, bj_snmp_numbers, cut * sizeof(*list));
        memcpy(list + cut, bj_snmp_numbers + cut + 1,
               (bj_snmp_nnumbers - cut - 1) * sizeof(*list));
        assert_int_equal(
            bj_snmp_numbers_check(list, bj_snmp_nnumbers - 1, &err), -EINVAL);
    }
    assert_non_null(strstr(err.msg, "append a line with the next number"));
    free(list);
}

/* All names end within BJ_OID_MAX. */
static void longest_names(void **state)
{
    (void)state;
    for (unsigned t = 0; t < BJ_SNMP_TABLES; t++) {
        const struct bj_snmp_table *table = &bj_snmp_tables[t];
        unsigned n = BJ_SNMP_BASE_MAX + BJ_SNMP_PATH;
        for (unsigned k = 0; k < BJ_SNMP_KEYS; k++)
            n += table->key_max[k] ? 1 + table->key_max[k] : 0;
        assert_in_range(n, BJ_SNMP_BASE_MAX + BJ_SNMP_PATH, BJ_OID_MAX);
    }
}

int main(void)
{
#define VIEW(test) cmocka_unit_test_setup_teardown(test, make_view, drop_view)
    const struct CMUnitTest tests[] = {
        VIEW(before_first_pass),
        VIEW(jobs),
        VIEW(values_of_jobs),
        VIEW(hidden_labels),
        VIEW(refused_rows),
        VIEW(lists),
        VIEW(gpu_states),
        VIEW(whole_node),
        VIEW(stale),
        VIEW(any_name),
        cmocka_unit_test(numbers),
        cmocka_unit_test(longest_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
