/* Import of final records: single ones, spools, invalid files. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "statsdb/record/record.h"

#include <fcntl.h>
#include <sys/stat.h>

/* The example of docs/records.md. */
static const char example[] =
    "{\"format\":1,\"cluster\":\"alpha\",\"host\":\"node07\","
    "\"batch_system\":\"slurm\",\"jobid\":\"4711\",\"user\":\"anna\","
    "\"uid\":\"1000\",\"account\":\"physics\",\"partition\":\"long\","
    "\"start\":1763649000,\"end\":1763650000,\"cpu_usec\":3998211000,"
    "\"cpus\":4,\"memory_held_peak_bytes\":8123456789,\"energy_uj\":{"
    "\"hybrid\":{\"cpu\":81234567,\"dram\":1234567},"
    "\"usage\":{\"cpu\":90000001,\"dram\":1300000},"
    "\"reservation\":{\"cpu\":70000000,\"dram\":1200000}},"
    "\"energy_policy\":\"hybrid\",\"energy_source\":\"rapl\","
    "\"energy_quality\":\"components\",\"energy_static\":\"learnt\","
    "\"energy_gap\":false,\"devices\":{\"sda\":{\"read_bytes\":5}}}";

static void put(struct bj_records *r, const char *text)
{
    struct bj_err err = {0};
    if (bj_records_begin(r, &err) < 0 ||
        bj_record_put(r, BJ_SLICE("c"), "x", bj_slice_str(text), &err) < 0 ||
        bj_records_commit(r, &err) < 0)
        fail_msg("%s", err.msg);
}

static void test_record(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    struct bj_records *r;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_records_new(s, &r, &err), 0);
    for (int i = 0; i < 3; i++) {
        put(r, example);
        expect(s,
               "SELECT c.name, jobid, h.name, slurm_node, start, r.\"end\","
               " u.name, uid, a.name, cpus, cpu_usec, memory_held_peak_bytes,"
               " memory_held_peak_charged, oom_kills, energy_gap, complete "
               "FROM node_record r"
               " JOIN cluster c ON c.id = cluster JOIN host h ON h.id = host"
               " JOIN user u ON u.id = user JOIN account a ON a.id = account",
               "alpha|4711|node07||1763649000|1763650000|anna|1000|physics|4|"
               "3998211000|8123456789|0||0|\n");
        expect(s,
               "SELECT p.text, c.text, microjoules FROM node_energy"
               " JOIN word p ON p.id = policy JOIN word c ON c.id = component"
               " ORDER BY 1, 2",
               "hybrid|cpu|81234567\nhybrid|dram|1234567\n"
               "reservation|cpu|70000000\nreservation|dram|1200000\n"
               "usage|cpu|90000001\nusage|dram|1300000\n");
        expect(s, "SELECT device, read_bytes, write_bytes FROM node_device",
               "sda|5|\n");
    }
    /* The run to which the record belongs, and another one with the same job
     * id. */
    struct bj_upsert *u = upsert_open(s);
    for (uint64_t start = 1763000000; start < 1764000000; start += 649000) {
        struct bj_sched_job j;
        bj_sched_job_init(&j);
        j.jobid = BJ_SLICE("4711");
        j.submit_sec = start;
        j.start_sec = start;
        j.end_sec = start + 1000;
        j.state = BJ_STATE_COMPLETED;
        assert_int_equal(bj_upsert_begin(u, &err), 0);
        assert_int_equal(bj_upsert_job(u, BJ_SLICE("alpha"), &j, &err), 0);
        assert_int_equal(bj_upsert_commit(u, &err), 0);
    }
    expect(s,
           "SELECT j.submit, policy, component, microjoules FROM job_energy_v"
           " JOIN job j ON j.id = job WHERE policy = 'usage' ORDER BY 3",
           "1763649000|usage|cpu|90000001\n1763649000|usage|dram|1300000\n");
    assert_int_equal(bj_db_check(bj_store_db(s), NULL), 0);
    bj_upsert_free(u);
    bj_records_free(r);
    bj_store_close(s);
    fixture_close(&f);
}

