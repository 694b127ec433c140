/* The HTTP client and TLS: which certificates it accepts. The server is
 * openssl, with certificates created for the test. */
#include "base/command.h"
#include "base/fetch.h"
#include "base/save.h"
#include "tests/unit/lib/httpstub.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char make_files[] =
    "set -e\n"
    "key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'\n"
    "for ca in ours other; do\n"
    "  openssl req -x509 $key -keyout $ca.key -out $ca.pem -days 2 "
    "-subj \"/CN=$ca CA\"\n"
    "done\n"
    "cert() { # name subject-alternative-name days ca\n"
    "  openssl req -new $key -keyout $1.key -out $1.csr -subj /CN=$1\n"
    "  echo subjectAltName=$2 >ext\n"
    "  openssl x509 -req -in $1.csr -CA $4.pem -CAkey $4.key -set_serial $5 "
    "-days $3 -extfile ext -out $1.pem\n"
    "}\n"
    "cert good IP:127.0.0.1,DNS:localhost 2 ours 11\n"
    "cert elsewhere DNS:other.test,IP:127.0.0.2 2 ours 12\n"
    "cert client DNS:client 2 ours 13\n"
    "cert stranger DNS:client 2 other 14\n"
    "printf 'HTTP/1.0 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi' >page\n"
    "printf 'HTTP/1.0 302 Found\\r\\nLocation: http://127.0.0.1:1/\\r\\n"
    "Content-Length: 0\\r\\n\\r\\n' >down\n";

static char dir[] = "/tmp/bj-tls-XXXXXX";
static bool missing;

/* The full path of a file of the test. */
static const char *file(const char *name)
{
    static char buf[4][64];
    static unsigned i;
    i = (i + 1) % 4;
    snprintf(buf[i], sizeof(buf[i]), "%s/%s", dir, name);
    return buf[i];
}

static int enter(void **state)
{
    const char *const argv[] = {"sh", "-c", make_files, NULL};
    struct bj_command_result res = {0};
    struct bj_err err = {0};
    char openssl[256];
    (void)state;
    missing = bj_command_find("openssl", BJ_COMMAND_PATH, openssl,
                              sizeof(openssl), NULL) < 0;
    if (missing)
        return 0;
    if (!mkdtemp(dir))
        return -1;
    int r = bj_command_run(&(struct bj_command){.argv = argv, .dir = dir}, &res,
                           &err);
    if (r < 0)
        printf("# %s: %s\n", err.msg, res.error_output);
    bj_command_result_free(&res);
    return r;
}

static int leave(void **state)
{
    const char *const argv[] = {"rm", "-rf", dir, NULL};
    struct bj_command_result res = {0};
    (void)state;
    int r = missing ? 0
                    : bj_command_run(&(struct bj_command){.argv = argv}, &res,
                                     NULL);
    bj_command_result_free(&res);
    return r;
}

/* --- the server ----------------------------------------------------------- */

struct server {
    pid_t pid;
    char url[64];
};

/* openssl prints its address: "ACCEPT 127.0.0.1:PORT". */
static void read_port(struct server *s, int fd)
{
    char buf[1024];
    size_t n = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_true(poll(&p, 1, 20000) == 1);
        ssize_t r = read(fd, buf + n, sizeof(buf) - 1 - n);
        assert_true(r > 0);
        n += (size_t)r;
        buf[n] = '\0';
        const char *at = strstr(buf, "ACCEPT 127.0.0.1:");
        if (!at || !strchr(at, '\n'))
            continue;
        snprintf(s->url, sizeof(s->url), "https://127.0.0.1:%.*s",
                 (int)strcspn(at + 17, "\n"), at + 17);
        return;
    }
}

static void serve(struct server *s, const char *cert, const char *key,
                  bool verify)
{
    int fd[2];
    const char *argv[] = {"openssl",  "s_server",
                          "-accept",  "127.0.0.1:0",
                          "-HTTP",    "-cert",
                          file(cert), "-key",
                          file(key),  verify ? "-Verify" : NULL,
                          "1",        "-verify_return_error",
                          "-CAfile",  file("ours.pem"),
                          NULL};
    posix_spawn_file_actions_t fa;
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    assert_int_equal(chdir(dir), 0); /* openssl serves files from here */
    assert_int_equal(posix_spawnp(&s->pid, argv[0], &fa, NULL,
                                  (char *const *)(uintptr_t)argv,
                                  (char *[]){NULL}),
                     0);
    assert_int_equal(chdir("/"), 0);
    posix_spawn_file_actions_destroy(&fa);
    close(fd[1]);
    read_port(s, fd[0]);
    /* openssl's later output is not read, but the pipe stays open so that
     * openssl does not end. */
    fcntl(fd[0], F_DUPFD_CLOEXEC, 100);
    close(fd[0]);
}

