/* The session with a master agent that comes late, goes, says nothing, refuses
 * or sends nonsense. */
#include "snmp-agent/session.h"

#include "base/log.h"
#include "tests/unit/snmp-agent/snap.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAIT_MS = 20000, MOST = 4096, SESSION = 77 };

#define ROOT "1.3.6.1.4.1.8072.9999.9999.9010"

static char path[64];
static struct bj_session_conf conf = {path, 10 * 1000000, 3600ull * 1000000};
static struct bj_oid base;
static struct bj_snmp_view *view;
static struct bj_session *session;
static int listener = -1, master = -1; /* of the master */

static void listen_now(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    unlink(path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(listener, 5), 0);
}

static int session_setup(void **state)
{
    (void)state;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    base = oid_of(ROOT);
    snprintf(path, sizeof(path), "/tmp/test_snmp_session.%d", (int)getpid());
    conf.timeout_usec = 10 * 1000000;
    conf.ping_usec = 3600ull * 1000000;
    listen_now();
    return bj_snmp_view_new(&base, 60 * 1000000, &view, NULL);
}

static int session_teardown(void **state)
{
    (void)state;
    bj_session_free(session);
    session = NULL;
    close(master);
    close(listener);
    unlink(path);
    bj_snmp_view_free(view);
    return 0;
}

static void readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
}

static void session_accept(void)
{
    if (master >= 0)
        close(master);
    readable(listener);
    master = accept(listener, NULL, NULL);
    assert_true(master >= 0);
}

/* Read exactly n bytes; false: the session closed the connection. */
static bool session_read(void *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        readable(master);
        ssize_t k = read(master, (char *)p + at, n - at);
        if (k <= 0)
            return false;
        at += (size_t)k;
    }
    return true;
}

/* The next PDU of the session; its payload is in bytes. */
static bool session_pdu(struct bj_pdu *ret, unsigned char bytes[MOST])
{
    unsigned char head[BJ_PDU_HEADER];
    if (!session_read(head, sizeof(head)))
        return false;
    assert_int_equal(bj_pdu_read(head, ret, NULL), 0);
    assert_true(ret->length <= MOST);
    return session_read(bytes, ret->length);
}

static void expect_pdu(enum bj_pdu_type type, struct bj_pdu *ret)
{
    unsigned char bytes[MOST];
    assert_true(session_pdu(ret, bytes));
    assert_int_equal(ret->type, type);
}

static void expect_closed(void)
{
    struct bj_pdu pdu;
    unsigned char bytes[MOST];
    assert_false(session_pdu(&pdu, bytes));
}

static void master_send(struct bj_buf *out)
{
    assert_false(out->failed);
    assert_int_equal(send(master, out->p, out->len, MSG_NOSIGNAL), out->len);
    bj_buf_free(out);
}

static void reply(const struct bj_pdu *to, uint32_t id, uint16_t error)
{
    struct bj_buf out = {0};
    size_t at = bj_pdu_begin(&out, BJ_PDU_RESPONSE, id, 0, to->packet);
    bj_pdu_put_u32(&out, 1);
    bj_pdu_put_u32(&out, (uint32_t)error << 16);
    bj_pdu_end(&out, at);
    master_send(&out);
}

/* Open and register, as a master does. */
static void welcome(void)
{
    struct bj_pdu pdu;
    unsigned char bytes[MOST];
    struct bj_buf want = {0};
    session_accept();
    expect_pdu(BJ_PDU_OPEN, &pdu);
    reply(&pdu, SESSION, 0);
    assert_true(session_pdu(&pdu, bytes));
    assert_int_equal(pdu.type, BJ_PDU_REGISTER);
    assert_int_equal(pdu.session, SESSION);
    /* time limit 0, priority 127, no range, the root */
    bj_pdu_put_u32(&want, 127 << 16);
    bj_pdu_put_oid(&want, &base);
    assert_int_equal(pdu.length, want.len);
    assert_memory_equal(bytes, want.p, want.len);
    bj_buf_free(&want);
    reply(&pdu, SESSION, 0);
}

static void start(void)
{
    assert_int_equal(bj_session_start(&conf, &base, view, &session, NULL), 0);
}

