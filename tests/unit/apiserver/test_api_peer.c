/* Users of unix sockets: queries of a user database that hangs. */
#include "apiserver/access/peer.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { HANGING = 100, CLIENTS = 8, NOBODY = 99 };

/* A user database of the test: ids from HANGING on do not return until they are
 * released, NOBODY is unknown, any other has the name "user" and its id. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned asked, hanging;
    bool released;
} database = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .change = PTHREAD_COND_INITIALIZER};

int getpwuid_r(uid_t uid, struct passwd *entry, char *buf, size_t cap,
               struct passwd **ret)
{
    pthread_mutex_lock(&database.lock);
    database.asked++;
    if (uid >= HANGING) {
        database.hanging++;
        pthread_cond_broadcast(&database.change);
        while (!database.released)
            pthread_cond_wait(&database.change, &database.lock);
        database.hanging--;
        pthread_cond_broadcast(&database.change);
    }
    pthread_mutex_unlock(&database.lock);
    *ret = NULL;
    if (uid == NOBODY)
        return 0;
    snprintf(buf, cap, "user%u", (unsigned)uid);
    *entry = (struct passwd){.pw_name = buf, .pw_uid = uid};
    *ret = entry;
    return 0;
}

static struct bj_peer_names *names;

static void *client(void *ctx)
{
    char name[BJ_USER_BYTES];
    const unsigned *uid = ctx;
    int r = bj_peer_names_find(names, *uid, true, name);
    return (void *)(intptr_t)r;
}

/* While eight queries hang, each client has an answer, other ids are queried,
 * and the same id is not queried again.  The queries may end after all else.
 */
static void hanging(void **state)
{
    char name[BJ_USER_BYTES];
    pthread_t thread[CLIENTS];
    unsigned uid[CLIENTS];
    (void)state;
    names = bj_peer_names_new();
    assert_non_null(names);
    for (unsigned i = 0; i < CLIENTS; i++) {
        uid[i] = HANGING + i;
        assert_int_equal(pthread_create(&thread[i], NULL, client, &uid[i]), 0);
    }
    pthread_mutex_lock(&database.lock);
    while (database.hanging < CLIENTS)
        pthread_cond_wait(&database.change, &database.lock);
    pthread_mutex_unlock(&database.lock);
    assert_int_equal(bj_peer_names_find(names, 7, true, name), 0);
    assert_string_equal(name, "user7");
    for (unsigned i = 0; i < CLIENTS; i++) {
        void *r;
        assert_int_equal(pthread_join(thread[i], &r), 0);
        assert_int_equal((intptr_t)r, -ETIMEDOUT);
    }
    const unsigned asked = database.asked;
    for (unsigned i = 0; i < CLIENTS; i++)
        assert_int_equal(bj_peer_names_find(names, uid[i], true, name),
                         -ETIMEDOUT);
    assert_int_equal(database.asked, asked);
    assert_int_equal(bj_peer_names_find(names, 8, true, name), 0);
    assert_string_equal(name, "user8");
    bj_peer_names_free(names);
    pthread_mutex_lock(&database.lock);
    database.released = true;
    pthread_cond_broadcast(&database.change);
    while (database.hanging > 0)
        pthread_cond_wait(&database.change, &database.lock);
    pthread_mutex_unlock(&database.lock);
}

/* A name is kept; who may not wait gets only kept ones. */
static void kept(void **state)
{
    char name[BJ_USER_BYTES];
    (void)state;
    names = bj_peer_names_new();
    assert_non_null(names);
    assert_int_equal(bj_peer_names_find(names, 0, false, name), -EAGAIN);
    assert_int_equal(bj_peer_names_find(names, 0, true, name), 0);
    assert_string_equal(name, "user0");
    const unsigned asked = database.asked;
    assert_int_equal(bj_peer_names_find(names, 0, false, name), 0);
    assert_string_equal(name, "user0");
    /* 64 shares the place of 0 */
    assert_int_equal(bj_peer_names_find(names, 64, false, name), -EAGAIN);
    assert_int_equal(database.asked, asked);
    assert_int_equal(bj_peer_names_find(names, NOBODY, true, name), -ENOENT);
    bj_peer_names_free(names);
    bj_peer_names_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept),
        cmocka_unit_test(hanging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
