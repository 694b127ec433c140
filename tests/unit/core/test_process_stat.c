/* Lines of /proc/PID/stat and io: recorded and malformed ones. */
#include "core/collect/process_impl.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S(lit)                                                                 \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }

/* A copy in memory of exactly its size, so that the address sanitizer detects
 * reads past its end. */
static struct bj_slice exact(struct bj_slice s)
{
    char *p = malloc(s.n ? s.n : 1);
    assert_non_null(p);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    return (struct bj_slice){p, s.n};
}

static struct bj_slice slurp(const char *name, char *buf, size_t cap)
{
    char path[128];
    snprintf(path, sizeof(path), "tests/fixtures/proc-lines/%s", name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(buf, 1, cap, f);
    fclose(f);
    assert_in_range(n, 1, cap - 1);
    return (struct bj_slice){buf, n};
}

/* The fields of the recorded lines, read by awk (-F"[ )]+" and so on): comm,
 * state, ppid, utime, stime, threads, start, stack, sigignore, cpu. */
struct want {
    const char *comm;
    char state;
    uint64_t ppid, utime, stime, threads, start, stack, sigignore, cpu;
};

static const struct want want_6_1[] = {
    {"slurmstepd", 'S', 1, 33, 49, 4, 112842, 140727996523344, 0, 0},
    {"slurm_script", 'S', 3881, 7, 2, 1, 112923, 140722089434544, 4, 0},
    {"work", 'S', 3892, 1701, 236, 1, 112960, 140731541324048, 0, 0},
    {"work", 'R', 4092, 1847, 123, 4, 113671, 140731123870704, 0, 0},
    {"work", 'R', 4053, 772, 80, 1, 113474, 140723872712656, 0, 0},
    {"sleep", 'S', 1, 2, 0, 1, 113480, 140720542728976, 0, 0},
};

static const struct want want_6_18[] = {
    {"slurm_script", 'S', 1754, 0, 0, 1, 179288, 140724961996720, 4, 1},
    {"work", 'R', 1879, 323, 16, 4, 179324, 140730054585920, 0, 0},
    {"work", 'R', 1817, 180, 19, 1, 179297, 140722929651824, 0, 0},
    {"slurmstepd", 'S', 1, 0, 1, 4, 179274, 140724985869216, 0, 1},
};

static void check(struct bj_slice line, const struct want *w)
{
    struct bj_procstat st;
    line = exact(line);
    assert_int_equal(bj_procstat_parse(line, &st), 0);
    assert_true(bj_slice_eq(st.comm, bj_slice_str(w->comm)));
    assert_int_equal(st.state, w->state);
    assert_int_equal(bj_procstat_state(line), w->state);
    assert_int_equal(st.ppid, w->ppid);
    assert_int_equal(st.utime_ticks, w->utime);
    assert_int_equal(st.stime_ticks, w->stime);
    assert_int_equal(st.threads, w->threads);
    assert_int_equal(st.start_ticks, w->start);
    assert_int_equal(st.stack, w->stack);
    assert_int_equal(st.sigignore, w->sigignore);
    assert_int_equal(st.cpu, w->cpu);
    free((char *)line.p);
}

static void check_file(const char *name, const struct want *w, size_t n)
{
    char buf[4096];
    struct bj_slice rest = slurp(name, buf, sizeof(buf)), line;
    size_t i = 0;
    while (bj_slice_line(&rest, &line)) {
        assert_true(i < n);
        check(line, &w[i++]);
    }
    assert_int_equal(i, n);
}

static void recorded(void **state)
{
    (void)state;
    check_file("stat-6.1", want_6_1, COUNT(want_6_1));
    check_file("stat-6.18", want_6_18, COUNT(want_6_18));
}

/* The fields from the state to the start, and all fields. */
#define TAIL " R 2 3 3 0 -1 0 5 6 7 8 14 15 16 17 -20 -19 3 0 99"
#define WHOLE                                                                  \
    TAIL " 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42\n"

static const struct {
    struct bj_slice line, comm;
    uint64_t stack, cpu;
} hostile[] = {
    {S("7 (a b)" WHOLE), S("a b"), 28, 39},
    {S("7 ()" WHOLE), S(""), 28, 39},
    {S("7 (()" WHOLE), S("("), 28, 39},
    {S("7 ())" WHOLE), S(")"), 28, 39},
    {S("7 () S 1 (x)) Z 1)" WHOLE), S(") S 1 (x)) Z 1"), 28, 39},
    {S("7 (a\nb)" WHOLE), S("a\nb"), 28, 39},
    {S("7 (\0\xff)" WHOLE), S("\0\xff"), 28, 39},
    /* A kernel with fewer fields. */
    {S("7 (x)" TAIL), S("x"), 0, BJ_ABSENT},
    {S("7 (x)" TAIL "\n"), S("x"), 0, BJ_ABSENT},
    {S("7 (x)" TAIL " 23 24 25 26 27 28"), S("x"), 28, BJ_ABSENT},
    {S("7 (x)" TAIL " 23 24 25 26 27 -1 0"), S("x"), 0, BJ_ABSENT},
};

static void names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(hostile); i++) {
        struct bj_procstat st;
        struct bj_slice line = exact(hostile[i].line);
        assert_int_equal(bj_procstat_parse(line, &st), 0);
        assert_true(bj_slice_eq(st.comm, hostile[i].comm));
        assert_int_equal(st.state, 'R');
        assert_int_equal(st.ppid, 2);
        assert_int_equal(st.utime_ticks, 14);
        assert_int_equal(st.stime_ticks, 15);
        assert_int_equal(st.threads, 3);
        assert_int_equal(st.start_ticks, 99);
        assert_int_equal(st.stack, hostile[i].stack);
        assert_int_equal(st.cpu, hostile[i].cpu);
        free((char *)line.p);
    }
}

