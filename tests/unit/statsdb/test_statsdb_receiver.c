/* Final records that nodes send: which records a client may write, tokens, and
 * the thread that stores them. */
#include "tests/unit/statsdb/test_statsdb.h"

#include "base/gzip.h"
#include "statsdb/record/receiver.h"
#include "statsdb/record/record_body.h"
#include "statsdb/record/record_writer.h"
#include "tests/unit/lib/await.h"

#include <pthread.h>
#include <sys/stat.h>

/* --- which records a client may write ------------------------------------- */

static void test_a_client_writes_records_of_its_host(void **state)
{
    static const char names[] = "subject:CN=node07\0cn:node07.site\0"
                                "dns:node08.site.org\0email:node09";
    static const struct {
        const char *host, *of_token;
        bool may;
    } cases[] = {
        {"node07", "", true},
        {"node07.site", "", true},
        {"NODE07.Site", "", true},
        {"node08", "", true},
        {"node08.site.org", "", true},
        {"node08.site", "", false}, /* neither the short nor the whole name */
        {"node07.site.evil", "", false},
        {"node0", "", false},
        {"node09", "", false},
        {"", "", false},
        {".", "", false},
        {"node09", "node09", true},
        {"node09.site", "node09", false},
        {"node10", "*", true},
        {"*", "node09", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_record_client c = {.names = {names, sizeof(names)},
                                     .host = bj_slice_str(cases[i].of_token)};
        if (bj_record_client_may(&c, bj_slice_str(cases[i].host)) !=
            cases[i].may)
            fail_msg("'%s' with '%s'", cases[i].host, cases[i].of_token);
    }
    const struct bj_record_client nothing = {.host = {NULL, 0}};
    assert_false(bj_record_client_may(&nothing, BJ_SLICE("node07")));
}

/* --- a body ---------------------------------------------------------------*/

#define RECORD(host, cluster, id)                                              \
    "{\"format\":1,\"host\":\"" host "\"," cluster "\"jobid\":\"" id           \
    "\",\"start\":5,\"end\":9,\"cpu_usec\":" id "}"

static struct bj_slice name_of(const void *ctx, size_t i)
{
    return bj_slice_str(((const char *const *)ctx)[i]);
}

static const char *const two[] = {"alpha", "beta"};
static const struct bj_record_client any = {.host = {"*", 1}};

static struct bj_record_verdict body(struct bj_records *r, size_t clusters,
                                     const struct bj_record_client *client,
                                     const char *text, const char *response)
{
    const struct bj_record_clusters known = {clusters, name_of, two};
    struct bj_record_verdict v;
    struct bj_buf out = {0};
    struct bj_err err = {0};
    assert_int_equal(bj_records_begin(r, &err), 0);
    if (bj_record_body(r, &known, client, bj_slice_str(text), &v, &out, &err) <
        0)
        fail_msg("%s", err.msg);
    assert_int_equal(bj_records_commit(r, &err), 0);
    bj_buf_put(&out, "", 1);
    assert_string_equal(out.p, response);
    bj_buf_free(&out);
    return v;
}

static void test_a_bad_record_does_not_hold_up_others(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_records *r;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    const struct bj_record_client node7 = {.host = {"node7", 5}};
    assert_int_equal(bj_records_new(s, &r, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct bj_record_verdict v = body(
            r, 1, &node7,
            RECORD("node7", "", "1") "\n{\n\n" RECORD(
                "node8", "",
                "2") "\n" RECORD("node7", "\"cluster\":\"gamma\",",
                                 "3") "\n" RECORD("node7",
                                                  "\"cluster\":\"alpha\",",
                                                  "4") "\n",
            "{\"refused\":["
            "{\"record\":2,\"status\":400,\"error\":\"record 2: line 1, byte "
            "1: premature EOF\"},"
            "{\"record\":3,\"status\":400,\"error\":\"record 3: line 1, byte "
            "0: premature "
            "EOF\"},"
            "{\"record\":4,\"status\":403,\"error\":\"record 4: host: the "
            "client's certificate or token is not that of 'node8'\"},"
            "{\"record\":5,\"status\":403,\"error\":\"record 5: cluster: "
            "'gamma' is not configured and has no jobs in the store\"}],"
            "\"stored\":2}");
        assert_int_equal(v.stored, 2);
        assert_int_equal(v.malformed, 2);
        assert_int_equal(v.denied, 2);
    }
    expect(s,
           "SELECT c.name, jobid, cpu_usec FROM node_record JOIN cluster c"
           " ON c.id = cluster ORDER BY jobid",
           "alpha|1|1\nalpha|4|4\n");
    body(r, 2, &any,
         RECORD("node7", "", "1") "\n" RECORD("node7", "\"cluster\":\"beta\",",
                                              "5"),
         "{\"refused\":[{\"record\":1,\"status\":403,\"error\":\"record 1: "
         "cluster: required, as several clusters are configured\"}],"
         "\"stored\":1}");
    body(r, 2, &any, "", "{\"refused\":[],\"stored\":0}");
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), 3);
    /* A cluster that the scheduler reports needs no cluster file. */
    assert_int_equal(
        bj_db_exec(bj_store_db(s),
                   "INSERT INTO cluster(name, system) VALUES('gamma', '')",
                   NULL),
        0);
    body(r, 1, &any, RECORD("node7", "\"cluster\":\"gamma\",", "6"),
         "{\"refused\":[],\"stored\":1}");
    bj_records_free(r);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_a_body_has_a_limit_of_records(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_records *r;
    struct bj_record_verdict v;
    struct bj_buf out = {0}, text = {0};
    const struct bj_record_clusters known = {1, name_of, two};
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_records_new(s, &r, NULL), 0);
    for (int i = 0; i <= BJ_RECORD_LINES; i++)
        bj_buf_str(&text, RECORD("n", "", "1") "\n");
    assert_int_equal(bj_records_begin(r, NULL), 0);
    assert_int_equal(bj_record_body(r, &known, &any,
                                    (struct bj_slice){text.p, text.len}, &v,
                                    &out, NULL),
                     -E2BIG);
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), 0);
    bj_records_rollback(r);
    bj_buf_free(&text);
    bj_buf_free(&out);
    bj_records_free(r);
    bj_store_close(s);
    fixture_close(&f);
}

