/* Evidence of findings on generated curves: each kind is found on its own kind
 * of curve only, also under noise of 10 %. */
#include "statsdb/derive/evidence.h"
#include "tests/unit/statsdb/test_statsdb.h"

#include <math.h>
#include <string.h>

enum { POINTS = 120, STEP = 60, TRIES = 200 };

static unsigned seed = 4711;

/* Between -1 and 1. */
static double rnd(void)
{
    seed = seed * 1103515245 + 12345;
    return (double)(seed >> 16 & 0x7fff) / 16383.5 - 1;
}

static double noisy(double v)
{
    return v * (1 + 0.1 * rnd());
}

/* --- uneven work -----------------------------------------------------------
 */

static unsigned differing(const double *v, size_t n, double *percent,
                          bool *differs)
{
    unsigned ret = 0;
    *percent = bj_evidence_uneven(v, n, differs);
    for (size_t i = 0; i < n; i++)
        ret += differs[i];
    return ret;
}

static void test_uneven(void **state)
{
    (void)state;
    double v[16], percent;
    bool differs[16];
    for (unsigned try = 0; try < TRIES; try++) {
        for (int i = 0; i < 16; i++)
            v[i] = noisy(62);
        assert_int_equal(differing(v, 16, &percent, differs), 0);
        assert_true(percent < 1);
        /* one slow node of 16 */
        v[5] = 20;
        assert_int_equal(differing(v, 16, &percent, differs), 1);
        assert_true(differs[5] && percent > 60 && percent < 72);
        /* one that does the work of all */
        for (int i = 0; i < 16; i++)
            v[i] = noisy(5);
        v[0] = 62;
        assert_int_equal(differing(v, 16, &percent, differs), 1);
        assert_true(differs[0]);
        /* half of them */
        for (int i = 0; i < 16; i++)
            v[i] = noisy(i < 8 ? 20 : 62);
        assert_int_equal(differing(v, 16, &percent, differs), 8);
        assert_true(differs[7] && !differs[8]);
    }
    /* without any noise, a fifth of the median is needed */
    for (int i = 0; i < 16; i++)
        v[i] = 60;
    v[3] = 49;
    assert_int_equal(differing(v, 16, &percent, differs), 0);
    v[3] = 45;
    assert_int_equal(differing(v, 16, &percent, differs), 1);
    assert_true(fabs(percent - 25) < 1e-9);
}

static void test_uneven_few(void **state)
{
    (void)state;
    double v[3] = {62, 20, 60}, percent;
    bool differs[3];
    assert_int_equal(differing(v, 2, &percent, differs), 1);
    assert_true(differs[1] && fabs(percent - 100 * 42.0 / 62) < 1e-9);
    assert_int_equal(differing(v, 3, &percent, differs), 1);
    v[1] = 40;
    assert_int_equal(differing(v, 3, &percent, differs), 0);
    assert_true(percent < 1e-9);
    /* unknown, alone, nothing used */
    v[1] = (double)NAN;
    assert_int_equal(differing(v, 3, &percent, differs), 0);
    assert_true(isnan(percent));
    assert_true(isnan(bj_evidence_uneven(v, 1, differs)));
    v[0] = v[1] = 0;
    assert_true(isnan(bj_evidence_uneven(v, 2, differs)));
}

/* --- rising memory ---------------------------------------------------------
 */

enum curve { CONSTANT, RAMP, LATE_RAMP, STEP_UP, SAW, PLATEAU, FALL, CURVES };

/* Memory in bytes at part t of the run, 0 to 1. */
static double memory_at(enum curve c, double t)
{
    static const double gib = 0x1p30;
    switch (c) {
    case RAMP:
        return (1 + 7 * t) * gib;
    case LATE_RAMP: /* input is read first, then it leaks */
        return (t < 0.05 ? 20 * t * 5 : 5 + 3 * t) * gib;
    case STEP_UP:
        return (t < 0.5 ? 1 : 8) * gib;
    case SAW:
        return (1 + 7 * (t * 6 - floor(t * 6))) * gib;
    case PLATEAU:
        return (1 + 7 * fmin(t / 0.6, 1)) * gib;
    case FALL:
        return (8 - 7 * t) * gib;
    default:
        return 4 * gib;
    }
}

static void test_rise(void **state)
{
    (void)state;
    double v[POINTS], rise, steady;
    for (unsigned try = 0; try < TRIES; try++)
        for (enum curve c = CONSTANT; c < CURVES; c++) {
            const bool leaks = c == RAMP || c == LATE_RAMP;
            for (int i = 0; i < POINTS; i++) {
                double x = memory_at(c, (double)(i + 1) / POINTS);
                /* a leak of 3 GiB on 5 is less clear under noise of 10 % */
                v[i] = c == LATE_RAMP ? x * (1 + 0.02 * rnd()) : noisy(x);
            }
            bj_evidence_rise(v, POINTS, STEP, &rise, &steady);
            if (leaks != (steady > 0.8))
                fail_msg("curve %d, steady %g", (int)c, steady);
            assert_true(c != FALL || rise <= 0);
            /* 7 and 3 GiB in two hours */
            if (leaks)
                assert_true(fabs(rise / 0x1p30 - (c == RAMP ? 3.5 : 1.5)) <
                            0.3);
        }
}

