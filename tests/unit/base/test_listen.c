/* A host name with several addresses: the server listens on the first one that
 * this host has. */
#include "base/listen.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The addresses that getaddrinfo() returns in this test. */
static struct sockaddr_in6 foreign = {.sin6_family = AF_INET6};
static struct sockaddr_in ours = {.sin_family = AF_INET};
static struct addrinfo list[2];

int getaddrinfo(const char *name, const char *service,
                const struct addrinfo *hints, struct addrinfo **ret)
{
    (void)service;
    (void)hints;
    list[0] = (struct addrinfo){.ai_addr = (struct sockaddr *)&foreign,
                                .ai_addrlen = sizeof(foreign),
                                .ai_next = &list[1]};
    list[1] = (struct addrinfo){.ai_addr = (struct sockaddr *)&ours,
                                .ai_addrlen = sizeof(ours)};
    if (strcmp(name, "foreign") == 0)
        list[0].ai_next = NULL;
    *ret = list;
    return 0;
}

void freeaddrinfo(struct addrinfo *l)
{
    assert_ptr_equal(l, list);
}

static void test_second_address(void **state)
{
    char name[BJ_ADDRESS_MAX];
    struct bj_err err = {0};
    (void)state;
    /* For documentation (RFC 3849): no host has it. */
    inet_pton(AF_INET6, "2001:db8::1", &foreign.sin6_addr);
    inet_pton(AF_INET, "127.0.0.1", &ours.sin_addr);
    int fd = bj_listen_open("host:0", 1, &err);
    assert_true(fd >= 0);
    assert_memory_equal(bj_listen_name(fd, name), "127.0.0.1:", 10);
    close(fd);
    assert_true(bj_listen_open("foreign:0", 1, &err) < 0);
    assert_string_equal(err.msg, "cannot listen on 'foreign:0'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_second_address)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
