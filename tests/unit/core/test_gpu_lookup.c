/* Lookup of the GPUs that jobs claim, with a process that blocks its
 * readers. */
#include "tests/unit/core/test_gpu.h"

#include "core/gpu/lookup.h"
#include "tests/unit/lib/await.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

enum { MSEC = 1000, STUCK = 2000 * MSEC, JOBS = 6 };

static const char *dir;
static char logged[2048];
static pthread_mutex_t logged_lock = PTHREAD_MUTEX_INITIALIZER;

/* The number of running threads of the core. */
static atomic_uint running;

struct call {
    void *(*fn)(void *);
    void *arg;
};

static void *run(void *arg)
{
    struct call call = *(struct call *)arg;
    free(arg);
    void *ret = call.fn(call.arg);
    atomic_fetch_sub(&running, 1);
    return ret;
}

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    (void)ctx;
    (void)name;
    struct call *call = malloc(sizeof(*call));
    assert_non_null(call);
    *call = (struct call){fn, arg};
    atomic_fetch_add(&running, 1);
    return -pthread_create(ret, NULL, run, call);
}

static void keep(void *ctx, enum bj_log_level level, const char *msg)
{
    (void)ctx;
    (void)level;
    pthread_mutex_lock(&logged_lock);
    size_t n = strlen(logged);
    snprintf(logged + n, sizeof(logged) - n, "%s\n", msg);
    pthread_mutex_unlock(&logged_lock);
}

/* Create a process of a job. If it is stuck, reading its environment blocks
 * until the file is written. */
static void process(unsigned job, bool stuck)
{
    char name[64], path[256], text[64];
    snprintf(name, sizeof(name), "cg/job_%u", job);
    tmp_dir(name);
    snprintf(name, sizeof(name), "cg/job_%u/cgroup.procs", job);
    snprintf(text, sizeof(text), "%u\n", 1000 + job);
    tmp_file(name, text);
    snprintf(name, sizeof(name), "%u", 1000 + job);
    tmp_dir(name);
    snprintf(name, sizeof(name), "%u/environ", 1000 + job);
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (stuck) {
        assert_int_equal(mkfifo(path, 0600), 0);
        return;
    }
    int n = snprintf(text, sizeof(text), "SLURM_JOB_ID=%u%cSLURM_JOB_GPUS=%u",
                     job, 0, job);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fwrite(text, 1, (size_t)n + 1, f);
    fclose(f);
}

static struct bj_gpu_request *submit(struct bj_gpu_lookup *a, unsigned job)
{
    char id[16], path[256];
    snprintf(id, sizeof(id), "%u", job);
    snprintf(path, sizeof(path), "%s/cg/job_%u", dir, job);
    const struct bj_gpu_query q = {
        .system = BJ_SLICE("slurm"), .jobid = bj_slice_str(id), .dirs = {path}};
    struct bj_gpu_request *ret = bj_gpu_lookup_submit(a, &q);
    assert_non_null(ret);
    return ret;
}

static void wait_result(struct bj_gpu_lookup *a, struct bj_gpu_request *q,
                        struct bj_gpu_claim *ret)
{
    static struct bj_gpu_note notes[BJ_GPU_NOTES_MAX];
    AWAIT_STEP(bj_gpu_lookup_notes(a, notes), bj_gpu_request_result(a, q, ret));
    bj_gpu_request_drop(a, q);
}

/* The lookups of jobs 1 and 3 block and fail, the others succeed. */
static void test_stuck(void **state)
{
    static struct bj_gpu_claim c;
    const struct bj_host host = {NULL, start_thread, keep, false};
    const struct bj_strv none = {0};
    struct bj_gpu_lookup *a;
    struct bj_gpu_request *q[JOBS];
    char path[256];
    (void)state;
    dir = tmp_make();
    const struct bj_gpu_lookup_conf conf = {
        .procfs = dir, .note_dirs = &none, .stuck_usec = STUCK};
    assert_int_equal(bj_gpu_lookup_new(&conf, &host, &a), 0);
    for (unsigned i = 0; i < JOBS; i++) {
        process(i, i == 1 || i == 3);
        q[i] = submit(a, i);
    }
    for (unsigned i = 0; i < JOBS; i++) {
        bool stuck = i == 1 || i == 3;
        wait_result(a, q[i], &c);
        assert_int_equal(c.failed, stuck);
        assert_int_equal(c.environ, !stuck);
    }
    pthread_mutex_lock(&logged_lock);
    assert_non_null(strstr(logged, "job 1,"));
    assert_non_null(strstr(logged, "job 3,"));
    pthread_mutex_unlock(&logged_lock);
    bj_gpu_lookup_free(a);
    /* The blocked threads end when their files are written. */
    for (unsigned i = 1; i <= 3; i += 2) {
        snprintf(path, sizeof(path), "%s/%u/environ", dir, 1000 + i);
        close(open(path, O_WRONLY));
    }
    AWAIT(atomic_load(&running) == 0);
    tmp_gone();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stuck)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