static const struct bj_slice bad[] = {
    S(""),
    S("("),
    S(")"),
    S(")("),
    S("7"),
    S("7 (x"),
    S("7 x) R 1"),
    S("7 (x)"),
    S("7 (x) "),
    S("7 (x) R"),
    S("7 (x) R "),
    S("7 (x) RR 2 3"),
    S("7 (x)R 2 3"),
    S("7 (x) R -2 3 3 0 -1 0 5 6 7 8 14 15 16 17 -20 -19 3 0 99"),
    S("7 (x) R 2 3 3 0 -1 0 5 6 7 8 a 15 16 17 -20 -19 3 0 99"),
    S("7 (x) R 2 3 3 0 -1 0 5 6 7 8 14 15 16 17 -20 -19 3 0 "),
    S("7 (x) R 2 3 3 0 -1 0 5 6 7 8 14 15 16 17 -20 -19 3 0"),
    S("7 (x) R 2 3 3 0 -1 0 5 6 7 8 14 15 16 17 -20 -19 3 0 "
      "18446744073709551616"),
};

static void broken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bj_procstat st = {.start_ticks = 4711};
        struct bj_slice line = exact(bad[i]);
        assert_int_equal(bj_procstat_parse(line, &st), -EINVAL);
        assert_int_equal(st.start_ticks, 4711);
        bj_procstat_state(line);
        free((char *)line.p);
    }
}

#define IO6                                                                    \
    "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"

static const struct {
    struct bj_slice text;
    int want;
} ios[] = {
    {S(IO6 "cancelled_write_bytes: 7\n"), 0},
    {S(IO6 "cancelled_write_bytes: 7"), 0},
    {S("news: 9\n" IO6 "\ncancelled_write_bytes:  7\nmore: x\n"), 0},
    {S("cancelled_write_bytes: 7\nwrite_bytes: 6\nread_bytes: 5\nsyscw: 4\n"
       "syscr: 3\nwchar: 2\nrchar: 1\n"),
     0},
    {S(""), -EINVAL},
    {S(IO6), -EINVAL},
    {S(IO6 "cancelled_write_bytes: "), -EINVAL},
    {S(IO6 "cancelled_write_bytes: -7\n"), -EINVAL},
    {S(IO6 "cancelled_write_bytes: 18446744073709551616\n"), -EINVAL},
};

static void io(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ios); i++) {
        uint64_t v[BJ_PROCIO_FIELDS] = {0};
        struct bj_slice text = exact(ios[i].text);
        assert_int_equal(bj_procio_parse(text, v), ios[i].want);
        for (unsigned f = 0; f < BJ_PROCIO_FIELDS; f++)
            assert_int_equal(v[f], ios[i].want ? 0 : f + 1);
        free((char *)text.p);
    }
}

