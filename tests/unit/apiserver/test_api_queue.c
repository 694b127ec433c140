/* Requests that wait: for one of the admins' query slots, or for memory for the
 * response. */
#include "tests/unit/apiserver/test_api_rig.h"

#include "apiserver/frame/room.h"
#include "tests/unit/lib/testclock.h"

static struct rig rig;

#define JOBS "/api/v1/jobs?from=0&fields=user"

static void fill(void)
{
    static const char *const users[] = {"ada", "boss"};
    struct bj_store *store = store_open(&rig.f);
    struct bj_upsert *u = upsert_open(store);
    assert_int_equal(bj_upsert_begin(u, NULL), 0);
    for (size_t i = 0; i < COUNT(users); i++) {
        struct bj_sched_job j;
        bj_sched_job_init(&j);
        j.batch_system = BJ_SLICE("slurm");
        j.jobid = bj_slice_str(i ? "2" : "1");
        j.user = j.group = j.account = bj_slice_str(users[i]);
        j.state = BJ_STATE_COMPLETED;
        j.submit_sec = j.start_sec = 1700000000;
        j.end_sec = 1700000100;
        assert_int_equal(bj_upsert_job(u, BJ_SLICE("hal"), &j, NULL), 0);
    }
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    bj_upsert_free(u);
    bj_store_close(store);
}

static bool contains(const char *text)
{
    return strstr(rig.response, text) != NULL;
}

static bool is_parked(void)
{
    pthread_mutex_lock(&rig.server.lock);
    bool parked = rig.server.parked.first != NULL;
    pthread_mutex_unlock(&rig.server.lock);
    return parked;
}

static void set_admin_slots(unsigned n)
{
    pthread_mutex_lock(&rig.server.lock);
    rig.server.admin_queries_max = n;
    pthread_mutex_unlock(&rig.server.lock);
}

/* Send a request of boss that waits for a slot. */
static int park_one(void)
{
    set_admin_slots(0);
    int fd = rig_send(&rig, "boss", JOBS, NULL);
    while (!is_parked())
        rig_pump(&rig);
    return fd;
}

/* When a query ends, a waiting request gets its slot. */
static void test_parked(void **state)
{
    (void)state;
    int fd = park_one();
    assert_int_equal(rig_request(&rig, "ada", JOBS, NULL), 200);
    assert_true(contains("\"ada\"") && !contains("\"boss\""));
    assert_true(is_parked());
    set_admin_slots(1);
    assert_int_equal(rig_request(&rig, "boss", JOBS "&limit=1", NULL), 200);
    assert_int_equal(rig_receive(&rig, fd), 200);
    assert_true(contains("\"ada\"") && contains("\"boss\""));
    assert_false(is_parked());
    assert_int_equal(rig.server.admin_queries, 0);
}

/* A waiting request uses the access rules of the time when it is processed. */
static void test_parked_reload(void **state)
{
    struct bj_api_conf *c = calloc(1, sizeof(*c));
    struct bj_err err = {0};
    char store[128];
    (void)state;
    snprintf(store, sizeof(store), "--store.path=%s", rig.f.path);
    char *argv[] = {store, store, (char *)"--access.trust-loopback",
                    (char *)"--access.admins=chief"};
    int fd = park_one();
    if (bj_api_conf_load(c, COUNT(argv), argv, &err) < 0 ||
        bj_server_reload(&rig.server, c, &err) < 0)
        fail_msg("%s", err.msg);
    set_admin_slots(1);
    assert_int_equal(rig_request(&rig, "chief", JOBS, NULL), 200);
    assert_true(contains("\"ada\"") && contains("\"boss\""));
    assert_int_equal(rig_receive(&rig, fd), 200);
    assert_true(!contains("\"ada\"") && contains("\"boss\""));
}

/* Does a request wait for memory? */
static bool is_waiting(void)
{
    pthread_mutex_lock(&rig.server.lock);
    bool waits = rig.server.room_waiters > 0 && rig.server.todo.first;
    pthread_mutex_unlock(&rig.server.lock);
    return waits;
}

static void fill_room(bool full)
{
    size_t all = bj_server_conf(&rig.server)->flight_bytes;
    if (full)
        __atomic_add_fetch(&rig.server.made_bytes, all, __ATOMIC_RELAXED);
    else
        __atomic_sub_fetch(&rig.server.made_bytes, all, __ATOMIC_RELAXED);
}

/* Send a request that waits for memory. */
static int wait_for_room(void)
{
    fill_room(true);
    int fd = rig_send(&rig, "ada", JOBS, NULL);
    while (!is_waiting())
        rig_pump(&rig);
    return fd;
}

static void test_room(void **state)
{
    (void)state;
    testclock_stop();
    int fd = wait_for_room();
    fill_room(false);
    assert_int_equal(rig_receive(&rig, fd), 200);
    fd = wait_for_room();
    testclock_advance(3000000);
    assert_int_equal(rig_receive(&rig, fd), 503);
    assert_true(contains("Retry-After: 1"));
    fill_room(false);
    assert_int_equal(rig_request(&rig, "ada", JOBS, NULL), 200);
    testclock_run();
}

static int enter(void **state)
{
    (void)state;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    bj_db_own_threads();
    fixture_open(&rig.f);
    fill();
    rig_open(&rig, "--web.threads=2");
    return 0;
}

static int leave(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parked),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_parked_reload),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