/* The slope of a line without noise is exact, and gaps are allowed. */
static void test_rise_exact(void **state)
{
    (void)state;
    double v[POINTS], rise, steady;
    for (int i = 0; i < POINTS; i++)
        v[i] = 1e9 + 1e6 * i;
    v[50] = v[60] = (double)NAN;
    bj_evidence_rise(v, POINTS, STEP, &rise, &steady);
    assert_true(fabs(rise - 60e6) < 1);
    assert_true(steady > 0.999999 && steady <= 1);
    for (int i = 30; i < 50; i++)
        v[i] = (double)NAN;
    bj_evidence_rise(v, POINTS, STEP, &rise, &steady);
    assert_true(isnan(rise) && isnan(steady));
    bj_evidence_rise(v, BJ_EVIDENCE_POINTS - 1, STEP, &rise, &steady);
    assert_true(isnan(rise) && isnan(steady));
}

/* --- nothing used ----------------------------------------------------------
 */

struct use {
    double cpus[POINTS], bytes[POINTS], gpus[POINTS];
    struct bj_evidence_use u;
};

/* A job of two hours that uses cpus of its CPUs from point from to point to. */
static void fill(struct use *w, int from, int to, double cpus)
{
    for (int i = 0; i < POINTS; i++) {
        const bool on = i >= from && i < to;
        w->cpus[i] = on ? noisy(cpus) : 0.001 * (1 + rnd());
        w->bytes[i] = on ? noisy(1e6) : 100 * (1 + rnd());
        w->gpus[i] = 0;
    }
    w->u = (struct bj_evidence_use){.cpus = w->cpus,
                                    .bytes = w->bytes,
                                    .n = POINTS,
                                    .step_sec = STEP,
                                    .window_sec = 2 * STEP,
                                    .start_sec = 1000,
                                    .end_sec = 1000 + POINTS * STEP,
                                    .nodes = 1};
}

static void expect_idle(const struct use *w, int64_t start, int64_t end)
{
    int64_t s, e;
    bj_evidence_idle(&w->u, &s, &e);
    if (s != start || e != end)
        fail_msg("%lld and %lld seconds", (long long)s, (long long)e);
}

static void test_idle(void **state)
{
    (void)state;
    struct use w;
    for (unsigned try = 0; try < TRIES; try++) {
        fill(&w, 0, POINTS, 0.5 + 63 * fabs(rnd()));
        expect_idle(&w, 0, 0);
        fill(&w, 30, 90, 4); /* 29 min without use, then 30 */
        expect_idle(&w, 29 * STEP, 30 * STEP);
        fill(&w, 0, 60, 0.3);
        expect_idle(&w, 0, 60 * STEP);
        /* after 64 CPUs one is busy: that is work */
        for (int i = 60; i < POINTS; i++)
            w.cpus[i] = 1;
        expect_idle(&w, 0, 0);
    }
}

/* I/O or a GPU alone are work, too; nothing at all is the whole run. */
static void test_idle_other(void **state)
{
    (void)state;
    struct use w;
    fill(&w, 0, 60, 4);
    w.bytes[99] = 20e3;
    expect_idle(&w, 0, 20 * STEP);
    w.u.gpus = w.gpus;
    w.gpus[109] = 0.02;
    expect_idle(&w, 0, 10 * STEP);
    fill(&w, 0, 0, 0);
    memset(w.cpus, 0, sizeof(w.cpus));
    memset(w.bytes, 0, sizeof(w.bytes));
    expect_idle(&w, -1, POINTS * STEP);
}

/* What is not known may be work. */
static void test_idle_unknown(void **state)
{
    (void)state;
    struct use w;
    fill(&w, 30, 60, 4);
    w.cpus[0] = w.bytes[0] = w.cpus[2] = (double)NAN; /* no rate yet */
    expect_idle(&w, 29 * STEP, 60 * STEP);
    w.bytes[100] = (double)NAN;
    expect_idle(&w, 29 * STEP, -1);
    w.cpus[20] = (double)NAN;
    expect_idle(&w, -1, -1);
    fill(&w, 30, 60, 4);
    w.u.gpus = w.gpus;
    for (int i = 0; i < POINTS; i++)
        w.gpus[i] = (double)NAN;
    expect_idle(&w, -1, -1);
    fill(&w, 30, 60, 4);
    w.u.end_sec += 10 * STEP; /* samples ended before the job */
    expect_idle(&w, -1, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uneven),       cmocka_unit_test(test_uneven_few),
        cmocka_unit_test(test_rise),         cmocka_unit_test(test_rise_exact),
        cmocka_unit_test(test_idle),         cmocka_unit_test(test_idle_other),
        cmocka_unit_test(test_idle_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
