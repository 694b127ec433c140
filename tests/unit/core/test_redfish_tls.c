/* Redfish over TLS: which certificates are trusted. The server is that of
 * openssl, with certificates that the test makes. */
#include "base/command.h"
#include "core/energy/meter.h"
#include "tests/unit/lib/core.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DOCUMENT(path, body)                                                   \
    "printf 'HTTP/1.0 200 OK\\r\\n\\r\\n%s' '" body "' >" path "\n"

static const char make_files[] =
    "set -e\n"
    "key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'\n"
    "cert() { # name alternative-name\n"
    "  openssl req -x509 $key -keyout $1.key -out $1.pem -days 2 -subj /CN=$1 "
    "-addext subjectAltName=$2\n"
    "}\n"
    "cert bmc IP:127.0.0.1\n"
    "cert elsewhere DNS:other.test,IP:127.0.0.2\n"
    "mkdir -p redfish/v1\n" DOCUMENT("redfish/v1/Chassis",
                                     "{\"Members\":[{\"@odata.id\":\"/one\"}]}")
        DOCUMENT("one", "{\"Power\":{\"@odata.id\":\"/power\"}}") DOCUMENT(
            "power", "{\"PowerControl\":[{\"PowerConsumedWatts\":344}]}");

static char dir[64], url[64], ca[96];
static pid_t server;

static void make_certificates(void)
{
    const char *const argv[] = {"sh", "-c", make_files, NULL};
    struct bj_command_result res = {0};
    struct bj_err err = {0};
    int r = bj_command_run(&(struct bj_command){.argv = argv, .dir = dir}, &res,
                           &err);
    if (r < 0)
        fail_msg("%s: %s", err.msg, res.error_output);
    bj_command_result_free(&res);
}

/* openssl prints where it listens: "ACCEPT 127.0.0.1:PORT". */
static void read_port(int fd)
{
    char buf[1024];
    size_t n = 0;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 20000), 1);
        ssize_t r = read(fd, buf + n, sizeof(buf) - 1 - n);
        assert_true(r > 0);
        n += (size_t)r;
        buf[n] = '\0';
        const char *at = strstr(buf, "ACCEPT 127.0.0.1:");
        if (!at || !strchr(at, '\n'))
            continue;
        snprintf(url, sizeof(url), "https://127.0.0.1:%.*s",
                 (int)strcspn(at + 17, "\n"), at + 17);
        return;
    }
}

static void serve(const char *name)
{
    char cert[96], key[96];
    int fd[2];
    snprintf(cert, sizeof(cert), "%s.pem", name);
    snprintf(key, sizeof(key), "%s.key", name);
    const char *argv[] = {"openssl", "s_server", "-accept", "127.0.0.1:0",
                          "-HTTP",   "-cert",    cert,      "-key",
                          key,       NULL};
    posix_spawn_file_actions_t fa;
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, fd[1], 1);
    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&fa, dir);
    int r = posix_spawnp(&server, argv[0], &fa, NULL,
                         (char *const *)(uintptr_t)argv, (char *[]){NULL});
    posix_spawn_file_actions_destroy(&fa);
    assert_int_equal(r, 0);
    close(fd[1]);
    read_port(fd[0]);
    /* Later output is not read, but must not end the server. */
    fcntl(fd[0], F_DUPFD_CLOEXEC, 100);
    close(fd[0]);
}

static void expect(const char *cert, bool insecure, int want)
{
    static atomic_bool stop;
    struct bj_energy_conf conf = {.timeout_usec = 10000000,
                                  .redfish_url = url,
                                  .redfish_insecure = insecure};
    const struct bj_meter_env env = {.conf = &conf, .stop = &stop};
    struct bj_meter_sample s = {0};
    struct bj_err err = {0};
    void *m = NULL;
    if (cert) {
        snprintf(ca, sizeof(ca), "%s/%s.pem", dir, cert);
        conf.redfish_ca_file = ca;
    }
    int r = bj_meter_redfish.open(&env, &m, &err);
    if (r != want)
        fail_msg("%s: %d instead of %d: %s", cert, r, want, err.msg);
    if (r < 0)
        return;
    assert_int_equal(bj_meter_redfish.read(m, &s, &err), 0);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.zone[0].power_uw, 344000000);
    bj_meter_redfish.close(m);
}

static void test_tls(void **state)
{
    (void)state;
    char openssl[256];
    if (bj_command_find("openssl", BJ_COMMAND_PATH, openssl, sizeof(openssl),
                        NULL) < 0)
        skip(); /* openssl is not installed */
    snprintf(dir, sizeof(dir), "%s", tmp_make());
    make_certificates();
    serve("bmc");
    expect("bmc", false, 0);
    expect(NULL, true, 0);
    expect(NULL, false, -EKEYREJECTED);        /* unknown authority */
    expect("elsewhere", false, -EKEYREJECTED); /* signed by another authority */
    expect("missing", false, -EACCES);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    serve("elsewhere");
    expect("elsewhere", false, -EKEYREJECTED); /* made for another name */
    expect("elsewhere", true, 0);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    tmp_gone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