/* Get the version: the session serves. */
static void expect_served(void)
{
    struct bj_buf out = {0};
    struct bj_pdu pdu;
    const struct bj_oid name = oid_of(ROOT ".1.1.1.0"), none = {0};
    size_t at = bj_pdu_begin(&out, BJ_PDU_GET, SESSION, 3, 4);
    bj_pdu_put_oid(&out, &name);
    bj_pdu_put_oid(&out, &none);
    bj_pdu_end(&out, at);
    master_send(&out);
    expect_pdu(BJ_PDU_RESPONSE, &pdu);
    assert_int_equal(pdu.transaction, 3);
    assert_int_equal(pdu.packet, 4);
    assert_true(pdu.length > 8);
}

/* --- */

static void serves_and_closes(void **state)
{
    (void)state;
    struct bj_pdu pdu;
    unsigned char bytes[MOST];
    start();
    welcome();
    expect_served();
    bj_session_free(session);
    session = NULL;
    assert_true(session_pdu(&pdu, bytes));
    assert_int_equal(pdu.type, BJ_PDU_CLOSE);
    assert_int_equal(bytes[0], 5); /* reasonShutdown */
    expect_closed();
}

static void late_and_restarted(void **state)
{
    (void)state;
    close(listener);
    unlink(path);
    start();
    listen_now();
    welcome();
    expect_served();
    welcome(); /* after the connection was closed */
    expect_served();
}

static void silent(void **state)
{
    (void)state;
    struct bj_pdu pdu;
    conf.timeout_usec = conf.ping_usec = 100 * 1000;
    start();
    session_accept(); /* no reply to Open */
    expect_pdu(BJ_PDU_OPEN, &pdu);
    expect_closed();
    welcome();
    expect_pdu(BJ_PDU_PING, &pdu);
    reply(&pdu, SESSION, 0);
    expect_pdu(BJ_PDU_PING, &pdu); /* no reply to this one */
    expect_closed();
    welcome();
}

static void refused(void **state)
{
    (void)state;
    struct bj_pdu pdu;
    start();
    session_accept();
    expect_pdu(BJ_PDU_OPEN, &pdu);
    reply(&pdu, SESSION, 0);
    expect_pdu(BJ_PDU_REGISTER, &pdu);
    reply(&pdu, SESSION, 263); /* duplicateRegistration */
    expect_closed();
    welcome();
    expect_served();
    /* The master forgot the session, as after a freeze of this program. */
    struct bj_buf close_pdu = {0};
    size_t at = bj_pdu_begin(&close_pdu, BJ_PDU_CLOSE, SESSION, 0, 1);
    bj_pdu_put_u32(&close_pdu, 0);
    bj_pdu_end(&close_pdu, at);
    master_send(&close_pdu);
    expect_closed();
    welcome();
}

static void nonsense(void **state)
{
    (void)state;
    static const unsigned char bytes[][BJ_PDU_HEADER + 4] = {
        {2, 5, 0x10},                                      /* version */
        {1, 5, 0x10, [16] = 0x7f, [17] = 0xff},            /* length */
        {1, 5, 0x10, [7] = SESSION, [19] = 4, [20] = 129}, /* name */
        {1, 18, 0x10, [7] = SESSION, [19] = 4},            /* Response */
    };
    start();
    for (size_t i = 0; i < COUNT(bytes); i++) {
        welcome();
        assert_int_equal(send(master, bytes[i], sizeof(bytes[i]), MSG_NOSIGNAL),
                         sizeof(bytes[i]));
        expect_closed();
    }
    /* A request that comes in single bytes is one request. */
    welcome();
    struct bj_buf out = {0};
    struct bj_pdu pdu;
    bj_pdu_end(&out, bj_pdu_begin(&out, BJ_PDU_GET, SESSION, 1, 2));
    for (size_t i = 0; i < out.len; i++)
        assert_int_equal(send(master, out.p + i, 1, MSG_NOSIGNAL), 1);
    bj_buf_free(&out);
    expect_pdu(BJ_PDU_RESPONSE, &pdu);
}

/* Part of a PDU, and no more. */
static void unfinished(void **state)
{
    (void)state;
    conf.timeout_usec = 100 * 1000;
    start();
    welcome();
    assert_int_equal(send(master, "\1\5", 2, MSG_NOSIGNAL), 2);
    expect_closed();
    welcome();
}

