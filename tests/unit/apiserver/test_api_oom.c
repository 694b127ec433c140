/* Every allocation of the API server fails once: at its start, in a reload, and
 * in every response.  The server reports an error, keeps the old settings, and
 * does not leak memory (checked by the address sanitizer). */
#include "apiserver/access/tokens.h"
#include "apiserver/frame/answer.h"
#include "apiserver/frame/settings.h"
#include "apiserver/frame/texts.h"
#include "apiserver/server/server.h"
#include "base/clock.h"
#include "base/httpd_conn.h"
#include "base/log.h"
#include "base/web.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/rounds.h"
#include "tests/unit/statsdb/test_statsdb.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define HASH "$2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay"

/* A certificate for EC P-256 and its key, made by openssl(1) for this test. */
static const char own_cert[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIBfzCCASWgAwIBAgIUJqraF7f113u3aOjjqEzkUziI6T8wCgYIKoZIzj0EAwIw\n"
    "FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjEzMDU1N1oYDzIxMjYxMDI5\n"
    "MTMwNTU3WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO\n"
    "PQMBBwNCAATtD637bPynLcrMIRYlgiwbI1JMOIbaXPmvaFNwvZZ2ZuxP/qTgrVbG\n"
    "/sGc0Xs8Q3TZhwCgJxlpFKjLrcjJmlwvo1MwUTAdBgNVHQ4EFgQUoeCrLcrb+GcL\n"
    "GCofeOq8SlggY+0wHwYDVR0jBBgwFoAUoeCrLcrb+GcLGCofeOq8SlggY+0wDwYD\n"
    "VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAtyjoFy3L5D1WnKibNkN3f\n"
    "xHWgNtH9fhrLESOyJNNHlQIhAOzUKbHb1+SW8nJxmLzBRoB80llXUyZNzth8KzDS\n"
    "hJFm\n"
    "-----END CERTIFICATE-----\n";
static const char own_key[] =
    "-----BEGIN PRIVATE KEY-----\n"
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgD1JVW/L7ezW5EHH/\n"
    "GV4BAOEsFm2PxwNJFLN7BIlDRZChRANCAATtD637bPynLcrMIRYlgiwbI1JMOIba\n"
    "XPmvaFNwvZZ2ZuxP/qTgrVbG/sGc0Xs8Q3TZhwCgJxlpFKjLrcjJmlwv\n"
    "-----END PRIVATE KEY-----\n";

/* libyaml 0.2.5 leaks in yaml_parser_load when memory runs out.  Without a
 * symbolizer, only the name of the library is known. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void)
{
    return "leak:libyaml";
}

static struct fixture f;

/* Like bj_fail_each, but a run may succeed despite a failed allocation. */
static unsigned long each(int (*run)(void *arg), void *arg)
{
    unsigned long n = 0, failures = 0;
    for (int lasting = 0; lasting < 2; lasting++) {
        bool more = true;
        for (n = 0; more; n++) {
            (lasting ? bj_fail_from : bj_fail_after)(n);
            int r = run(arg);
            more = bj_fail_stop();
            if (r != 0 && (r != -ENOMEM || !more))
                fail_msg("%d at %lu", r, n);
            failures += r != 0;
        }
    }
    assert_true(failures > 1);
    return n;
}

static const char *file(const char *name)
{
    static char buf[4][96];
    static unsigned i;
    i = (i + 1) % COUNT(buf);
    snprintf(buf[i], sizeof(buf[i]), "%s/%s", f.dir, name);
    return buf[i];
}

static void write_file(const char *name, const char *text)
{
    int fd = open(file(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* --- files -----------------------------------------------------------------
 */

#define WEB_TEXT                                                               \
    "tls_server_config:\n"                                                     \
    "  cert_file: own.pem\n"                                                   \
    "  key_file: own.key\n"                                                    \
    "  client_auth_type: RequireAndVerifyClientCert\n"                         \
    "  client_ca_file: own.pem\n"                                              \
    "  client_allowed_sans: [a.example, b.example]\n"                          \
    "  curve_preferences: [X25519, CurveP384]\n"                               \
    "http_server_config:\n"                                                    \
    "  headers:\n"                                                             \
    "    X-Frame-Options: deny\n"                                              \
    "basic_auth_users:\n"                                                      \
    "  ada: " HASH "\n"                                                        \
    "  bob: " HASH "\n"

static int web_conf(void *arg)
{
    struct bj_web_conf c = {0};
    struct bj_err err = {0};
    (void)arg;
    int r = bj_web_conf_parse(&c, "/x/web.yml", BJ_SLICE(WEB_TEXT), &err);
    assert_true(r == 0 ? c.users == 2 && c.tls.sans.n == 2 : err.msg[0] != 0);
    bj_web_conf_free(&c);
    return r;
}

static int tokens(void *arg)
{
    struct bj_tokens *t = NULL;
    struct bj_err err = {0};
    int r = bj_tokens_read(arg, &t, &err);
    assert_true(r == 0 || err.msg[0]);
    if (r == 0)
        assert_non_null(bj_tokens_find(t, BJ_SLICE("12345678")));
    bj_tokens_free(t);
    return r;
}

/* Lack of memory gives no user the rights of an admin. */
static int access_file(void *arg)
{
    char *admins[] = {(char *)"boss"};
    struct bj_strv a = {admins, 1}, none = {0};
    struct bj_access *x = NULL;
    struct bj_err err = {0};
    int r = bj_access_new(&a, &none, arg, &x, &err);
    assert_true(r == 0 || err.msg[0]);
    if (r == 0) {
        assert_false(bj_access_is_admin(x, BJ_SLICE("ada")));
        assert_true(bj_access_is_admin(x, BJ_SLICE("chief")));
    }
    bj_access_free(x);
    return r;
}

static int other_objects(void *arg)
{
    char *lines[] = {(char *)"cn:* *", (char *)"dns:a b"};
    struct bj_strv list = {lines, 2};
    struct bj_secrets *s = NULL;
    struct bj_limit *l = NULL;
    struct bj_certs *c = NULL;
    (void)arg;
    int r = bj_secrets_new(&s, NULL);
    if (r == 0)
        r = bj_limit_new(&l, NULL);
    if (r == 0)
        r = bj_certs_new(&list, &c, NULL);
    bj_certs_free(c);
    bj_limit_free(l);
    bj_secrets_free(s);
    return r;
}

static void test_files(void **state)
{
    (void)state;
    char name[96];
    assert_in_range(each(web_conf, NULL), 20, 1000);
    write_file("tokens", "12345678 " HASH " ada never\n"
                         "abcdefgh " HASH " bob 2999-01-01 note\n");
    snprintf(name, sizeof(name), "%s", file("tokens"));
    assert_true(each(tokens, name) > 3);
    write_file("access", "admin chief\ncoordinator math ada bob\n");
    snprintf(name, sizeof(name), "%s", file("access"));
    assert_true(each(access_file, name) > 3);
    assert_int_equal(bj_fail_each(other_objects, NULL), 3);
}

static int web(void *arg)
{
    struct bj_web *w = NULL;
    struct bj_err err = {0};
    int r = bj_web_new("web.config.file", arg, &w, &err);
    assert_true(r < 0 ? err.msg[0] && !w : w && w->tls);
    if (r == 0)
        assert_int_equal(w->conf.tls.client_auth, BJ_CLIENT_REQUIRED);
    bj_web_unref(w);
    return r;
}

static void test_tls(void **state)
{
    (void)state;
    char name[96];
    snprintf(name, sizeof(name), "%s", file("web.yml"));
    bj_fail_own_code(true); /* libtasn1 ends the process otherwise */
    assert_in_range(each(web, name), 5, 1000);
    bj_fail_own_code(false);
}

/* --- the server ------------------------------------------------------------
 */

static struct bj_api_conf *options(const char *more)
{
    char store[120], web[120], token[120], access[120], last[120];
    struct bj_err err = {0};
    struct bj_api_conf *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    snprintf(store, sizeof(store), "--store.path=%s", f.path);
    snprintf(web, sizeof(web), "--web.config.file=%s", file("web.yml"));
    snprintf(token, sizeof(token), "--access.token-file=%s", file("tokens"));
    snprintf(access, sizeof(access), "--access.file=%s", file("access"));
    snprintf(last, sizeof(last), "%s", more);
    char *argv[] = {store,
                    store,
                    web,
                    token,
                    access,
                    last,
                    (char *)"--access.rate=0",
                    (char *)"--query.timeout=600s",
                    (char *)"--log.level=error"};
    if (bj_api_conf_load(c, COUNT(argv), argv, &err) < 0)
        fail_msg("%s", err.msg);
    return c;
}

static void test_start(void **state)
{
    (void)state;
    bj_fail_own_code(true);
    for (unsigned long n = 0;; n++) {
        static struct bj_server s;
        struct bj_err err = {0};
        struct bj_api_conf *c = options("--prometheus.url=http://127.0.0.1:9");
        bj_fail_after(n);
        int r = bj_server_init(&s, c, bj_endpoint_tables, &err);
        bool failed = bj_fail_stop();
        assert_true(r == 0 || (failed && err.msg[0]));
        assert_true(bj_server_free(&s, 20));
        if (!failed) {
            assert_in_range(n, 20, 1000);
            break;
        }
    }
    bj_fail_own_code(false);
}

/* A reload succeeds completely or changes nothing. */
static void test_reload(void **state)
{
    static struct bj_server s;
    struct bj_err err = {0};
    unsigned long n = 0;
    (void)state;
    assert_int_equal(bj_server_init(&s, options("--query.max-rows=1"),
                                    bj_endpoint_tables, &err),
                     0);
    bj_fail_own_code(true);
    for (bool more = true; more; n++) {
        const struct bj_api_conf *before = bj_server_conf(&s);
        struct bj_web *web = bj_auth_web(s.settings->auth);
        struct bj_api_conf *c = options("--query.max-rows=2");
        err = (struct bj_err){0};
        bj_fail_after(n);
        int r = bj_server_reload(&s, c, &err);
        more = bj_fail_stop();
        assert_true(r == 0 || (more && err.msg[0]));
        if (r < 0)
            assert_true(bj_server_conf(&s) == before);
        assert_true((bj_auth_web(s.settings->auth) == web) == (r < 0));
        assert_true(s.http_worker.settings == s.settings &&
                    s.http_worker.auth == s.settings->auth);
        assert_true(s.http_worker.reader && s.http_worker.words);
        assert_true(s.httpd->web == bj_auth_web(s.settings->auth));
    }
    bj_fail_own_code(false);
    assert_in_range(n, 20, 1000);
    assert_true(bj_server_free(&s, 20));
}

/* --- responses -------------------------------------------------------------
 */

static void fill(const char *user)
{
    struct bj_store *s = store_open(&f);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(bj_upsert_begin(u, NULL), 0);
    for (unsigned i = 1; i <= 3; i++) {
        struct bj_sched_job j;
        uint64_t now = bj_clock_wall_usec() / 1000000;
        char id[16];
        bj_sched_job_init(&j);
        snprintf(id, sizeof(id), "%u", i);
        j.batch_system = BJ_SLICE("slurm");
        j.jobid = j.display_id = bj_slice_str(id);
        j.user = j.group = bj_slice_str(user);
        j.account = j.partition = j.qos = j.name = BJ_SLICE("x");
        j.nodelist = BJ_SLICE("n[1-9]");
        j.work_dir = BJ_SLICE("/home/x");
        j.state = BJ_STATE_COMPLETED;
        j.submit_sec = j.start_sec = now - 86400 - i;
        j.end_sec = now - 80000;
        j.elapsed_sec = j.end_sec - j.start_sec;
        j.cpus = j.nodes = 2;
        assert_int_equal(bj_upsert_job(u, BJ_SLICE("hal"), &j, NULL), 0);
    }
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    bj_upsert_free(u);
    bj_store_close(s);
}

/* One body for all paths that need one. */
#define POST_BODY                                                              \
    "{\"targets\":[{\"target\":\"jobs\",\"refId\":\"A\"},"                     \
    "{\"target\":\"usage\"},{\"target\":\"core_hours\"}],"                     \
    "\"payload\":{\"target\":\"users\"},\"name\":\"accounts\","                \
    "\"key\":\"user\",\"annotation\":{\"query\":\"{\\\"state\\\":"             \
    "\\\"all\\\"}\"},\"range\":{\"from\":\"2020-01-01T00:00:00Z\","            \
    "\"to\":\"2100-01-01T00:00:00Z\"}}"

static int64_t now_sec;

/* Process one request in this thread and let allocation fail_at fail; returns
 * the status.  The caller frees the body. */
static unsigned answer(struct bj_api_worker *worker, const char *path,
                       unsigned method, int fd, unsigned long fail_at,
                       bool *failed, struct bj_buf *body)
{
    const struct sockaddr address = {.sa_family = AF_UNIX};
    const struct bj_http_request req = {.method = method,
                                        .fd = fd,
                                        .address = &address,
                                        .body = BJ_SLICE(POST_BODY)};
    struct bj_request t = {
        .reply = {.status = 200, .type = "text/plain"},
        .call = {.worker = worker, .req = &req, .now_sec = now_sec}};
    t.call.reply = &t.reply;
    t.at = bj_answer_find(&t.call, bj_slice_str(path + 1));
    assert_non_null(t.call.endpoint);
    bj_fail_after(fail_at);
    bj_answer(&t.call);
    if (t.call.work)
        bj_answer_rest(&t.call);
    *failed = bj_fail_stop();
    bj_texts_use(NULL);
    bj_texts_unref(t.call.texts);
    *body = t.reply.body;
    assert_true(body->failed || body->len > 0 || t.reply.status == 303);
    assert_false(t.counted);
    /* A failed body is sent, logged and counted as status 500. */
    struct bj_api_count count = {{0}, 0};
    struct bj_request_log l;
    bj_request_log_begin(&l, &t.call, &count, 0);
    bj_request_log_end(&l, 0);
    assert_int_equal(l.status, body->failed ? 500 : t.reply.status);
    assert_int_equal(count.n[l.status / 100], 1);
    return l.status;
}

static bool same(const struct bj_buf *a, const struct bj_buf *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->p, b->p, a->len) == 0);
}

/* A response is complete or an error.  Every 13th allocation fails; in make
 * check-long, each one. */
static void each_answer(struct bj_api_worker *worker, const char *path,
                        unsigned method, int fd)
{
    struct bj_buf want, got;
    bool failed = true, changes = strcmp(path, "/metrics") == 0;
    unsigned whole = answer(worker, path, method, fd, 1000000, &failed, &want);
    /* 303: another page; 400: a plot without metric; 501: PDF */
    if (whole != 200 && whole != 303 && whole != 400 && whole != 404 &&
        whole != 501)
        fail_msg("%s: %u", path, whole);
    failed = true;
    for (unsigned long n = 0; failed; n += bj_rounds(1, 13)) {
        unsigned status = answer(worker, path, method, fd, n, &failed, &got);
        bool right = status == whole && (changes || same(&got, &want));
        /* 403: the user could not be determined. */
        if (!right &&
            (!failed || (status != 500 && status != 503 && status != 403)))
            fail_msg("%s: %u without memory %lu: %.*s", path, status, n,
                     (int)got.len, got.p ? got.p : "");
        bj_buf_free(&got);
    }
    bj_buf_free(&want);
}

static void test_answers(void **state)
{
    static struct bj_server s;
    struct bj_err err = {0};
    struct bj_api_worker worker;
    int pair[2];
    (void)state;
    const struct passwd *me = getpwuid(getuid());
    assert_non_null(me);
    now_sec = (int64_t)(bj_clock_wall_usec() / 1000000);
    fill(me->pw_name);
    char role[96]; /* the queries of coordinators have branches */
    snprintf(role, sizeof(role), "--access.coordinators=x: %s", me->pw_name);
    assert_int_equal(
        bj_server_init(&s, options(role), bj_endpoint_tables, &err), 0);
    worker = s.http_worker;
    worker.settings = NULL;
    worker.reader = NULL;
    worker.words = NULL;
    assert_int_equal(bj_worker_use(&worker, bj_settings_ref(s.settings), &err),
                     0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    for (unsigned i = 0; s.endpoint[i]; i++) {
        const struct bj_endpoint *e = s.endpoint[i];
        const char *star = strchr(e->path, '*');
        char path[96];
        snprintf(path, sizeof(path), "%.*s%s%s",
                 (int)(star ? star - e->path : (ptrdiff_t)strlen(e->path)),
                 e->path, star ? "2" : "", star ? star + 1 : "");
        each_answer(&worker, path,
                    e->methods & BJ_HTTP_GET ? BJ_HTTP_GET : BJ_HTTP_POST,
                    pair[0]);
    }
    close(pair[0]);
    close(pair[1]);
    bj_worker_release(&worker);
    assert_true(bj_server_free(&s, 20));
}

static int enter(void **state)
{
    (void)state;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    bj_db_own_threads();
    fixture_open(&f);
    write_file("own.pem", own_cert);
    write_file("own.key", own_key);
    write_file("web.yml", WEB_TEXT);
    return 0;
}

static int leave(void **state)
{
    static const char *const names[] = {"own.pem", "own.key", "web.yml",
                                        "tokens", "access"};
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++)
        unlink(file(names[i]));
    fixture_close(&f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),   cmocka_unit_test(test_tls),
        cmocka_unit_test(test_start),   cmocka_unit_test(test_reload),
        cmocka_unit_test(test_answers),
    };
    if (!bj_fail_works()) {
        print_message("# skipped: malloc cannot be replaced\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, enter, leave);
}
