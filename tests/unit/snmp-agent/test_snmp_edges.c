/* Notifications: sent when something begins, not while it lasts, and not more
 * of them than the rate allows. */
#include "snmp-agent/edges.h"

#include "tests/unit/snmp-agent/snap.h"

enum { MOST = 100, MINUTE = 60 * 1000000 };

#define ROOT "1.3.6.1.4.1.8072.9999.9999.9010"

static struct bj_snmp_view *view;
static struct bj_edges edges;
static char *all[] = {(char *)"job-oom", (char *)"meter", (char *)"gpu",
                      (char *)"records"};
static struct bj_edges_conf conf;
static struct bj_buf sent[MOST]; /* the variables of notifications */
static size_t nsent;
static bool full; /* send refuses */

static bool keep(void *ctx, struct bj_buf variables)
{
    (void)ctx;
    assert_true(nsent < MOST && !variables.failed);
    if (full)
        bj_buf_free(&variables);
    else
        sent[nsent++] = variables;
    return !full;
}

static int edges_setup(void **state)
{
    (void)state;
    const struct bj_oid base = oid_of(ROOT);
    conf = (struct bj_edges_conf){{all, 4}, 10, 900 * 1000000ull};
    edges = (struct bj_edges){.conf = &conf, .send = keep};
    full = false;
    int r = bj_snmp_view_new(&base, MINUTE, &view, NULL);
    edges.view = view;
    return r;
}

static void forget(void)
{
    while (nsent > 0)
        bj_buf_free(&sent[--nsent]);
}

static int edges_teardown(void **state)
{
    (void)state;
    forget();
    bj_snmp_view_free(view);
    return 0;
}

/* Compare two passes, whose rows end here. */
static void compare(struct bj_snap *a, struct bj_snap *b, uint64_t now)
{
    struct bj_snmp_rows *before = snap_rows(a, MOST),
                        *rows = snap_rows(b, MOST);
    forget();
    bj_edges_compare(&edges, before, rows, now);
    bj_snmp_rows_unref(before);
    bj_snmp_rows_unref(rows);
}

/* The notifications are these numbers, 0 being none. */
static void expect_sent(size_t n, unsigned first)
{
    const struct bj_oid trap = oid_of("1.3.6.1.6.3.1.1.4.1.0");
    if (nsent != n)
        fail_msg("%zu notifications", nsent);
    if (n == 0)
        return;
    struct bj_oid name = oid_of(ROOT ".0.0");
    struct bj_buf want = {0};
    name.id[name.n - 1] = first;
    bj_pdu_put_value(&want, &trap,
                     &(struct bj_value){.type = BJ_VALUE_OID, .oid = &name});
    assert_true(sent[0].len > want.len);
    assert_memory_equal(sent[0].p, want.p, want.len);
    bj_buf_free(&want);
}

/* The variables behind snmpTrapOID of the first notification. */
static void expect_variables(const char *a, const struct bj_value *av,
                             const char *b, const struct bj_value *bv)
{
    struct bj_buf want = {0};
    const struct bj_oid an = oid_of(a), bn = oid_of(b);
    bj_pdu_put_value(&want, &an, av);
    bj_pdu_put_value(&want, &bn, bv);
    assert_true(sent[0].len > want.len);
    assert_memory_equal(sent[0].p + sent[0].len - want.len, want.p, want.len);
    bj_buf_free(&want);
}

/* --- */

static struct bj_snap *one_job(const char *id, uint64_t kills, uint64_t start)
{
    struct bj_snap *s = snap_new(id ? 1 : 0);
    if (id) {
        snap_name(s, 0, id, NULL, "anna");
        snap_job(s, 0)->use.mem_oom_kills = kills;
        snap_job(s, 0)->start_sec = start;
    }
    return s;
}

static void killed_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        uint64_t kills_before, start_before;
        uint64_t kills, start;
        size_t sent;
    } cases[] = {
        {"7", 0, 5, 0, 5, 0},
        {"7", 0, 5, 1, 5, 1},
        {"7", 1, 5, 1, 5, 0},
        {"7", 1, 5, 3, 5, 1},
        {"7", 3, 5, 1, 9, 1}, /* another run */
        {"7", 3, 5, 0, 9, 0},
        {"7", BJ_ABSENT, 5, 2, 5, 0}, /* unknown before */
        {"7", 2, 5, BJ_ABSENT, 5, 0}, /* unknown now */
        {NULL, 0, 0, 1, 5, 1},        /* a new job */
        {NULL, 0, 0, 0, 5, 0},
        {"8", 9, 5, 1, 5, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        compare(one_job(cases[i].before, cases[i].kills_before,
                        cases[i].start_before),
                one_job("7", cases[i].kills, cases[i].start), i * MINUTE + 1);
        if (nsent != cases[i].sent)
            fail_msg("case %zu: %zu", i, nsent);
        expect_sent(cases[i].sent, 1);
    }
    const struct bj_snmp_column *kills =
        bj_snmp_column(BJ_SNMP_JOB, "batchjob_job_oom_kills_total");
    char name[100];
    snprintf(name, sizeof(name), ROOT ".3.1.1.%u.1.55", kills->number->number);
    expect_variables(
        ROOT ".3.1.1.2.1.55",
        &(struct bj_value){.type = BJ_VALUE_TEXT, .text = BJ_SLICE("7")}, name,
        &(struct bj_value){.type = BJ_VALUE_COUNTER64, .number = 1});
}

