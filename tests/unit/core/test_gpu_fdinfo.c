/* fdinfo of open DRM devices: parsing single files, and the use of jobs over
 * time. The texts are simulated (tests/fixtures/gpu/README.md). */
#include "tests/unit/core/test_gpu.h"

#include "core/gpu/clients.h"
#include "core/gpu/fdinfo.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct bj_slice read_text(const char *name)
{
    static char buf[4096];
    char path[128];
    snprintf(path, sizeof(path), "tests/fixtures/gpu/fdinfo/%s", name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(buf, 1, sizeof(buf), f);
    fclose(f);
    return (struct bj_slice){buf, n};
}

/* name, busy time, cycles, total cycles, engines */
#define NONE BJ_ABSENT
static const struct {
    const char *file, *pdev, *client;
    uint64_t memory_bytes;
    struct bj_fdinfo_engine engine[6];
} files[] = {
    {"amdgpu",
     "0000:c1:00.0",
     "17",
     1073741824,
     {{"gfx", 73000, NONE, NONE, 1}, {"compute", 5000000000, NONE, NONE, 1}}},
    {"amdgpu-new",
     "0000:c1:00.0",
     "18",
     8388608,
     {{"compute", 12345, NONE, NONE, 1}}},
    {"i915",
     "0000:29:00.0",
     "32",
     48 * 1048576 + 512,
     {{"render", 0, NONE, NONE, 1},
      {"copy", 1000000, NONE, NONE, 1},
      {"video", 0, NONE, NONE, 2},
      {"video-enhance", 0, NONE, NONE, 1},
      {"compute", 8000000000, NONE, NONE, 2}}},
    {"xe",
     "0000:03:00.0",
     "3",
     23992 * 1024,
     {{"rcs", NONE, 28257900, 7655183225, 1},
      {"ccs", NONE, 19200000, 7655183225, 4}}},
};

static void test_files(void **state)
{
    (void)state;
    struct bj_fdinfo f;
    for (size_t i = 0; i < COUNT(files); i++) {
        unsigned n = 0;
        assert_true(bj_fdinfo_parse(read_text(files[i].file), &f));
        assert_string_equal(f.pdev, files[i].pdev);
        assert_string_equal(f.client, files[i].client);
        assert_int_equal(f.memory_bytes, files[i].memory_bytes);
        for (; *files[i].engine[n].name; n++) {
            const struct bj_fdinfo_engine *want = &files[i].engine[n];
            assert_true(n < f.n);
            assert_string_equal(f.engine[n].name, want->name);
            assert_int_equal(f.engine[n].busy_ns, want->busy_ns);
            assert_int_equal(f.engine[n].cycles, want->cycles);
            assert_int_equal(f.engine[n].total_cycles, want->total_cycles);
            assert_int_equal(f.engine[n].capacity, want->capacity);
        }
        assert_int_equal(f.n, n);
    }
    assert_false(bj_fdinfo_parse(read_text("file"), &f));
}

/* Invalid files and lines give no values. */
static void test_invalid(void **state)
{
    (void)state;
    static const char *const none[] = {
        "",
        "drm-driver:\n",
        "drm-pdev:\t0000:01:00.0\n",
        "drm-driver:\tv3d\ndrm-client-id:\t1\n",
        "drm-driver: x\ndrm-pdev: "
        "0000:01:00.0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
    };
    struct bj_fdinfo f;
    for (size_t i = 0; i < COUNT(none); i++)
        assert_false(bj_fdinfo_parse(bj_slice_str(none[i]), &f));
    assert_true(bj_fdinfo_parse(
        BJ_SLICE("drm-driver: x\ndrm-pdev: 01:00.0\n"
                 "drm-engine-a: 7\n"
                 "drm-engine-b: -7 ns\ndrm-engine-c: 7 us\n"
                 "drm-engine-f:\n"
                 "drm-engine-: 7 ns\ndrm-engine-d: 99999999999999999999 ns\n"
                 "drm-engine-capacity-e: 0\n"
                 "drm-resident-vram: 20000000000000000 MiB\n"
                 "drm-resident-vram-x: 1 KiB\ndrm-resident-vram1: 1 GiB\n"
                 "drm-total-vram0: 1 MiB\n"),
        &f));
    assert_string_equal(f.pdev, "0000:01:00.0");
    assert_string_equal(f.client, "");
    assert_int_equal(f.n, 0);
    assert_int_equal(f.memory_bytes, BJ_ABSENT);
}

/* --- over time ------------------------------------------------------------*/

static struct bj_gpu_clients *c;
static struct bj_gpu_set set;

static void begin(uint64_t sec)
{
    bj_gpu_clients_begin(c, sec * 1000000);
}

static int take(uint64_t job, const char *client, uint64_t busy_sec)
{
    struct bj_fdinfo f = {.pdev = "0000:01:00.0", .n = 1};
    snprintf(f.client, sizeof(f.client), "%s", client);
    f.engine[0] = (struct bj_fdinfo_engine){"compute", busy_sec * 1000000000,
                                            BJ_ABSENT, BJ_ABSENT, 1};
    assert_true(bj_gpu_clients_job(c, job));
    return bj_gpu_clients_take(c, job, &f, true);
}

static int cycles(uint64_t job, const char *client, uint64_t n, uint64_t of)
{
    struct bj_fdinfo f = {.pdev = "0000:02:00.0", .n = 1};
    snprintf(f.client, sizeof(f.client), "%s", client);
    f.engine[0] = (struct bj_fdinfo_engine){"ccs", BJ_ABSENT, n, of, 4};
    assert_true(bj_gpu_clients_job(c, job));
    return bj_gpu_clients_take(c, job, &f, true);
}

/* End a reading. Returns the milliseconds of a job, BJ_ABSENT without
 * counter. */
static uint64_t end_of(uint64_t job)
{
    uint64_t usec = BJ_ABSENT;
    bj_gpu_set_clear(&set);
    bj_gpu_clients_end(c);
    bj_gpu_clients_publish(c, &set);
    for (size_t i = 0; i < set.ntimes; i++)
        if (set.time[i].job == job) {
            assert_int_equal(usec, BJ_ABSENT);
            usec = set.time[i].busy_usec;
        }
    return usec == BJ_ABSENT ? usec : usec / 1000;
}

static int setup(void **state)
{
    (void)state;
    return bj_gpu_clients_new(&c);
}

static int teardown(void **state)
{
    (void)state;
    bj_gpu_clients_free(c);
    return 0;
}

static void test_exits(void **state)
{
    (void)state;
    begin(100);
    assert_int_equal(take(1, "10", 5), 1);
    assert_int_equal(take(1, "11", 2), 1);
    assert_int_equal(take(1, "10", 5), 0); /* the same client, in a child */
    assert_int_equal(take(2, "10", 5), 0); /* the same client, in another job */
    assert_int_equal(end_of(1), 7000);
    begin(105);
    assert_int_equal(take(1, "11", 4), 1);
    assert_int_equal(end_of(1), 9000); /* client 10 has gone, its 5 s remain */
    begin(110);
    assert_int_equal(take(1, "11", 3), 1); /* a lower value is ignored */
    assert_int_equal(end_of(1), 9000);
    begin(115);
    assert_int_equal(take(1, "11", 5), 1);
    assert_int_equal(end_of(1), 10000);
    begin(120);
    bj_gpu_clients_job(c, 1); /* no file of the job could be read */
    assert_int_equal(end_of(1), 10000);
    begin(125);
    assert_int_equal(take(1, "11", 6), 1);
    assert_int_equal(take(1, "10", 6), 1); /* nothing is counted twice */
    assert_int_equal(end_of(1), 12000);
    assert_string_equal(set.v[0].pci, "0000:01:00.0");
    begin(130);
    assert_int_equal(end_of(1), BJ_ABSENT); /* the job has gone */
}

static void test_cycles(void **state)
{
    (void)state;
    /* 19.2 MHz. Use before the first reading counts once the clock rate is
     * known. */
    begin(100);
    assert_int_equal(cycles(1, "a", 19200000, 1920000000), 2);
    assert_int_equal(end_of(1), 0);
    begin(110);
    assert_int_equal(cycles(1, "a", 38400000, 2112000000), 1);
    assert_int_equal(end_of(1), 2000);
    assert_int_equal(set.time[0].capacity, 4);
    /* The GPU was reset: its clock begins again. */
    begin(120);
    assert_int_equal(cycles(1, "a", 57600000, 19200), 2);
    assert_int_equal(end_of(1), 2000);
    begin(130);
    assert_int_equal(cycles(1, "a", 57600000, 192019200), 1);
    assert_int_equal(cycles(1, "b", 9600000, 192019999), 1);
    assert_int_equal(end_of(1), 3500);
}

static void test_bad(void **state)
{
    (void)state;
    struct bj_fdinfo f = {.pdev = "0000:01:00.0", .n = 0};
    begin(1);
    assert_int_equal(bj_gpu_clients_take(c, 9, &f, true), -EINVAL);
    assert_true(bj_gpu_clients_job(c, 9));
    assert_int_equal(bj_gpu_clients_take(c, 9, &f, true), -EINVAL);
    /* Huge values of a driver do not make the sum BJ_ABSENT. */
    take(9, "1", BJ_ABSENT / 1000000000 - 1);
    take(9, "2", BJ_ABSENT / 1000000000 - 1);
    assert_int_not_equal(end_of(9), BJ_ABSENT);
    begin(2);
    cycles(9, "3", BJ_ABSENT - 1, 5);
    begin(3);
    cycles(9, "3", BJ_ABSENT - 1, 6);
    bj_gpu_clients_end(c);
}

/* Count how often the files of a process are read in two minutes of readings at
 * 5 s intervals, starting with reading FROM. */
static unsigned count_reads(struct bj_gpu_seens *s, pid_t pid, unsigned from)
{
    unsigned n = 0;
    for (unsigned i = from; i < from + 24; i++) {
        bj_gpu_seens_begin(s, (1000 + 5 * (uint64_t)i) * 1000000);
        n += bj_gpu_seens_due(s, bj_gpu_seens_of(s, pid, 7));
        bj_gpu_seens_end(s);
    }
    return n;
}

static void test_seen(void **state)
{
    (void)state;
    struct bj_gpu_seens *s;
    assert_int_equal(bj_gpu_seens_new(&s), 0);
    /* At every reading for a minute, then every 30 s. */
    assert_int_equal(count_reads(s, 6, 0), 12 + 1 + 2);
    assert_int_equal(count_reads(s, 6, 24), 4);
    /* Another process with the same pid is new and has no data. */
    bj_gpu_seens_begin(s, 2000 * UINT64_C(1000000));
    struct bj_gpu_seen *p = bj_gpu_seens_of(s, 6, 8);
    assert_int_equal(p->n, 0);
    assert_true(bj_gpu_seens_due(s, p));
    p->n = 3;
    assert_ptr_equal(bj_gpu_seens_of(s, 6, 8), p);
    bj_gpu_seens_end(s);
    /* A process that a reading does not request is forgotten. */
    bj_gpu_seens_begin(s, 2005 * UINT64_C(1000000));
    bj_gpu_seens_end(s);
    bj_gpu_seens_begin(s, 2010 * UINT64_C(1000000));
    assert_int_equal(bj_gpu_seens_of(s, 6, 8)->n, 0);
    bj_gpu_seens_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_seen),
        cmocka_unit_test_setup_teardown(test_exits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cycles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