/* --- tokens ---------------------------------------------------------------*/

static int tokens(const struct fixture *f, const char *text, mode_t mode,
                  struct bj_record_tokens **ret, struct bj_err *err)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/tokens", f->dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
    int r = bj_record_tokens_read(path, ret, err);
    unlink(path);
    return r;
}

static void test_tokens(void **state)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "expected a line HOST TOKEN"},
        {"node1\n", ":1: expected: HOST TOKEN"},
        {"# x\nnode1 0123456789abcdef more\n", ":2: expected: HOST TOKEN"},
        {"node1 short\n", ":1: a token must have 16 to 256 characters"},
        {"a 0123456789abcdef\nb 0123456789abcdef\n",
         ":2: an earlier line has the same token"},
    };
    (void)state;
    struct fixture f;
    struct bj_record_tokens *t;
    struct bj_buf many = {0};
    char token[32];
    fixture_open(&f);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct bj_err err = {0};
        assert_int_equal(tokens(&f, wrong[i].text, 0600, &t, &err), -EINVAL);
        assert_non_null(strstr(err.msg, wrong[i].why));
    }
    assert_int_equal(tokens(&f, "a 0123456789abcdef\n", 0644, &t, NULL),
                     -EPERM);
    for (int i = 0; i < 1000; i++)
        bj_buf_printf(&many, "host%d  secret-of-host-%d\n", i, i);
    bj_buf_put(&many, "", 1);
    assert_int_equal(tokens(&f, many.p, 0600, &t, NULL), 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(token, sizeof(token), "secret-of-host-%d", i);
        struct bj_slice host = bj_record_tokens_host(t, bj_slice_str(token));
        snprintf(token, sizeof(token), "host%d", i);
        assert_true(bj_slice_eq(host, bj_slice_str(token)));
    }
    static const char *const none[] = {"", "x", "secret-of-host-",
                                       "secret-of-host-1000",
                                       "secret-of-host-10 "};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_null(bj_record_tokens_host(t, bj_slice_str(none[i])).p);
    bj_record_tokens_free(t);
    bj_buf_free(&many);
    fixture_close(&f);
}

/* --- the thread -----------------------------------------------------------*/

static unsigned woken; /* atomic */

static void wake(void *ctx)
{
    (void)ctx;
    __atomic_add_fetch(&woken, 1, __ATOMIC_RELAXED);
}

static char alpha[] = "alpha";
static struct bj_cluster_conf cluster = {.name = alpha};

static struct bj_record_post *make_post(struct bj_slice text, bool packed)
{
    struct bj_record_post *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->body = text;
    p->packed = packed;
    p->client = any;
    return p;
}

