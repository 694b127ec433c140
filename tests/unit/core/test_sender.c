/* The sender of final records from the spool to batchjob_stats_db, with a
 * simulated HTTP server. */
#include "core/sender.h"
#include "tests/unit/lib/await.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/httpstub.h"
#include "tests/unit/lib/testclock.h"

#include "base/file.h"
#include "base/gzip.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SECOND = 1000000 };

#define RESPONSE(status, more, body)                                           \
    "HTTP/1.1 " status "\r\nContent-Type: application/json\r\n" more           \
    "Connection: close\r\n\r\n" body

static char dir[160], log_text[2048];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "%s/spool", tmp_make());
    tmp_dir("spool");
    assert_int_equal(chmod(dir, 0750), 0);
    log_text[0] = '\0';
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    testclock_run();
    tmp_gone();
    return 0;
}

static void put(const char *name, const char *text)
{
    char rel[300];
    snprintf(rel, sizeof(rel), "spool/%s", name);
    tmp_file(rel, text);
}

static bool exists(const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static unsigned files(void)
{
    DIR *d = opendir(dir);
    unsigned n = 0;
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += bj_send_is_record(e->d_name);
    closedir(d);
    return n;
}

/* --- a batch --------------------------------------------------------------*/

static struct bj_send_batch batch;

/* Fill the batch from the spool; returns the number of invalid files. */
static uint64_t fill(unsigned max)
{
    uint64_t bad = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    assert_int_equal(bj_send_batch_fill(&batch, d, max, &bad, NULL), 0);
    closedir(d);
    return bad;
}

static int settle(const char *response, struct bj_send_result *n)
{
    bj_autoclose int fd = bj_dir_open(AT_FDCWD, dir);
    return bj_send_batch_settle(&batch, fd, bj_slice_str(response), n, NULL);
}

static void test_a_record_is_one_line(void **state)
{
    (void)state;
    put("a.json", " {\n\"a\":\r\n1}\n\n");
    assert_int_equal(fill(10), 0);
    assert_int_equal(batch.n, 1);
    assert_int_equal(batch.body.len, 11);
    assert_memory_equal(batch.body.p, "{ \"a\":  1}\n", 11);
    bj_send_batch_free(&batch);
}

static void test_invalid_files_are_renamed_to_bad(void **state)
{
    (void)state;
    char path[300];
    put("empty.json", "");
    put("other.txt", "{}");
    put(".hidden.json", "{}");
    snprintf(path, sizeof(path), "%s/link.json", dir);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    snprintf(path, sizeof(path), "%s/long.json", dir);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0640);
    assert_int_equal(ftruncate(fd, BJ_SEND_BYTES), 0);
    close(fd);
    assert_int_equal(fill(10), 3);
    assert_int_equal(batch.n, 0);
    assert_true(exists("empty.json.bad") && exists("link.json.bad") &&
                exists("long.json.bad"));
    assert_true(exists("other.txt") && exists(".hidden.json"));
    assert_int_equal(fill(10), 0);
    bj_send_batch_free(&batch);
}

static void test_a_batch_is_bounded(void **state)
{
    (void)state;
    char name[32], text[10001];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "%d.json", i);
        put(name, text);
    }
    fill(7);
    assert_int_equal(batch.n, 7);
    fill(100);
    assert_int_equal(batch.n, 14);
    bj_send_batch_free(&batch);
}

static void test_the_response_decides_which_files_are_removed(void **state)
{
    struct bj_send_result n;
    (void)state;
    put("a.json", "{}");
    put("b.json", "{}");
    put("c.json", "{}");
    fill(10);
    const char *second = batch.names.p + 7, *third = second + 7;
    char bad[32], denied[32];
    snprintf(bad, sizeof(bad), "%s.bad", second);
    snprintf(denied, sizeof(denied), "%s", third);
    assert_int_equal(
        settle("{\"stored\":1,\"refused\":["
               "{\"record\":2,\"status\":400,\"error\":\"why\"},"
               "{\"record\":3,\"status\":403,\"error\":\"not you\"}]}",
               &n),
        0);
    assert_int_equal(n.stored, 1);
    assert_int_equal(n.bad, 1);
    assert_int_equal(n.denied, 1);
    assert_string_equal(n.bad_why.msg, "why");
    assert_string_equal(n.denied_why.msg, "not you");
    assert_int_equal(files(), 1);
    assert_true(exists(bad) && exists(denied));
    bj_send_batch_free(&batch);
}

