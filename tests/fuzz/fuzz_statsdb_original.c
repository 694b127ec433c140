/* statsdb/import/import.h: rows of the original's table (columns separated by
 * tabs, rows by 0x1e) are imported or left out, and a second import changes
 * nothing. */
#include "statsdb/import/import.h"
#include "store/db.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COLUMNS = 15 };

static struct bj_store *store;
static struct bj_db *from;
static char folder[32], path[64];

static void clean(void)
{
    static const char *const names[] = {
        "store.db", "store.db-wal", "store.db-shm", "store.db.lock", "from.db"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s/%s", folder, names[i]);
        unlink(name);
    }
    rmdir(folder);
}

static void open_once(void)
{
    char name[64];
    if (store)
        return;
    snprintf(folder, sizeof(folder), "/tmp/bj-fuzz-XXXXXX");
    setenv("TZ", "Europe/Paris", 1);
    MUST(mkdtemp(folder) != NULL);
    atexit(clean);
    snprintf(name, sizeof(name), "%s/store.db", folder);
    snprintf(path, sizeof(path), "%s/from.db", folder);
    MUST(bj_store_open(&(struct bj_store_options){.path = name}, &store,
                       NULL) == 0);
    MUST(bj_db_open(&(struct bj_db_options){.url = path, .create = true}, &from,
                    NULL) == 0);
    MUST(bj_db_exec(from,
                    "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; "
                    "CREATE TABLE jobs(id INTEGER"
                    " PRIMARY KEY, Jobid, Partition, Account, Grp, Gid, Usr,"
                    " Uid, Submit, Start, End, Elapsed, Exitcode, State,"
                    " Nnodes, Nodelist)",
                    NULL) == 0);
}

static void put_rows(struct bj_slice text)
{
    struct bj_st *st;
    MUST(bj_db_prepare(from,
                       "INSERT INTO jobs VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?,"
                       " ?, ?, ?, ?, ?, ?, ?)",
                       &st, NULL) == 0);
    for (unsigned rows = 0; text.n > 0 && rows < 20; rows++) {
        const char *end = memchr(text.p, 0x1e, text.n);
        struct bj_slice row = {text.p, end ? (size_t)(end - text.p) : text.n};
        text.p += row.n + (end != NULL);
        text.n -= row.n + (end != NULL);
        bj_st_clear(st);
        for (int i = 1; i <= COLUMNS && row.n > 0; i++) {
            const char *tab = memchr(row.p, '\t', row.n);
            size_t n = tab ? (size_t)(tab - row.p) : row.n;
            bj_st_bind_text(st, i, (struct bj_slice){row.p, n});
            row.p += n + (tab != NULL);
            row.n -= n + (tab != NULL);
        }
        MUST(bj_st_run(st, NULL) == 0);
    }
    bj_st_finalize(st);
}

static int64_t count(const char *sql)
{
    int64_t n = -1;
    MUST(bj_db_int(bj_store_db(store), sql, &n, NULL) == 0);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char sums[] =
        "SELECT ifnull(sum(jobs_ended + elapsed_sec), 0) FROM rollup_day";
    struct bj_import_counts n[2];
    int64_t jobs[2], sum[2];
    open_once();
    put_rows((struct bj_slice){(const char *)data, size});
    for (int i = 0; i < 2; i++) {
        const struct bj_import im = {.store = store};
        MUST(bj_import_original(&im, path, "c", &n[i], NULL) == 0);
        jobs[i] = count("SELECT count(*) FROM job");
        sum[i] = count(sums);
    }
    MUST(n[0].rows == n[1].rows && n[0].taken + n[0].known <= n[0].rows);
    MUST(jobs[0] == (int64_t)n[0].taken && jobs[1] == jobs[0]);
    MUST(n[1].taken == 0 && sum[0] == sum[1]);
    MUST(count("SELECT count(*) FROM pragma_foreign_key_check") == 0);
    MUST(bj_db_exec(bj_store_db(store),
                    "DELETE FROM job_more; DELETE FROM job;"
                    "DELETE FROM rollup_usage",
                    NULL) == 0);
    MUST(bj_db_exec(from, "DELETE FROM jobs", NULL) == 0);
    return 0;
}