static void end(struct server *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

/* --- tests ---------------------------------------------------------------- */

struct expectation {
    const char *ca, *cert, *key;
    bool insecure, plain; /* plain: http:// */
    int want;
    enum bj_fetch_fault fault;
};

static void expect(const struct server *s, const struct expectation *e)
{
    struct bj_fetch *f;
    struct bj_fetch_reply reply = {0};
    struct bj_err err = {0};
    char url[100];
    snprintf(url, sizeof(url), "http%s/page", s->url + (e->plain ? 5 : 4));
    struct bj_fetch_request req = {
        .url = url,
        .ca_file = e->ca ? file(e->ca) : NULL,
        .cert_file = e->cert ? file(e->cert) : NULL,
        .key_file = e->key ? file(e->key) : NULL,
        .insecure = e->insecure,
        .no_proxy = true,
    };
    assert_int_equal(bj_fetch_new(&f, NULL), 0);
    int r = bj_fetch(f, &req, &reply, &err);
    if (r != e->want || reply.fault != e->fault)
        fail_msg("%s %s: %d %s", e->ca, e->cert, r, err.msg);
    if (e->plain)
        assert_non_null(strstr(err.msg, "does this port speak https://?"));
    /* The text of an errno would be another reason than the true one. */
    char text[320];
    assert_string_equal(bj_err_text(&err, text, sizeof(text)), err.msg);
    if (r == 0)
        assert_int_equal(reply.body.len, 2);
    bj_fetch_reply_free(&reply);
    bj_fetch_free(f);
}

static void expect_all(const char *name, bool verify,
                       const struct expectation *e, size_t n)
{
    char cert[32], key[32];
    struct server s;
    if (missing)
        skip(); /* openssl is not installed */
    snprintf(cert, sizeof(cert), "%s.pem", name);
    snprintf(key, sizeof(key), "%s.key", name);
    serve(&s, cert, key, verify);
    for (size_t i = 0; i < n; i++)
        expect(&s, &e[i]);
    end(&s);
}

static void trusted_ca(void **state)
{
    static const struct expectation e[] = {
        {.ca = "ours.pem"},
        {.want = -EKEYREJECTED, .fault = BJ_FETCH_TLS}, /* CAs of the system */
        {.ca = "other.pem", .want = -EKEYREJECTED, .fault = BJ_FETCH_TLS},
        {.insecure = true},
        {.ca = "other.pem", .insecure = true},
        {.ca = "none.pem", .want = -EACCES, .fault = BJ_FETCH_LOCAL},
        {.plain = true, .want = -EPROTO, .fault = BJ_FETCH_PROTOCOL},
        {.ca = "ours.pem",
         .cert = "none.pem",
         .want = -EACCES,
         .fault = BJ_FETCH_LOCAL},
        {.ca = "ours.pem"},
    };
    (void)state;
    expect_all("good", false, e, COUNT(e));
}

static void other_host_name(void **state)
{
    static const struct expectation e[] = {
        {.ca = "ours.pem", .want = -EKEYREJECTED, .fault = BJ_FETCH_TLS},
        {.insecure = true},
    };
    (void)state;
    expect_all("elsewhere", false, e, COUNT(e));
}

static void client_certificate(void **state)
{
    /* With TLS 1.3 a server refuses a client after the client has finished
     * its handshake: a missing certificate looks like a response that ends
     * early. */
    static const struct expectation e[] = {
        {.ca = "ours.pem", .cert = "client.pem", .key = "client.key"},
        {.ca = "ours.pem", .want = -EPROTO, .fault = BJ_FETCH_PROTOCOL},
        {.ca = "ours.pem",
         .cert = "stranger.pem",
         .key = "stranger.key",
         .want = -EPROTO,
         .fault = BJ_FETCH_PROTOCOL},
    };
    (void)state;
    expect_all("good", true, e, COUNT(e));
}

/* A server without TLS is refused, and a redirect to http is not followed. */
static void no_tls(void **state)
{
    static const struct bj_stub_response responses[] = {
        {.text = NULL}, {.text = "HTTP/1.0 200 OK\r\n\r\n"}};
    struct bj_stub stub;
    struct server s;
    struct bj_fetch *f;
    struct bj_fetch_reply reply = {0};
    struct bj_err err = {0};
    char url[100];
    (void)state;
    if (missing)
        skip(); /* openssl is not installed */
    assert_int_equal(bj_fetch_new(&f, NULL), 0);
    bj_stub_begin(&stub, NULL, responses, 1);
    snprintf(url, sizeof(url), "https://127.0.0.1:%u/", stub.port);
    struct bj_fetch_request req = {
        .url = url, .no_proxy = true, .total_usec = 3000000};
    assert_int_equal(bj_fetch(f, &req, &reply, &err), -EKEYREJECTED);
    assert_int_equal(reply.fault, BJ_FETCH_TLS);
    bj_stub_end(&stub);
    bj_stub_free(&stub);

    serve(&s, "good.pem", "good.key", false);
    snprintf(url, sizeof(url), "%s/down", s.url);
    req = (struct bj_fetch_request){.url = url,
                                    .no_proxy = true,
                                    .ca_file = file("ours.pem"),
                                    .redirects = 3,
                                    .cross_origin = true};
    assert_int_equal(bj_fetch(f, &req, &reply, &err), -EREMOTEIO);
    assert_int_equal(reply.status, 302);
    end(&s);
    bj_fetch_reply_free(&reply);
    bj_fetch_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trusted_ca),
        cmocka_unit_test(other_host_name),
        cmocka_unit_test(client_certificate),
        cmocka_unit_test(no_tls),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