static void test_an_invalid_response_removes_nothing(void **state)
{
    static const char *const responses[] = {
        "",
        "<html>200 OK</html>",
        "[]",
        "{}",
        "{\"stored\":2}",
        "{\"stored\":1,\"refused\":[]}",
        "{\"stored\":3,\"refused\":[]}",
        "{\"stored\":2,\"refused\":{}}",
        "{\"stored\":1,\"refused\":[{\"record\":3,\"status\":400}]}",
        "{\"stored\":1,\"refused\":[{\"record\":0,\"status\":400}]}",
        "{\"stored\":1,\"refused\":[{\"record\":1,\"status\":200}]}",
        "{\"stored\":0,\"refused\":[{\"record\":1,\"status\":400},"
        "{\"record\":1,\"status\":400}]}",
        "{\"stored\":18446744073709551615,\"refused\":[1,2,3]}",
    };
    (void)state;
    struct bj_send_result n;
    put("a.json", "{}");
    put("b.json", "{}");
    fill(10);
    for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
        assert_int_equal(settle(responses[i], &n), -EPROTO);
        assert_int_equal(n.stored + n.bad, 0);
    }
    assert_int_equal(files(), 2);
    bj_send_batch_free(&batch);
}

/* --- the thread -----------------------------------------------------------*/

static int make_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                       void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    return -pthread_create(ret, NULL, fn, arg);
}

static void take_log(void *ctx, enum bj_log_level level, const char *msg)
{
    size_t n = strlen(log_text);
    (void)ctx;
    (void)level;
    snprintf(log_text + n, sizeof(log_text) - n, "%s\n", msg);
}

static const struct bj_host host = {.thread = make_thread, .log = take_log};
static struct bj_stub stub;

static struct bj_sender *start(const struct bj_stub_response *responses,
                               size_t n)
{
    struct bj_sender *s;
    struct bj_err err = {0};
    bj_stub_begin(&stub, NULL, responses, n);
    testclock_stop();
    const struct bj_sender_conf conf = {.url = stub.url,
                                        .interval_usec = 10 * SECOND};
    if (bj_sender_new(&conf, dir, &host, &s, &err) < 0)
        fail_msg("%s", err.msg);
    return s;
}

static void stop(struct bj_sender *s)
{
    bj_sender_free(s);
    bj_stub_end(&stub);
    testclock_run();
}

/* Let time pass and wait until the thread has nothing to do. */
static struct bj_sender_stat later(struct bj_sender *s, unsigned sec)
{
    struct bj_sender_stat st;
    testclock_await(1);
    testclock_advance((uint64_t)sec * SECOND);
    testclock_await(1);
    bj_sender_stat(s, &st);
    return st;
}

static void test_a_committed_record_is_removed(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = RESPONSE("200 OK", "", "{\"stored\":2,\"refused\":[]}")}};
    (void)state;
    put("a.json", "{\"a\":1}\n");
    put("b.json", "{\"b\":1}\n");
    struct bj_sender *s = start(responses, 1);
    struct bj_sender_stat st;
    bj_sender_stat(s, &st);
    assert_int_equal(st.waiting, 2);
    st = later(s, 10);
    assert_int_equal(st.sent, 2);
    assert_int_equal(st.waiting + st.errors + st.refused + st.age_usec, 0);
    assert_int_equal(files(), 0);
    stop(s);
    assert_non_null(strstr(stub.received.p, "POST /records HTTP/1.1"));
    assert_non_null(strstr(stub.received.p, "Content-Encoding: gzip"));
    struct bj_gunzip *g = NULL;
    struct bj_buf text = {0};
    char *body = strstr(stub.received.p, "\r\n\r\n") + 4;
    struct bj_slice packed = {body, stub.received.len - 1 -
                                        (size_t)(body - stub.received.p)};
    assert_int_equal(bj_gunzip(&g, packed, 1000, &text), 0);
    assert_int_equal(text.len, 16);
    bj_gunzip_free(g);
    bj_buf_free(&text);
    bj_stub_free(&stub);
    assert_string_equal(log_text, "");
}

