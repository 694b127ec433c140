/* The gate with two servers, several requests at a time: small and large
 * replies, clients that leave, a server that fails, and reloads.  Also runs
 * under the thread sanitizer. */
#include "tests/unit/apiserver/test_api_rig.h"

#include <pthread.h>

enum {
    ROUNDS = 30,
    LONG_ROUNDS = 1000,
    CLIENTS = 6,
    BODY_BYTES = 1 << 20,
    REQUEST_BYTES = 4096,
};

static struct rig rig;
static char conf_path[64];

/* --- the servers -----------------------------------------------------------
 */

struct upstream {
    int fd;
    unsigned port;
    unsigned fails_one_in; /* replies; 0: none */
    unsigned served;       /* atomic, like connections */
    unsigned connections;
};

struct connection {
    struct upstream *of;
    int fd;
};

static struct upstream upstream[2];
static char body[BODY_BYTES];

static bool send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* The parameter limit is the length of the body. */
static bool reply_to(struct upstream *u, int fd, const char *request)
{
    char head[160];
    const char *limit = strstr(request, "limit=");
    size_t n = limit ? strtoul(limit + 6, NULL, 10) : 2;
    unsigned count = __atomic_add_fetch(&u->served, 1, __ATOMIC_RELAXED);
    bool fails = limit && u->fails_one_in > 0 && count % u->fails_one_in == 0;
    n = n < BODY_BYTES ? n : BODY_BYTES;
    snprintf(head, sizeof(head),
             "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n",
             fails ? "502 Bad Gateway" : "200 OK", n);
    if (fails) /* not a response of Prometheus */
        memcpy(strstr(head, "application/json"), "text/plain      ", 16);
    return send_all(fd, head, strlen(head)) && send_all(fd, body, n);
}

static void *serve_one(void *arg)
{
    struct connection c = *(struct connection *)arg;
    char request[REQUEST_BYTES];
    size_t got = 0;
    ssize_t n;
    free(arg);
    while ((n = recv(c.fd, request + got, sizeof(request) - 1 - got, 0)) > 0) {
        got += (size_t)n;
        request[got] = '\0';
        if (!strstr(request, "\r\n\r\n"))
            continue;
        got = 0;
        if (!reply_to(c.of, c.fd, request))
            break;
    }
    close(c.fd);
    __atomic_sub_fetch(&c.of->connections, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *serve_all(void *arg)
{
    struct upstream *u = arg;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (int fd; (fd = accept(u->fd, NULL, NULL)) >= 0;) {
        struct connection *c = malloc(sizeof(*c));
        pthread_t thread;
        assert_non_null(c);
        *c = (struct connection){u, fd};
        __atomic_add_fetch(&u->connections, 1, __ATOMIC_RELAXED);
        assert_int_equal(pthread_create(&thread, &attr, serve_one, c), 0);
    }
    pthread_attr_destroy(&attr);
    return NULL;
}

static void open_upstream(struct upstream *u)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    u->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_return_code(bind(u->fd, (struct sockaddr *)&a, sizeof(a)), errno);
    assert_return_code(listen(u->fd, 64), errno);
    assert_return_code(getsockname(u->fd, (struct sockaddr *)&a, &len), errno);
    u->port = ntohs(a.sin_port);
}

/* --- the requests ----------------------------------------------------------
 */

/* xorshift64* with a fixed seed. */
static unsigned chance(unsigned below)
{
    static uint64_t x = 88172645463325252u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    return (unsigned)((x * 2685821657736338717u >> 33) % below);
}

static void write_conf(bool both)
{
    FILE *f = fopen(conf_path, "we");
    assert_non_null(f);
    fprintf(f, "gate:\n  enabled: true\n  servers:\n");
    fprintf(f, "    - http://127.0.0.1:%u\n", upstream[0].port);
    if (both)
        fprintf(f, "    - http://127.0.0.1:%u retention=500d max-queries=2\n",
                upstream[1].port);
    assert_int_equal(fclose(f), 0);
}

static void reload(bool both)
{
    struct bj_api_conf *c = calloc(1, sizeof(*c));
    struct bj_err err = {0};
    char store[128], file[96];
    snprintf(store, sizeof(store), "--store.path=%s", rig.f.path);
    snprintf(file, sizeof(file), "--config.file=%s", conf_path);
    char *argv[] = {store, store, file, (char *)"--access.trust-loopback",
                    (char *)"--access.rate=0"};
    write_conf(both);
    if (bj_api_conf_load(c, COUNT(argv), argv, &err) < 0 ||
        bj_server_reload(&rig.server, c, &err) < 0)
        fail_msg("%s", err.msg);
}

static void one_round(void)
{
    static const unsigned sizes[] = {2, 1000, 90000, 300000, BODY_BYTES};
    static const char *const users[] = {"ada", "bob", "eve"};
    int fd[CLIENTS];
    unsigned size[CLIENTS];
    char path[96];
    for (unsigned i = 0; i < CLIENTS; i++) {
        size[i] = sizes[chance(COUNT(sizes))];
        snprintf(path, sizeof(path),
                 "/prometheus/api/v1/label/a/values?limit=%u", size[i]);
        fd[i] = rig_send(&rig, users[chance(COUNT(users))], path, NULL);
        for (unsigned k = chance(4); k > 0; k--)
            rig_pump(&rig);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (chance(6) == 0) {
            close(fd[i]);
            continue;
        }
        unsigned status = rig_receive(&rig, fd[i]);
        const char *text = strstr(rig.response, "\r\n\r\n");
        assert_non_null(text);
        if (status != 200 || strlen(text + 4) != size[i])
            fail_msg("%u, %zu of %u bytes: %.300s", status, strlen(text + 4),
                     size[i], rig.response);
    }
}

static void each_client_gets_its_response(void **state)
{
    const unsigned rounds = getenv("BJ_TEST_LONG") ? LONG_ROUNDS : ROUNDS;
    (void)state;
    for (unsigned i = 0; i < rounds; i++) {
        if (i % 5 == 4)
            reload(i % 10 != 4);
        one_round();
    }
    assert_true(upstream[0].served > 0 && upstream[1].served > 0);
}

static int enter(void **state)
{
    pthread_t thread;
    char option[96];
    (void)state;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    bj_db_own_threads();
    memset(body, ' ', sizeof(body));
    upstream[1].fails_one_in = 7;
    for (unsigned i = 0; i < 2; i++) {
        open_upstream(&upstream[i]);
        pthread_create(&thread, NULL, serve_all, &upstream[i]);
        pthread_detach(thread);
    }
    fixture_open(&rig.f);
    bj_store_close(store_open(&rig.f));
    snprintf(conf_path, sizeof(conf_path), "/tmp/bj-forward-%d.yml", getpid());
    write_conf(true);
    snprintf(option, sizeof(option), "--config.file=%s", conf_path);
    rig_open(&rig, option);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    rig_close(&rig);
    unlink(conf_path);
    for (unsigned i = 0; i < 2; i++)
        while (__atomic_load_n(&upstream[i].connections, __ATOMIC_ACQUIRE) > 0)
            sched_yield();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_client_gets_its_response),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
