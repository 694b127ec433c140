/* Rate limits of users, and the mapping of certificates to users. */
#include "apiserver/access/certs.h"
#include "apiserver/access/limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t take(struct bj_limit *l, unsigned user, uint64_t now)
{
    char name[32];
    snprintf(name, sizeof(name), "user%u", user);
    return bj_limit_take(l, bj_slice_str(name), 100000, 3, now);
}

/* As many users as fit in one slot: all buckets are kept with any hash seed. */
static void users(void **state)
{
    struct bj_limit *l;
    uint64_t now = 1000000000;
    (void)state;
    assert_int_equal(bj_limit_new(&l, NULL), 0);
    for (int i = 0; i < 3; i++)
        for (unsigned u = 0; u < 4; u++)
            assert_int_equal(take(l, u, now), 0);
    for (unsigned u = 0; u < 4; u++)
        assert_int_equal(take(l, u, now), 100000);
    assert_int_equal(take(l, 2, now + 100000), 0);
    assert_int_equal(take(l, 2, now + 100000), 100000);
    bj_limit_free(l);
}

/* Users are assigned to slots at random.  With 500 users, a slot gets five
 * users in one of seven runs, and the fifth replaces one of the others.  Ten
 * such slots have a probability of 1e-15. */
static void many_users(void **state)
{
    struct bj_limit *l;
    uint64_t now = 1000000000;
    unsigned refused = 0;
    (void)state;
    assert_int_equal(bj_limit_new(&l, NULL), 0);
    for (int i = 0; i < 3; i++)
        for (unsigned u = 0; u < 500; u++)
            assert_int_equal(take(l, u, now), 0);
    for (unsigned u = 0; u < 500; u++) {
        uint64_t wait = take(l, u, now);
        assert_true(wait == 0 || wait == 100000);
        refused += wait != 0;
    }
    assert_in_range(refused, 440, 500);
    /* 100,000 other users send requests: none is refused.  A user at the limit
     * may be forgotten, but is not refused for longer. */
    for (unsigned u = 1000; u < 101000; u++)
        assert_int_equal(take(l, u, now), 0);
    assert_int_equal(take(l, 8, now + 3600 * (uint64_t)1000000), 0);
    bj_limit_free(l);
}

#define ALICE "subject:CN=alice,O=hpc\0cn:alice\0email:alice@hpc.example\0"

static void certificates(void **state)
{
    static const struct {
        const char *lines[3];
        const char *names;
        size_t n;
        int r;
        const char *user;
    } cases[] = {
        {{"cn:* *"}, ALICE, sizeof(ALICE) - 1, 0, "alice"},
        {{"email:*@hpc.example *"}, ALICE, sizeof(ALICE) - 1, 0, "alice"},
        {{"dns:x grafana", "cn:alice bob"}, ALICE, sizeof(ALICE) - 1, 0, "bob"},
        {{"subject:CN=alice,O=hpc root"}, ALICE, sizeof(ALICE) - 1, 0, "root"},
        {{"subject:CN=*,O=hpc *"}, ALICE, sizeof(ALICE) - 1, 0, "alice"},
        {{"cn:alic x"}, ALICE, sizeof(ALICE) - 1, -ENOENT, NULL},
        {{"cn:alice* *"}, ALICE, sizeof(ALICE) - 1, -ENOENT, NULL},
        {{"dns:* *"}, ALICE, sizeof(ALICE) - 1, -ENOENT, NULL},
        {{NULL}, ALICE, sizeof(ALICE) - 1, -ENOENT, NULL},
        {{"cn:* *"}, "", 0, -ENOENT, NULL},
        /* two names match one line */
        {{"dns:*.x *"}, "dns:a.x\0dns:b.x\0", 16, -EINVAL, NULL},
        {{"dns:*.x *"}, "dns:a.x\0dns:a.x\0", 16, 0, "a"},
        {{"dns:*.x g"}, "dns:a.x\0dns:b.x\0", 16, 0, "g"},
        /* the text of a name does not change its kind */
        {{"cn:* *"}, "email:cn:root\0", 14, -ENOENT, NULL},
        {{"cn:* *"},
         "cn:0123456789012345678901234567890123456789012345678901234567890123"
         "\0",
         68,
         -EINVAL,
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bj_strv lines = {(char **)(uintptr_t)cases[i].lines, 0};
        struct bj_certs *c;
        char user[BJ_USER_BYTES];
        while (cases[i].lines[lines.n])
            lines.n++;
        assert_int_equal(bj_certs_new(&lines, &c, NULL), 0);
        int r = bj_certs_match(c, (struct bj_slice){cases[i].names, cases[i].n},
                               user);
        assert_int_equal(r, cases[i].r);
        if (r == 0)
            assert_string_equal(user, cases[i].user);
        bj_certs_free(c);
    }
}

static void wrong_lines(void **state)
{
    static const char *const bad[] = {
        "",         "alice",  "cn:alice",    "cn: alice", "name:x alice",
        "cn:*.* *", "cn:x *", "cn:x al'ice", ": x",       "cn:a b c'"};
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        char *line[] = {(char *)(uintptr_t)bad[i]};
        struct bj_strv lines = {line, 1};
        struct bj_certs *c;
        struct bj_err err = {0};
        assert_int_equal(bj_certs_new(&lines, &c, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "access.certificates"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users), cmocka_unit_test(many_users),
        cmocka_unit_test(certificates), cmocka_unit_test(wrong_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
