/* The cache of user names, with a simulated database that counts lookups and
 * can fail. */
#include "core/find/users.h"

#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SEC(n) ((uint64_t)(n)*1000000)

struct db {
    int lookups, result;
    const char *prefix;
};

static int db_name(void *ctx, uid_t uid, char *buf, size_t cap)
{
    struct db *db = ctx;
    db->lookups++;
    if (db->result == 0)
        snprintf(buf, cap, "%s%u", db->prefix, (unsigned)uid);
    return db->result;
}

static struct bj_users *new_users(struct db *db)
{
    struct bj_userdb udb = {db, db_name};
    struct bj_users *u = bj_users_new(&udb);
    assert_non_null(u);
    return u;
}

static void test_keeps(void **state)
{
    (void)state;
    struct db db = {.prefix = "u"};
    struct bj_users *u = new_users(&db);
    char name[BJ_USER_NAME_CAP];
    for (int round = 0; round < 3; round++)
        for (uid_t uid = 0; uid < 1000; uid++) {
            char want[16];
            snprintf(want, sizeof(want), "u%u", (unsigned)uid);
            assert_int_equal(bj_users_name(u, uid, SEC(5), name), 0);
            assert_string_equal(name, want);
        }
    assert_int_equal(db.lookups, 1000);
    assert_int_equal(bj_users_count(u), 1000);
    /* a name is kept for an hour */
    assert_int_equal(bj_users_name(u, 7, SEC(5 + 3599), name), 0);
    assert_int_equal(db.lookups, 1000);
    db.prefix = "v";
    assert_int_equal(bj_users_name(u, 7, SEC(5 + 3600), name), 0);
    assert_int_equal(db.lookups, 1001);
    assert_string_equal(name, "v7");
    bj_users_free(u);
}

/* An unknown user is remembered for a minute. */
static void test_unknown_user(void **state)
{
    (void)state;
    struct db db = {.result = -ENOENT, .prefix = "late"};
    struct bj_users *u = new_users(&db);
    char name[BJ_USER_NAME_CAP];
    for (int s = 0; s < 60; s++)
        assert_int_equal(bj_users_name(u, 9, SEC(s), name), -ENOENT);
    assert_int_equal(db.lookups, 1);
    db.result = 0;
    assert_int_equal(bj_users_name(u, 9, SEC(60), name), 0);
    assert_string_equal(name, "late9");
    bj_users_free(u);
}

/* If the database fails, a known name stays. */
static void test_fails(void **state)
{
    (void)state;
    struct db db = {.result = -EIO, .prefix = "u"};
    struct bj_users *u = new_users(&db);
    char name[BJ_USER_NAME_CAP];
    assert_int_equal(bj_users_name(u, 1, SEC(0), name), -EIO);
    assert_int_equal(bj_users_name(u, 1, SEC(59), name), -EIO);
    assert_int_equal(db.lookups, 1);
    db.result = 0;
    assert_int_equal(bj_users_name(u, 1, SEC(60), name), 0);
    db.result = -EIO;
    assert_int_equal(bj_users_name(u, 1, SEC(60 + 3600), name), 0);
    assert_string_equal(name, "u1");
    assert_int_equal(db.lookups, 3);
    assert_int_equal(bj_users_name(u, 1, SEC(60 + 3659), name), 0);
    assert_int_equal(db.lookups, 3);
    /* but not if it reports that the user no longer exists */
    db.result = -ENOENT;
    assert_int_equal(bj_users_name(u, 1, SEC(60 + 3660), name), -ENOENT);
    bj_users_free(u);
}

static void test_bounded(void **state)
{
    (void)state;
    struct db db = {.prefix = "u"};
    struct bj_users *u = new_users(&db);
    char name[BJ_USER_NAME_CAP];
    for (uid_t uid = 0; uid < 3 * BJ_USERS_MAX; uid++) {
        assert_int_equal(bj_users_name(u, uid * 65536 + uid, 0, name), 0);
        assert_true(bj_users_count(u) <= BJ_USERS_MAX);
    }
    bj_users_free(u);
}

static void test_system(void **state)
{
    (void)state;
    struct bj_users *u = bj_users_new(&bj_userdb_system);
    char name[BJ_USER_NAME_CAP];
    assert_int_equal(bj_users_name(u, 0, 0, name), 0);
    assert_string_equal(name, "root");
    const struct passwd *me = getpwuid(geteuid());
    if (me) {
        assert_int_equal(bj_users_name(u, geteuid(), 0, name), 0);
        assert_string_equal(name, me->pw_name);
    }
    assert_int_equal(bj_users_name(u, 4123456789u, 0, name), -ENOENT);
    bj_users_free(u);
    bj_users_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps),  cmocka_unit_test(test_unknown_user),
        cmocka_unit_test(test_fails),  cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