/* Wait for n responses; returns them in a list. */
static struct bj_record_post *answered(struct bj_record_writer *w, unsigned n)
{
    struct bj_record_post *all = NULL, *p = NULL, *next;
    while (n > 0) {
        AWAIT((p = bj_record_writer_answered(w)) != NULL);
        for (; p; p = next, n--) {
            next = p->next;
            p->next = all;
            all = p;
        }
    }
    return all;
}

static void done(struct bj_record_post *p, unsigned status)
{
    struct bj_record_post *next;
    for (; p; p = next) {
        next = p->next;
        assert_int_equal(p->reply.status, status);
        bj_buf_free(&p->reply.body);
        free(p);
    }
}

static void test_requests_that_wait_share_a_transaction(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_err err = {0};
    struct bj_record_writer *w;
    struct bj_record_counts n;
    char text[20][80];
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    const struct bj_statsdb_conf conf = {
        .path = f.path, .cluster = &cluster, .clusters = 1};
    if (bj_record_writer_new(&conf, s, wake, NULL, &w, &err) < 0)
        fail_msg("%s", err.msg);
    /* A transaction of the daemon blocks the thread. */
    assert_int_equal(bj_store_begin(s, &err), 0);
    for (int i = 0; i < 20; i++) {
        snprintf(text[i], sizeof(text[i]),
                 "{\"format\":1,\"host\":\"n\",\"jobid\":\"%d\",\"end\":9}",
                 i % 10);
        bj_record_writer_add(w, make_post(bj_slice_str(text[i]), false));
    }
    assert_null(bj_record_writer_answered(w));
    assert_int_equal(bj_store_commit(s, &err), 0);
    done(answered(w, 20), 200);
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), 10);
    bj_record_writer_counts(w, &n);
    assert_int_equal(n.stored, 20);
    assert_true(n.commits <= 2);
    assert_true(woken > 0);
    bj_record_writer_free(w);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_bodies_are_unpacked_within_a_limit(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_record_writer *w;
    struct bj_gzip *g = NULL;
    struct bj_buf small = {0}, zeros = {0}, bomb = {0};
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    const struct bj_statsdb_conf conf = {
        .path = f.path, .cluster = &cluster, .clusters = 1};
    assert_int_equal(bj_record_writer_new(&conf, s, wake, NULL, &w, NULL), 0);
    assert_int_equal(bj_gzip_pack(&g, BJ_SLICE(RECORD("n", "", "7")), &small),
                     0);
    assert_true(bj_buf_room(&zeros, 50 << 20));
    memset(zeros.p, 0, 50 << 20);
    assert_int_equal(
        bj_gzip_pack(&g, (struct bj_slice){zeros.p, 50 << 20}, &bomb), 0);
    const struct {
        struct bj_slice body;
        unsigned status;
    } cases[] = {
        {{bomb.p, bomb.len}, 413},
        {{small.p, small.len}, 200},
        {{small.p, small.len - 1}, 400},
        {BJ_SLICE("plain"), 400},
        {{"", 0}, 400},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bj_record_writer_add(w, make_post(cases[i].body, true));
        done(answered(w, 1), cases[i].status);
    }
    assert_int_equal(number(s, "SELECT jobid FROM node_record"), 7);
    bj_gzip_free(g);
    bj_buf_free(&small);
    bj_buf_free(&zeros);
    bj_buf_free(&bomb);
    bj_record_writer_free(w);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_a_full_store_refuses_all_and_recovers(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_record_writer *w;
    struct bj_record_counts n;
    struct bj_buf text = {0};
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    int64_t pages = number(s, "PRAGMA page_count");
    const struct bj_statsdb_conf conf = {.path = f.path,
                                         .cluster = &cluster,
                                         .clusters = 1,
                                         .max_bytes =
                                             (uint64_t)(pages + 8) * 8192};
    assert_int_equal(bj_record_writer_new(&conf, s, wake, NULL, &w, NULL), 0);
    for (int i = 0; i < 1900; i++)
        bj_buf_printf(
            &text,
            "{\"format\":1,\"host\":\"n%d\",\"jobid\":\"%d\",\"end\":9}\n", i,
            i);
    bj_record_writer_add(w,
                         make_post((struct bj_slice){text.p, text.len}, false));
    struct bj_record_post *p = answered(w, 1);
    assert_string_equal(p->reply.header[0].name, "Retry-After");
    done(p, 503);
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), 0);
    bj_record_writer_counts(w, &n);
    assert_int_equal(n.failures, 1);
    assert_int_equal(n.stored, 0);
    /* The dictionaries no longer contain the rows that were rolled back. */
    bj_record_writer_add(w, make_post(BJ_SLICE(RECORD("n1", "", "7")), false));
    done(answered(w, 1), 200);
    assert_int_equal(number(s, "SELECT count(*) FROM node_record JOIN host ON"
                               " host.id = host"),
                     1);
    bj_buf_free(&text);
    bj_record_writer_free(w);
    bj_store_close(s);
    fixture_close(&f);
}