static void recorded_io(void **state)
{
    static const struct {
        const char *name;
        uint64_t want[BJ_PROCIO_FIELDS];
    } files[] = {
        {"io-6.1", {24167, 5046, 44, 4, 0, 4096, 0}},
        {"io-6.18", {27574, 5118, 50, 4, 0, 4096, 0}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(files); i++) {
        char buf[512];
        uint64_t v[BJ_PROCIO_FIELDS];
        struct bj_slice text = slurp(files[i].name, buf, sizeof(buf));
        assert_int_equal(bj_procio_parse(text, v), 0);
        assert_memory_equal(v, files[i].want, sizeof(v));
    }
}

static void hashes(void **state)
{
    (void)state;
    char a[80] = {0};
    for (size_t n = 0; n < sizeof(a); n++) {
        uint64_t h = bj_proc_hash((struct bj_slice){a, n});
        assert_true(h != bj_proc_hash((struct bj_slice){a, n + 1}));
        for (size_t i = 0; i < n; i++) {
            a[i] ^= 1;
            assert_true(h != bj_proc_hash((struct bj_slice){a, n}));
            a[i] ^= 1;
        }
    }
}

static void states(void **state)
{
    static const char *const want[][2] = {
        {"R", "running"}, {"S", "sleeping"},     {"D", "disk_sleep"},
        {"T", "stopped"}, {"t", "tracing_stop"}, {"Z", "zombie"},
        {"X", "dead"},    {"x", "dead"},         {"I", "idle"},
        {"P", "parked"},  {"W", "waking"},       {"K", "wake_kill"},
        {"?", "unknown"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(want); i++)
        assert_true(bj_slice_eq(bj_proc_state_name[bj_proc_state(*want[i][0])],
                                bj_slice_str(want[i][1])));
    for (int i = 1; i < BJ_PROC_STATES; i++)
        assert_true(
            strcmp(bj_proc_state_name[i - 1].p, bj_proc_state_name[i].p) < 0);
}

static void labels(void **state)
{
    char a[BJ_LABEL_MAX + 200], x[BJ_LABEL_MAX + 1], y[BJ_LABEL_MAX + 1];
    (void)state;
    size_t n = bj_exe_label(BJ_SLICE("/usr/bin/python3.11"), x);
    assert_string_equal(x, "/usr/bin/python3.11");
    assert_int_equal(n, strlen(x));
    memset(a, 'a', sizeof(a));
    a[0] = '/';
    /* The longest label that is not shortened, and longer ones that begin with
     * the same text. */
    assert_int_equal(bj_exe_label((struct bj_slice){a, BJ_LABEL_MAX}, x),
                     BJ_LABEL_MAX);
    assert_memory_equal(x, a, BJ_LABEL_MAX);
    n = bj_exe_label((struct bj_slice){a, BJ_LABEL_MAX + 1}, x);
    assert_int_equal(n, BJ_LABEL_MAX);
    bj_exe_label((struct bj_slice){a, BJ_LABEL_MAX + 2}, y);
    assert_string_not_equal(x, y);
    assert_memory_equal(x, a, 100);
    /* Labels that would be the same after cleaning. */
    bj_exe_label(BJ_SLICE("/x\n"), x);
    bj_exe_label(BJ_SLICE("/x\t"), y);
    assert_memory_equal(x, "/x?~", 4);
    assert_memory_equal(y, "/x?~", 4);
    assert_string_not_equal(x, y);
    /* Two-byte characters are not cut in half. */
    for (size_t i = 0; i + 1 < sizeof(a); i += 2)
        memcpy(a + i, "\xc3\xa9", 2);
    n = bj_exe_label((struct bj_slice){a, sizeof(a)}, x);
    assert_in_range(n, BJ_LABEL_MAX - 2, BJ_LABEL_MAX);
    assert_int_equal(x[n - 10] & 0xff, 0xa9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded),    cmocka_unit_test(names),
        cmocka_unit_test(broken),      cmocka_unit_test(io),
        cmocka_unit_test(recorded_io), cmocka_unit_test(hashes),
        cmocka_unit_test(states),      cmocka_unit_test(labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