/* A record of held memory without the mark says that the peak is none of memory
 * charged, also where a former record of the run had it; without held memory,
 * nothing is known. */
static void test_held_charged(void **state)
{
    (void)state;
    static const char run[] = "{\"format\":1,\"jobid\":\"7\",\"host\":\"n1\","
                              "\"start\":1763649000,\"end\":1763650000%s}";
    static const struct {
        const char *more, *want;
    } records[] = {
        {"", "|\n"},
        {",\"memory_held_peak_bytes\":0", "0|\n"},
        {",\"memory_held_peak_bytes\":5,\"memory_held_peak_charged\":true",
         "5|1\n"},
        {",\"memory_held_peak_bytes\":6", "6|0\n"},
    };
    struct fixture f;
    struct bj_err err = {0};
    struct bj_records *r;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_records_new(s, &r, &err), 0);
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        char text[400];
        snprintf(text, sizeof(text), run, records[i].more);
        put(r, text);
        expect(s,
               "SELECT memory_held_peak_bytes, memory_held_peak_charged FROM"
               " node_record",
               records[i].want);
    }
    bj_records_free(r);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_invalid(void **state)
{
    static const char *const cases[] = {
        "",
        "x",
        "[]",
        "{}",
        "{\"format\":2,\"jobid\":\"1\",\"host\":\"h\",\"end\":1}",
        "{\"format\":1,\"host\":\"h\",\"end\":1}",
        "{\"format\":1,\"jobid\":\"1\",\"end\":1}",
        "{\"format\":1,\"jobid\":\"1\",\"host\":\"h\"}",
        "{\"format\":1,\"jobid\":\"1\",\"host\":\"h\",\"end\":1",
    };
    /* Invalid values in other fields are unknown values. */
    static const char *const odd[] = {
        "{\"format\":1,\"jobid\":\"7[1].s\",\"host\":\"h\",\"end\":\"1\","
        "\"energy_uj\":[1],\"devices\":7,\"cpus\":\"many\",\"user\":{}}",
        "{\"format\":1,\"jobid\":8,\"host\":\"h\",\"end\":1,"
        "\"energy_uj\":{\"a\":{\"b\":-1,\"\":3,\"c\":1e99},\"\":{\"x\":1}}}",
    };
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    struct bj_records *r;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_records_new(s, &r, &err), 0);
    assert_int_equal(bj_records_begin(r, &err), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(
            bj_record_put(r, BJ_SLICE("c"), "x", bj_slice_str(cases[i]), &err),
            -EINVAL);
    assert_int_equal(bj_records_commit(r, &err), 0);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        put(r, odd[i]);
    expect(s, "SELECT jobid, cpus, user FROM node_record ORDER BY id",
           "7[1].s||\n8||\n");
    assert_int_equal(number(s, "SELECT count(*) FROM node_energy"), 0);
    bj_records_free(r);
    bj_store_close(s);
    fixture_close(&f);
}