static void test_stop_refuses_waiting_requests(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_record_writer *w;
    unsigned stored = 0, refused = 0;
    char text[200][80];
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    const struct bj_statsdb_conf conf = {
        .path = f.path, .cluster = &cluster, .clusters = 1};
    assert_int_equal(bj_record_writer_new(&conf, s, wake, NULL, &w, NULL), 0);
    for (int i = 0; i < 200; i++) {
        snprintf(text[i], sizeof(text[i]),
                 "{\"format\":1,\"host\":\"n\",\"jobid\":\"%d\",\"end\":9}", i);
        bj_record_writer_add(w, make_post(bj_slice_str(text[i]), false));
    }
    bj_record_writer_stop(w);
    struct bj_record_post *next, *p = bj_record_writer_answered(w);
    for (; p; p = next) {
        next = p->next;
        stored += p->reply.status == 200;
        refused += p->reply.status == 503;
        bj_buf_free(&p->reply.body);
        free(p);
    }
    assert_int_equal(stored + refused, 200);
    assert_int_equal(number(s, "SELECT count(*) FROM node_record"), stored);
    bj_record_writer_free(w);
    bj_store_close(s);
    fixture_close(&f);
}

/* Run 300 transactions, of which 100 are rolled back. */
static void *write_much(void *store)
{
    for (int i = 0; i < 300; i++) {
        assert_int_equal(bj_store_begin(store, NULL), 0);
        assert_int_equal(
            bj_db_exec(bj_store_db(store),
                       "INSERT INTO host(name) VALUES(hex(randomblob(8)))",
                       NULL),
            0);
        if (i % 3 == 0)
            bj_store_rollback(store);
        else
            assert_int_equal(bj_store_commit(store, NULL), 0);
    }
    return NULL;
}

static void test_two_connections_can_write(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_store *second;
    pthread_t thread;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    assert_int_equal(bj_store_open(&(struct bj_store_options){.shared_with = s},
                                   &second, NULL),
                     0);
    assert_int_equal(pthread_create(&thread, NULL, write_much, second), 0);
    write_much(s);
    pthread_join(thread, NULL);
    assert_int_equal(number(s, "SELECT count(*) FROM host"), 400);
    bj_store_close(second);
    bj_store_close(s);
    fixture_close(&f);
}

/* Records are stored while a scheduler prepares its response. */
static void test_a_batch_without_a_job_lets_others_write(void **state)
{
    (void)state;
    struct fixture f;
    struct bj_store *second;
    fixture_open(&f);
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(bj_store_open(&(struct bj_store_options){.shared_with = s},
                                   &second, NULL),
                     0);
    bj_upsert_begin_later(u);
    assert_int_equal(bj_store_begin(second, NULL), 0);
    assert_int_equal(bj_store_commit(second, NULL), 0);
    struct bj_sched_job j;
    bj_sched_job_init(&j);
    j.jobid = BJ_SLICE("7");
    j.submit_sec = 5;
    assert_int_equal(bj_upsert_job(u, BJ_SLICE("alpha"), &j, NULL), 0);
    bj_upsert_rollback(u);
    assert_int_equal(number(s, "SELECT count(*) FROM job"), 0);
    bj_upsert_begin_later(u);
    assert_int_equal(bj_upsert_job(u, BJ_SLICE("alpha"), &j, NULL), 0);
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    bj_upsert_begin_later(u); /* a response without jobs */
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    assert_int_equal(number(s, "SELECT count(*) FROM job"), 1);
    bj_upsert_free(u);
    bj_store_close(second);
    bj_store_close(s);
    fixture_close(&f);
}

int main(void)
{
    bj_db_own_threads();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_writes_records_of_its_host),
        cmocka_unit_test(test_a_bad_record_does_not_hold_up_others),
        cmocka_unit_test(test_a_body_has_a_limit_of_records),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_requests_that_wait_share_a_transaction),
        cmocka_unit_test(test_bodies_are_unpacked_within_a_limit),
        cmocka_unit_test(test_a_full_store_refuses_all_and_recovers),
        cmocka_unit_test(test_stop_refuses_waiting_requests),
        cmocka_unit_test(test_two_connections_can_write),
        cmocka_unit_test(test_a_batch_without_a_job_lets_others_write),
    };
    return cmocka_run_group_tests_name("statsdb_receiver", tests, NULL, NULL);
}