static void test_failures_remove_nothing_and_back_off(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = RESPONSE("503 Busy", "Retry-After: 100\r\n",
                          "{\"error\":\"no room\"}")},
        {.text = RESPONSE("200 OK", "", "a login page")},
        {.text = NULL},
        {.text = RESPONSE("200 OK", "", "{\"stored\":1,\"refused\":[]}")}};
    (void)state;
    put("a.json", "{}");
    struct bj_sender *s = start(responses, 4);
    struct bj_sender_stat st = later(s, 10);
    assert_int_equal(st.errors, 1);
    assert_int_equal(st.waiting, 1);
    bj_sender_wake(s); /* does not shorten the wait */
    st = later(s, 99);
    assert_int_equal(st.errors, 1);
    st = later(s, 102);
    assert_int_equal(st.errors, 2);
    st = later(s, 600);
    assert_int_equal(st.errors, 3);
    assert_int_equal(files(), 1);
    st = later(s, 601);
    assert_int_equal(st.sent, 1);
    assert_int_equal(files(), 0);
    stop(s);
    bj_stub_free(&stub);
    /* Another error is logged, too. */
    const char *first = strstr(log_text, "not sent: POST");
    assert_non_null(first);
    assert_non_null(strstr(first, "status 503: no room"));
    assert_non_null(strstr(first + 1, "are not sent: "));
    assert_non_null(strstr(log_text, "sending final records works again"));
}

static void test_a_request_that_is_too_long_is_split(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = RESPONSE("413 Long", "", "")},
        {.text = RESPONSE("200 OK", "", "{\"stored\":1,\"refused\":[]}")},
        {.text = RESPONSE("200 OK", "", "{\"stored\":1,\"refused\":[]}")},
        {.text = RESPONSE("413 Long", "", "")}};
    (void)state;
    put("a.json", "{}");
    put("b.json", "{}");
    struct bj_sender *s = start(responses, 4);
    struct bj_sender_stat st = later(s, 10);
    while (st.sent < 2)
        st = later(s, 70);
    put("c.json", "{}");
    bj_sender_wake(s);
    testclock_advance(10 * SECOND);
    AWAIT((bj_sender_stat(s, &st), st.refused == 1));
    testclock_await(1);
    assert_true(exists("c.json.bad"));
    stop(s);
    bj_stub_free(&stub);
}

/* Without its token the sender sends nothing and does not use the status of the
 * previous request again. */
static void test_an_unreadable_token_changes_nothing(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = RESPONSE("413 Long", "Retry-After: 600\r\n", "")}};
    (void)state;
    char path[300];
    struct bj_sender *s;
    struct bj_sender_stat st;
    bj_stub_begin(&stub, NULL, responses, 1);
    testclock_stop();
    snprintf(path, sizeof(path), "%s/../token", dir);
    struct bj_sender_conf conf = {
        .url = stub.url, .interval_usec = 10 * SECOND, .token_file = path};
    tmp_file("token", "secret\n");
    assert_int_equal(chmod(path, 0600), 0);
    put("a.json", "{}");
    assert_int_equal(bj_sender_new(&conf, dir, &host, &s, NULL), 0);
    st = later(s, 10);
    assert_int_equal(st.refused, 1);
    assert_int_equal(unlink(path), 0);
    put("b.json", "{}");
    st = later(s, 70);
    assert_int_equal(st.refused, 1);
    assert_int_equal(st.errors, 1);
    assert_true(exists("b.json"));
    stop(s);
    assert_non_null(
        strstr(stub.received.p, "Authorization: Bearer secret\r\n"));
    bj_stub_free(&stub);
    assert_non_null(strstr(log_text, "not sent: record.token-file: "));
}

static void test_a_denied_record_does_not_hold_up_others(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = RESPONSE("200 OK", "",
                          "{\"stored\":1,\"refused\":[{\"record\":1,\"status\":"
                          "403,\"error\":\"host: not you\"}]}")},
        {.text = RESPONSE("200 OK", "", "{\"stored\":1,\"refused\":[]}")}};
    (void)state;
    put("a.json", "{}");
    put("b.json", "{}");
    struct bj_sender *s = start(responses, 2);
    struct bj_sender_stat st = later(s, 10);
    assert_int_equal(st.sent, 1);
    assert_int_equal(st.errors, 1);
    assert_int_equal(files(), 1);
    st = later(s, 600);
    assert_int_equal(st.sent, 2);
    stop(s);
    bj_stub_free(&stub);
    assert_non_null(strstr(log_text, "final records are not sent: host: not"));
}