static bool notify_number(uint64_t n)
{
    struct bj_buf b = {0};
    const struct bj_oid name = {1, {1}};
    bj_pdu_put_value(
        &b, &name, &(struct bj_value){.type = BJ_VALUE_COUNTER64, .number = n});
    return bj_session_notify(session, b);
}

/* Notifications wait for the master, 64 at most. */
static void notifications(void **state)
{
    (void)state;
    struct bj_pdu pdu;
    unsigned char bytes[MOST];
    start();
    session_accept();
    expect_pdu(BJ_PDU_OPEN, &pdu); /* it is not ready yet */
    for (uint64_t i = 0; i < 64; i++)
        assert_true(notify_number(i));
    assert_false(notify_number(64));
    welcome();
    for (unsigned i = 0; i < 64; i++) {
        assert_true(session_pdu(&pdu, bytes));
        assert_int_equal(pdu.type, BJ_PDU_NOTIFY);
        assert_int_equal(pdu.session, SESSION);
        assert_int_equal(bytes[pdu.length - 1], i);
        reply(&pdu, SESSION, i == 0 ? 268 : 0); /* a refusal is no end */
    }
    expect_served();
    assert_true(notify_number(65));
    expect_pdu(BJ_PDU_NOTIFY, &pdu);
    reply(&pdu, SESSION, 257); /* notOpen is */
    expect_closed();
}

static void *try_session(void *arg)
{
    struct bj_err *err = arg;
    return bj_session_try(&conf, err) == 0 ? arg : NULL;
}

static void tried(void **state)
{
    (void)state;
    struct bj_err err = {0};
    struct bj_pdu pdu;
    pthread_t thread;
    void *good;
    assert_int_equal(pthread_create(&thread, NULL, try_session, &err), 0);
    session_accept();
    expect_pdu(BJ_PDU_OPEN, &pdu);
    reply(&pdu, SESSION, 0);
    expect_pdu(BJ_PDU_CLOSE, &pdu); /* it registers nothing */
    pthread_join(thread, &good);
    assert_non_null(good);
    close(listener);
    assert_int_equal(bj_session_try(&conf, &err), -ECONNREFUSED);
    unlink(path);
    assert_int_equal(bj_session_try(&conf, &err), -ENOENT);
}

static void addresses(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        int want;
    } cases[] = {
        {"/var/agentx/master", 0},    {"tcp:127.0.0.1:705", 0},
        {"tcp:127.1.2.3:1", 0},       {"tcp:[::1]:705", 0},
        {"tcp:localhost:705", 0},     {"tcp:10.0.0.1:705", -EINVAL},
        {"tcp:[::2]:705", -EINVAL},   {"tcp:127.0.0.1", -EINVAL},
        {"tcp:127.0.0.1:0", -EINVAL}, {"tcp:127.0.0.1:65536", -EINVAL},
        {"tcp::705", -EINVAL},        {"tcp:::1:705", -EINVAL},
        {"127.0.0.1:705", -EINVAL},   {"udp:127.0.0.1:705", -EINVAL},
        {"var/agentx", -EINVAL},      {"", -EINVAL},
        {"tcp:0.0.0.0:705", -EINVAL},
    };
    char name[200];
    for (size_t i = 0; i < COUNT(cases); i++)
        if (bj_session_check(cases[i].address, NULL) != cases[i].want)
            fail_msg("'%s'", cases[i].address);
    memset(name, '/', sizeof(name));
    name[108] = '\0';
    assert_int_equal(bj_session_check(name, NULL), -EINVAL);
    name[107] = '\0';
    assert_int_equal(bj_session_check(name, NULL), 0);
}

int main(void)
{
#define MASTER(test)                                                           \
    cmocka_unit_test_setup_teardown(test, session_setup, session_teardown)
    const struct CMUnitTest tests[] = {
        MASTER(serves_and_closes),
        MASTER(late_and_restarted),
        MASTER(silent),
        MASTER(refused),
        MASTER(nonsense),
        MASTER(unfinished),
        MASTER(notifications),
        MASTER(tried),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