static void write_file(const char *dir, const char *name, const char *text,
                       mode_t mode)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static bool exists(const char *dir, const char *name)
{
    char path[200];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* Check that a file that cannot be removed or renamed gives this error. */
static void collect_fails(struct bj_records *r, const char *dir,
                          const char *text, const char *message)
{
    struct bj_err err = {0}, why = {0};
    struct bj_records_counts n;
    bool root = geteuid() == 0;
    write_file(dir, "b.json", text, 0644);
    assert_int_equal(chmod(dir, 0555), 0);
    assert_int_equal(root ? seteuid(65534) : 0, 0);
    int e = bj_records_collect(r, BJ_SLICE("c"), dir, 10, &n, &why, &err);
    assert_int_equal(root ? seteuid(0) : 0, 0);
    assert_int_equal(e, -EACCES);
    assert_string_equal(err.msg, message);
    assert_int_equal(chmod(dir, 0755), 0);
}

static void test_spool(void **state)
{
    (void)state;
    struct fixture f;
    char dir[100];
    struct bj_err err = {0}, why = {0};
    struct bj_records *r;
    struct bj_records_counts n;
    fixture_open(&f);
    snprintf(dir, sizeof(dir), "%s/spool", f.dir);
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_records_new(s, &r, &err), 0);
    assert_int_equal(
        bj_records_collect(r, BJ_SLICE("c"), dir, 10, &n, &why, &err), -ENOENT);
    assert_int_equal(mkdir(dir, 0755), 0);
    write_file(dir, "a.json", example, 0640);
    write_file(dir, "bad.json", "{", 0640);
    write_file(dir, "open.json", example, 0666);
    write_file(dir, ".hidden.json", example, 0640);
    write_file(dir, "other.txt", example, 0640);
    assert_int_equal(
        bj_records_collect(r, BJ_SLICE("c"), dir, 10, &n, &why, &err), 3);
    assert_int_equal(n.taken, 1);
    assert_int_equal(n.bad, 2);
    assert_true(why.code < 0);
    assert_false(exists(dir, "a.json"));
    assert_true(exists(dir, "bad.json.bad"));
    assert_true(exists(dir, "open.json.bad"));
    assert_true(exists(dir, ".hidden.json"));
    assert_true(exists(dir, "other.txt"));
    assert_int_equal(
        bj_records_collect(r, BJ_SLICE("c"), dir, 10, &n, &why, &err), 0);
    assert_int_equal(chmod(f.dir, 0755), 0);
    collect_fails(r, dir, example, "remove b.json");
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), 1);
    collect_fails(r, dir, "{", "rename b.json");
    /* A record that cannot be stored stays in the spool. */
    write_file(dir, "b.json", example, 0640);
    assert_int_equal(bj_db_exec(bj_store_db(s), "PRAGMA query_only = ON", NULL),
                     0);
    assert_true(bj_records_collect(r, BJ_SLICE("d"), dir, 10, &n, &why, &err) <
                0);
    assert_true(exists(dir, "b.json"));
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), 1);
    bj_records_free(r);
    bj_store_close(s);
    static const char *const left[] = {"bad.json.bad", "open.json.bad",
                                       ".hidden.json", "other.txt", "b.json"};
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        char path[200];
        snprintf(path, sizeof(path), "%s/%s", dir, left[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
    fixture_close(&f);
}

/* A bad file does not delay others: one whose end is not a time, one that
 * cannot be opened, and one with the longest name. */
static void test_bad_file(void **state)
{
    (void)state;
    struct fixture f;
    char dir[100], name[256], path[400];
    struct bj_err err = {0}, why = {0};
    struct bj_records *r;
    struct bj_records_counts n;
    fixture_open(&f);
    snprintf(dir, sizeof(dir), "%s/spool", f.dir);
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_records_new(s, &r, &err), 0);
    assert_int_equal(mkdir(dir, 0755), 0);
    write_file(dir, "good.json", example, 0640);
    write_file(dir, "end.json",
               "{\"format\":1,\"jobid\":\"1\",\"host\":\"n\",\"end\":\"x\"}",
               0640);
    snprintf(path, sizeof(path), "%s/socket.json", dir);
    assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
    snprintf(name, sizeof(name), "%0250d.json", 1);
    write_file(dir, name, "{", 0640);
    if (bj_records_collect(r, BJ_SLICE("c"), dir, 10, &n, &why, &err) != 4)
        fail_msg("%s", err.msg);
    assert_int_equal(n.taken, 1);
    assert_int_equal(n.bad, 3);
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), 1);
    assert_int_equal(
        bj_records_collect(r, BJ_SLICE("c"), dir, 10, &n, &why, &err), 0);
    bj_records_free(r);
    bj_store_close(s);
    snprintf(name, sizeof(name), "%0250d..bad", 1);
    const char *const left[] = {"end.json.bad", "socket.json.bad", name};
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        snprintf(path, sizeof(path), "%s/%.255s", dir, left[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(dir), 0);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),   cmocka_unit_test(test_held_charged),
        cmocka_unit_test(test_invalid),  cmocka_unit_test(test_spool),
        cmocka_unit_test(test_bad_file),
    };
    return cmocka_run_group_tests_name("statsdb_record", tests, NULL, NULL);
}