static void test_a_file_that_cannot_be_read_stays_and_is_logged(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = RESPONSE("200 OK", "", "{\"stored\":1,\"refused\":[]}")}};
    (void)state;
    char path[300];
    bool root = geteuid() == 0;
    put("a.json", "{}");
    put("b.json", "{}");
    snprintf(path, sizeof(path), "%s/b.json", dir);
    assert_int_equal(chmod(path, 0), 0);
    snprintf(path, sizeof(path), "%s/..", dir);
    assert_int_equal(chmod(path, 0755), 0);
    if (root)
        assert_int_equal(chown(dir, 65534, (gid_t)-1), 0);
    assert_int_equal(root ? seteuid(65534) : 0, 0);
    struct bj_sender *s = start(responses, 1);
    struct bj_sender_stat st = later(s, 10);
    stop(s);
    assert_int_equal(root ? seteuid(0) : 0, 0);
    assert_int_equal(st.sent, 1);
    assert_int_equal(st.errors, 1);
    assert_true(exists("b.json"));
    bj_stub_free(&stub);
    assert_non_null(
        strstr(log_text, "final records are not sent: open b.json"));
}

static void test_the_server_is_tried_at_the_start(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = RESPONSE("401 Who", "", "{\"error\":\"no token\"}")},
        {.text = RESPONSE("200 OK", "", "{\"stored\":0,\"refused\":[]}")}};
    (void)state;
    struct bj_sender *s = start(responses, 2);
    struct bj_sender_stat st;
    bj_sender_stat(s, &st);
    assert_int_equal(st.success, BJ_ABSENT);
    st = later(s, 10);
    assert_int_equal(st.success, 0);
    assert_int_equal(st.errors, 1);
    st = later(s, 70);
    assert_int_equal(st.success, 1);
    later(s, 600); /* one answer suffices: the stub has no other */
    stop(s);
    char name[256] = "", line[300];
    gethostname(name, sizeof(name) - 1);
    snprintf(line, sizeof(line), "POST /records?host=%s HTTP/1.1\r\n", name);
    assert_non_null(strstr(stub.received.p, line));
    bj_stub_free(&stub);
    assert_non_null(strstr(log_text, "status 401: no token\n"));
    assert_non_null(strstr(log_text, "sending final records works again"));
}

static void test_a_new_record_is_sent_within_the_interval(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = RESPONSE("200 OK", "", "{\"stored\":0,\"refused\":[]}")},
        {.text = RESPONSE("200 OK", "", "{\"stored\":1,\"refused\":[]}")},
        {.text = RESPONSE("200 OK", "", "{\"stored\":1,\"refused\":[]}")}};
    (void)state;
    struct bj_sender *s = start(responses, 3);
    struct bj_sender_stat st = later(s, 10);
    assert_int_equal(st.sent, 0);
    put("a.json", "{}");
    bj_sender_wake(s);
    testclock_advance(10 * SECOND);
    AWAIT((bj_sender_stat(s, &st), st.sent == 1));
    put("b.json", "{}"); /* written by another program */
    assert_int_equal(later(s, 71).sent, 2);
    stop(s);
    bj_stub_free(&stub);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_a_record_is_one_line),
        T(test_invalid_files_are_renamed_to_bad),
        T(test_a_batch_is_bounded),
        T(test_the_response_decides_which_files_are_removed),
        T(test_an_invalid_response_removes_nothing),
        T(test_a_committed_record_is_removed),
        T(test_failures_remove_nothing_and_back_off),
        T(test_a_request_that_is_too_long_is_split),
        T(test_an_unreadable_token_changes_nothing),
        T(test_a_denied_record_does_not_hold_up_others),
        T(test_the_server_is_tried_at_the_start),
        T(test_a_new_record_is_sent_within_the_interval),
        T(test_a_file_that_cannot_be_read_stays_and_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
