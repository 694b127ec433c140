#include "tests/unit/lib/fakejob.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SEC ((uint64_t)1000000)
enum { JOB_UID = 12345 };

char fake_root[64], fake_user[16], fake_uid_text[16];
uid_t fake_uid;

/* --- processes and directories ------------------------------------------- */

static pid_t children[64];
static size_t nchildren;

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

int fake_setup(void **state)
{
    (void)state;
    fake_uid = geteuid() == 0 ? JOB_UID : geteuid();
    snprintf(fake_uid_text, sizeof(fake_uid_text), "%u", (unsigned)fake_uid);
    snprintf(fake_user, sizeof(fake_user), "u%u", (unsigned)fake_uid);
    snprintf(fake_root, sizeof(fake_root), "/tmp/bj-resolver-XXXXXX");
    return mkdtemp(fake_root) && chmod(fake_root, 0755) == 0 ? 0 : -1;
}

int fake_teardown(void **state)
{
    (void)state;
    while (nchildren > 0) {
        pid_t pid = children[--nchildren];
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    return nftw(fake_root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fake_path(const char *rel, char path[PATH_CAP])
{
    snprintf(path, PATH_CAP, "%s/%s", fake_root, rel);
    return path;
}

void fake_dir(const char *rel)
{
    char path[PATH_CAP];
    fake_path(rel, path);
    for (char *p = path + strlen(fake_root) + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0755);
            *p = '/';
        }
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}

void fake_append(const char *rel, const char *text)
{
    char path[PATH_CAP];
    int fd = open(fake_path(rel, path),
                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

void fake_join(const char *rel, pid_t pid)
{
    char file[PATH_CAP], line[16];
    fake_dir(rel);
    snprintf(file, sizeof(file), "%s/cgroup.procs", rel);
    snprintf(line, sizeof(line), "%d\n", (int)pid);
    fake_append(file, line);
}

pid_t fake_start(const char *program, const char *argv0, uid_t uid,
                 const char *const env[])
{
    static const char *const none[] = {NULL};
    const char *const argv[] = {argv0, "600", NULL};
    int ready[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        /* 1000 groups make /proc/PID/status long. */
        gid_t groups[1000];
        for (unsigned i = 0; i < COUNT(groups); i++)
            groups[i] = 1234500000 + i;
        if (geteuid() == 0 && uid != 0 &&
            (setgroups(COUNT(groups), groups) || setresgid(uid, uid, uid) ||
             setresuid(uid, uid, uid)))
            _exit(126);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setresuid, which resets it */
        execve(program, (char *const *)argv, (char *const *)(env ? env : none));
        _exit(127);
    }
    close(ready[1]);
    char c;
    assert_int_equal(read(ready[0], &c, 1), 0);
    close(ready[0]);
    assert_true(nchildren < COUNT(children));
    children[nchildren++] = pid;
    return pid;
}

static void copy_file(const char *from, const char *to)
{
    static char buf[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    assert_true(in >= 0 && out >= 0);
    ssize_t n;
    while ((n = read(in, buf, sizeof(buf))) > 0)
        assert_int_equal(write(out, buf, (size_t)n), n);
    assert_int_equal(fchmod(out, 0755), 0);
    close(in);
    close(out);
}

/* A copy of sleep(1) named slurmstepd, with a title like that of slurmstepd. */
pid_t fake_stepd(const char *title)
{
    char path[PATH_CAP];
    fake_dir("bin");
    fake_path("bin/slurmstepd", path);
    if (access(path, X_OK) != 0)
        copy_file("/bin/sleep", path);
    return fake_start(path, title, geteuid(), NULL);
}

/* --- the resolver --------------------------------------------------------- */

struct trampoline {
    struct fake_threads *threads;
    void *(*fn)(void *);
    void *arg;
};

static pthread_mutex_t ends_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ends = PTHREAD_COND_INITIALIZER; /* a thread has ended */

static void *jump(void *arg)
{
    struct trampoline t = *(struct trampoline *)arg;
    free(arg);
    t.fn(t.arg);
    pthread_mutex_lock(&ends_lock);
    atomic_fetch_sub(&t.threads->running, 1);
    pthread_cond_broadcast(&ends);
    pthread_mutex_unlock(&ends_lock);
    return NULL;
}

void fake_threads_wait(void)
{
    struct timespec until;
    int r = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&ends_lock);
    while (r == 0 && atomic_load(&fake_threads.running) > 0)
        r = pthread_cond_timedwait(&ends, &ends_lock, &until);
    pthread_mutex_unlock(&ends_lock);
    assert_int_equal(r, 0);
}

int fake_thread_start(void *ctx, pthread_t *ret, void *(*fn)(void *), void *arg,
                      const char *name)
{
    struct fake_threads *threads = ctx;
    assert_true(strlen(name) < 16);
    if (threads->fail)
        return threads->fail;
    struct trampoline *t = malloc(sizeof(*t));
    *t = (struct trampoline){threads, fn, arg};
    atomic_fetch_add(&threads->running, 1);
    return -pthread_create(ret, NULL, jump, t);
}

int fake_user_name(void *ctx, uid_t uid, char *buf, size_t cap)
{
    (void)ctx;
    snprintf(buf, cap, "u%u", (unsigned)uid);
    return 0;
}

const struct bj_userdb fake_users = {NULL, fake_user_name};

struct fake_threads fake_threads;
static char proc_dir[] = "/proc", jobs_dir[PATH_CAP];
static char *job_dirs[] = {jobs_dir};
struct bj_conf fake_conf;

struct bj_resolver *fake_resolver(const struct bj_userdb *db)
{
    const struct bj_host host = {.ctx = &fake_threads,
                                 .thread = fake_thread_start};
    fake_conf = (struct bj_conf){.procfs = proc_dir,
                                 .label_user = true,
                                 .label_account = true,
                                 .job_files = {job_dirs, 1}};
    fake_path("jobs", jobs_dir);
    fake_dir("jobs");
    struct bj_resolver *r = NULL;
    struct bj_err err = {0};
    assert_int_equal(bj_resolver_new_with(&fake_conf, &host, db, 0, &r, &err),
                     0);
    return r;
}

struct bj_ident_request *fake_request(struct bj_resolver *r,
                                      struct ident_query q)
{
    char path[PATH_CAP];
    struct bj_ident_query query = {
        .f = {[BJ_ID_SYSTEM] = bj_slice_str(q.system),
              [BJ_ID_JOBID] = bj_slice_str(q.jobid),
              [BJ_ID_SLUID] = bj_slice_str(q.sluid),
              [BJ_ID_UID] = bj_slice_str(q.uid),
              [BJ_ID_USER] = bj_slice_str(q.user)}};
    if (q.dir) /* not the first: that controller has no directory */
        query.dirs[1] = bj_slice_str(fake_path(q.dir, path));
    query.dirs[0] = (struct bj_slice){"/nonexistent", 12};
    struct bj_ident_request *a = bj_resolver_submit(r, &query);
    assert_non_null(a);
    return a;
}

struct bj_ident *fake_wait(struct bj_resolver *r, struct bj_ident_request *a)
{
    bj_resolver_wait(r, bj_clock_boot_usec() + 20 * SEC);
    struct bj_ident *id = bj_ident_request_result(a);
    assert_non_null(id);
    bj_ident_request_drop(a);
    return id;
}

void fake_check_field(const struct bj_ident *id, enum bj_ident_field f,
                      const char *want)
{
    assert_string_equal(id->f[f].p, want);
}

struct bj_ident *fake_resolve(struct ident_query q, uint64_t want_faults)
{
    struct bj_resolver *r = fake_resolver(&fake_users);
    struct bj_ident *id = fake_wait(r, fake_request(r, q));
    struct bj_resolver_stat st;
    struct bj_err err;
    bj_resolver_stat(r, &st);
    if (st.faults != want_faults && bj_resolver_fault(r, &err))
        print_message("fault: %s\n", err.msg);
    assert_int_equal(st.faults, want_faults);
    assert_int_equal(st.answered, 1);
    assert_int_equal(st.waiting, 0);
    bj_resolver_free(r);
    assert_int_equal(atomic_load(&fake_threads.running), 0);
    return id;
}

const char *const fake_env_7[] = {
    "SLURM_JOB_ID=7",        "SLURM_JOB_ACCOUNT=physics", "SLURM_JOB_NAME=sim",
    "SLURM_JOB_UID=1",       "SLURM_JOB_USER=mallory",    "USER=mallory",
    "SLURM_JOB_PARTITION=p", "SLURM_JOB_QOS=q",           NULL};
