#include "tests/unit/lib/core.h"

#include "base/json.h"
#include "core/find/ident.h"
#include "sched/final_record.h"

#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int start_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                        void *arg, const char *name)
{
    struct rig *r = ctx;
    (void)name;
    r->threads++;
    return -pthread_create(ret, NULL, fn, arg);
}

/* Also called by threads of the core. */
static void keep_line(void *ctx, enum bj_log_level level, const char *msg)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct rig *r = ctx;
    const bool first = strncmp(msg, "batchjob ", 9) == 0;
    if (strstr(msg, "; needs CAP_")) /* the tests run as anyone */
        return;
    pthread_mutex_lock(&one_at_a_time);
    if (first)
        snprintf(r->start, sizeof(r->start), "%d %s\n", (int)level, msg);
    size_t n = strlen(r->log);
    if (!first)
        snprintf(r->log + n, sizeof(r->log) - n, "%d %s\n", (int)level, msg);
    pthread_mutex_unlock(&one_at_a_time);
}

void rig_start(struct rig *r, ...)
{
    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(&r->conf, sets);
    struct bj_err err = {0};
    *r = (struct rig){0};
    for (int i = 0; i < BJ_CONF_SETS; i++)
        assert_int_equal(bj_opt_presets(&sets[i], &err), 0);
    /* The test machine may have meters and a state file. */
    r->conf.collect[BJ_COLLECT_ENERGY] = false;
    assert_int_equal(bj_opt_set(sets, BJ_CONF_SETS,
                                BJ_SLICE("energy.state-file"), BJ_SLICE(""),
                                &err),
                     0);
    va_list ap;
    va_start(ap, r);
    const char *text;
    while ((text = va_arg(ap, const char *))) {
        struct bj_slice value = bj_slice_str(text), name;
        bj_slice_field(&value, '=', &name);
        if (bj_opt_set(sets, BJ_CONF_SETS, name, value, &err) < 0)
            fail_msg("%s", err.msg);
    }
    va_end(ap);
    for (int i = 0; i < BJ_CONF_SETS; i++)
        assert_int_equal(bj_opt_finish(&sets[i], &err), 0);
    struct bj_host host = {r, start_thread, keep_line, false};
    if (bj_core_new(&r->conf, &host, &r->core, &err) < 0)
        fail_msg("%s", err.msg);
}

void rig_stop(struct rig *r)
{
    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(&r->conf, sets);
    bj_snap_unref(r->snap);
    bj_core_free(r->core);
    for (int i = 0; i < BJ_CONF_SETS; i++)
        bj_opt_free(&sets[i]);
}

void rig_pass(struct rig *r)
{
    struct bj_err err = {0};
    bj_snap_unref(r->snap);
    r->snap = NULL;
    assert_int_equal(bj_core_pass(r->core, &r->snap, &err), 0);
}

const struct bj_job *rig_job(const struct rig *r, const char *jobid)
{
    const struct bj_job *jobs = r->snap->jobs.v;
    for (size_t i = 0; i < r->snap->jobs.n; i++)
        if (bj_slice_eq(jobs[i].ident->f[BJ_ID_JOBID], bj_slice_str(jobid)))
            return &jobs[i];
    return NULL;
}

static char root[64];

const char *tmp_make(void)
{
    snprintf(root, sizeof(root), "/tmp/bjtest.XXXXXX");
    assert_non_null(mkdtemp(root));
    return root;
}

static int unlink_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void remove_all(const char *path)
{
    nftw(path, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
}

void tmp_gone(void)
{
    remove_all(root);
}

static void full_path(const char *rel, char *path, size_t cap)
{
    snprintf(path, cap, "%s/%s", root, rel);
}

void tmp_dir(const char *rel)
{
    char path[1024];
    full_path(rel, path, sizeof(path));
    for (char *p = path + strlen(root) + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            mkdir(path, 0755);
            *p = '/';
        }
    mkdir(path, 0755);
}

void tmp_file(const char *rel, const char *text)
{
    char path[1024];
    full_path(rel, path, sizeof(path));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

void tmp_remove(const char *rel)
{
    char path[1024];
    full_path(rel, path, sizeof(path));
    remove_all(path);
}

void tmp_v2_job(const char *rel, unsigned long cpu_usec, unsigned long bytes,
                const char *pids)
{
    char name[1024], text[256];
    tmp_dir(rel);
    snprintf(name, sizeof(name), "%s/cgroup.procs", rel);
    tmp_file(name, pids);
    snprintf(name, sizeof(name), "%s/cpu.stat", rel);
    snprintf(text, sizeof(text),
             "usage_usec %lu\nuser_usec %lu\nsystem_usec 0\n", cpu_usec,
             cpu_usec);
    tmp_file(name, text);
    snprintf(name, sizeof(name), "%s/memory.current", rel);
    snprintf(text, sizeof(text), "%lu\n", bytes);
    tmp_file(name, text);
}

int rig_record(struct bj_arena *a, struct bj_slice text,
               const struct bj_json **ret, struct bj_err *err)
{
    int r = bj_json_parse(a, text, "record", NULL, ret, err);
    return r < 0 ? r : bj_final_record_check(*ret, "record", err);
}
