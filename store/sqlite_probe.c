#include "store/sqlite_probe.h"

#include "store/sqlite_impl.h"

/* The callbacks of the test, one of each kind. */
static struct {
    void (*begun)(const char *sql);
    void (*ended)(void *ctx, const struct bj_probe_cost *cost);
    void (*commit)(void), (*steps)(void);
} probe;

static int on_begin(unsigned what, void *ctx, void *st, void *text)
{
    (void)what;
    (void)ctx;
    (void)text;
    probe.begun(sqlite3_sql(st));
    return 0;
}

static int on_open(struct sqlite3 *db, const char **err, const void *api)
{
    (void)err;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, on_begin, NULL);
}

void bj_probe_all(void (*begun)(const char *sql))
{
    probe.begun = begun;
    sqlite3_auto_extension((void (*)(void))on_open);
}

static struct bj_probe_cost cost_of(struct sqlite3_stmt *st)
{
    return (struct bj_probe_cost){
        .steps = sqlite3_stmt_status(st, SQLITE_STMTSTATUS_VM_STEP, 0),
        .scans = sqlite3_stmt_status(st, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0),
        .sorts = sqlite3_stmt_status(st, SQLITE_STMTSTATUS_SORT, 0)};
}

void bj_probe_cost(struct bj_st *st, struct bj_probe_cost *ret)
{
    *ret = cost_of(((struct bj_sqlite_st *)st)->st);
}

static int on_ended(unsigned what, void *ctx, void *st, void *nanoseconds)
{
    const struct bj_probe_cost cost = cost_of(st);
    (void)what;
    (void)nanoseconds;
    probe.ended(ctx, &cost);
    return 0;
}

void bj_probe_ended(struct bj_db *db,
                    void (*ended)(void *ctx, const struct bj_probe_cost *cost),
                    void *ctx)
{
    probe.ended = ended;
    sqlite3_trace_v2(bj_sqlite_of(db)->db, SQLITE_TRACE_PROFILE, on_ended, ctx);
}

static int on_commit(void *ctx)
{
    (void)ctx;
    probe.commit();
    return 0;
}

static int on_steps(void *ctx)
{
    (void)ctx;
    probe.steps();
    return 0;
}

void bj_probe_commits(struct bj_db *db, void (*fn)(void))
{
    probe.commit = fn;
    sqlite3_commit_hook(bj_sqlite_of(db)->db, on_commit, NULL);
}

void bj_probe_steps(struct bj_db *db, int steps, void (*fn)(void))
{
    probe.steps = fn;
    sqlite3_progress_handler(bj_sqlite_of(db)->db, steps, on_steps, NULL);
}