static struct bj_snap *one_meter(struct bj_meter_stat *m, uint64_t success)
{
    struct bj_snap *s = snap_new(0);
    memset(m, 0xff, sizeof(*m));
    m->sub = (struct bj_sub){{{"rapl", 4}}};
    m->success = success;
    s->meters = (struct bj_list){m, 1};
    return s;
}

static void meters(void **state)
{
    (void)state;
    static const struct {
        uint64_t before, now;
        unsigned sent;
    } cases[] = {
        {1, 1, 0},         {0, 0, 0},         {1, 0, 2},
        {0, 1, 3},         {BJ_ABSENT, 0, 2}, {BJ_ABSENT, 1, 0},
        {0, BJ_ABSENT, 0}, {1, BJ_ABSENT, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_meter_stat a, b;
        compare(one_meter(&a, cases[i].before), one_meter(&b, cases[i].now),
                i * MINUTE + 1);
        if (nsent != (cases[i].sent > 0))
            fail_msg("case %zu: %zu", i, nsent);
        expect_sent(cases[i].sent > 0, cases[i].sent);
    }
}

static void gpus(void **state)
{
    (void)state;
    struct bj_gpu_use a, b;
    struct bj_snap *s[2] = {snap_new(0), snap_new(0)};
    memset(&a, 0xff, sizeof(a));
    a.sub = (struct bj_sub){{{"G", 1}, {"0", 1}}};
    a.success = 1;
    a.xids = 2;
    a.ecc_uncorrected = 4;
    b = a;
    s[0]->gpus = (struct bj_list){&a, 1};
    s[1]->gpus = (struct bj_list){&b, 1};
    compare(bj_snap_ref(s[0]), bj_snap_ref(s[1]), 1);
    expect_sent(0, 0);
    b.success = 0;
    b.xids = 4;
    b.last_xid = 79;
    b.ecc_uncorrected = 5;
    compare(bj_snap_ref(s[0]), bj_snap_ref(s[1]), 1);
    expect_sent(1, 4);
    expect_variables(
        ROOT ".1.7.1.2.1.71",
        &(struct bj_value){.type = BJ_VALUE_TEXT, .text = BJ_SLICE("G")},
        ROOT ".1.1.7.0",
        &(struct bj_value){
            .type = BJ_VALUE_TEXT,
            .text = BJ_SLICE("the driver does not answer; 2 new Xid errors, "
                             "the last one 79; 1 new uncorrected memory "
                             "errors")});
    b = a;
    a.rows_failed = 0;
    b.rows_failed = 1;
    compare(bj_snap_ref(s[0]), bj_snap_ref(s[1]), 1);
    expect_sent(1, 4);
    a.rows_failed = 1;
    compare(bj_snap_ref(s[0]), bj_snap_ref(s[1]), 1);
    expect_sent(0, 0);
    a.rows_failed = BJ_ABSENT;
    a.ecc_uncorrected = BJ_ABSENT;
    compare(s[0], s[1], 1);
    expect_sent(0, 0);
}

static struct bj_snap *records_of_age(uint64_t usec)
{
    struct bj_snap *s = snap_new(0);
    s->self.records_waiting = 3;
    s->self.records_age_usec = usec;
    return s;
}

static void records(void **state)
{
    (void)state;
    const uint64_t limit = conf.records_usec;
    compare(records_of_age(0), records_of_age(limit - 1), 1);
    expect_sent(0, 0);
    compare(records_of_age(limit - 1), records_of_age(limit), 1);
    expect_sent(1, 5);
    compare(records_of_age(limit), records_of_age(limit + 1), 1);
    expect_sent(0, 0);
    compare(records_of_age(BJ_ABSENT), records_of_age(limit), 1);
    expect_sent(1, 5);
    compare(records_of_age(limit), records_of_age(BJ_ABSENT), 1);
    expect_sent(0, 0);
}

static void choice(void **state)
{
    (void)state;
    conf.notify = (struct bj_strv){all + 1, 3};
    compare(one_job("7", 0, 5), one_job("7", 1, 5), 1);
    expect_sent(0, 0);
}

static uint64_t unsent(void)
{
    const struct bj_oid name = oid_of(ROOT ".1.1.5.0");
    const struct bj_objects o = bj_snmp_view_begin(view);
    struct bj_value v = o.get(o.ctx, &name);
    bj_snmp_view_end(view);
    assert_int_equal(v.type, BJ_VALUE_COUNTER64);
    return v.number;
}

static void rate(void **state)
{
    (void)state;
    struct bj_snap *a = snap_new(0), *b = snap_new(25);
    for (size_t i = 0; i < 25; i++) {
        char id[8];
        snprintf(id, sizeof(id), "%zu", i);
        snap_name(b, i, id, NULL, NULL);
        snap_job(b, i)->use.mem_oom_kills = 1;
    }
    compare(bj_snap_ref(a), bj_snap_ref(b), 5);
    expect_sent(10, 1);
    assert_int_equal(unsent(), 15);
    compare(bj_snap_ref(a), bj_snap_ref(b), MINUTE + 4);
    expect_sent(0, 0);
    assert_int_equal(unsent(), 40);
    compare(bj_snap_ref(a), bj_snap_ref(b), MINUTE + 5);
    expect_sent(10, 1);
    full = true;
    compare(a, b, 2 * MINUTE + 5);
    assert_int_equal(unsent(), 55 + 25);
}

int main(void)
{
#define EDGES(test)                                                            \
    cmocka_unit_test_setup_teardown(test, edges_setup, edges_teardown)
    const struct CMUnitTest tests[] = {
        EDGES(killed_jobs), EDGES(meters), EDGES(gpus),
        EDGES(records),     EDGES(choice), EDGES(rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
