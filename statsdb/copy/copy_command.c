#include "statsdb/copy/copy.h"

#include "base/file.h"
#include "base/stamp.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Counts of equal rows by table; the rows of one day are reported table by
 * table. */
struct report {
    FILE *proof; /* or NULL */
    int n;
    struct {
        char name[BJ_COPY_NAME_BYTES];
        uint64_t rows, written;
    } table[BJ_COPY_NAMES];
};

static void command_put_day(int64_t day, char *ret, size_t size)
{
    struct bj_civil c = {0};
    if (day == BJ_SQL_NULL || day == 0) {
        snprintf(ret, size, "%s", day == 0 ? "unknown" : "");
        return;
    }
    bj_civil_from_days(day, &c);
    snprintf(ret, size, "%04d-%02u-%02u", c.year, c.month, c.day);
}

static int command_find(struct report *r, const char *table)
{
    int i = 0;
    while (i < r->n && strcmp(r->table[i].name, table) != 0)
        i++;
    if (i == r->n && i < BJ_COPY_NAMES)
        snprintf(r->table[r->n++].name, BJ_COPY_NAME_BYTES, "%s", table);
    return i;
}

static int on_equal(void *ctx, const struct bj_copy_equal *e,
                    struct bj_err *err)
{
    struct report *r = ctx;
    char day[32];
    int i = command_find(r, e->table);
    command_put_day(e->day, day, sizeof(day));
    if (i == BJ_COPY_NAMES)
        return bj_err_set(err, -E2BIG, "copy: too many tables");
    r->table[i].rows += e->sum.rows;
    r->table[i].written += e->written ? e->sum.rows : 0;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%-28s %-10s", e->table, day);
    if (r->proof &&
        fprintf(r->proof, "%s,%s,%llu,%llu,%016llx\n", e->table, day,
                (unsigned long long)e->sum.rows, (unsigned long long)e->sum.sum,
                (unsigned long long)e->sum.hash) < 0)
        return bj_err_set(err, -errno, "proof");
    return 0;
}

static int command_run(const struct bj_copy *what, struct report *r,
                       struct bj_err *err)
{
    int rc = bj_copy_store(what, err);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%40s\r", "");
    for (int i = 0; rc == 0 && i < r->n; i++)
        printf("%-20s %12llu rows equal, %llu of them written\n",
               r->table[i].name, (unsigned long long)r->table[i].rows,
               (unsigned long long)r->table[i].written);
    return rc;
}

int bj_copy_command(const struct bj_statsdb_conf *conf, const atomic_bool *stop,
                    struct bj_err *err)
{
    struct report r = {0};
    const struct bj_copy what = {.from = conf->copy_from,
                                 .to = conf->copy_to,
                                 .update = conf->copy_update,
                                 .stop = stop,
                                 .equal = on_equal,
                                 .ctx = &r};
    const char *proof = conf->copy_proof;
    if (!what.from || !*what.from || !what.to || !*what.to)
        return bj_err_set(err, -EINVAL,
                          "copy: --from=URL and --to=URL are required");
    if (proof && *proof && !(r.proof = fopen(proof, "we")))
        return bj_file_fail(err, -errno, "proof:", AT_FDCWD, proof, W_OK);
    if (r.proof)
        fputs("table,day,rows,sum,hash\n", r.proof);
    int rc = command_run(&what, &r, err);
    if (r.proof && fclose(r.proof) != 0 && rc == 0)
        rc = bj_err_set(err, -errno, "proof: %s", proof);
    return rc;
}

/* --- backup ----------------------------------------------------------------
 */

static int on_page(void *ctx, uint64_t done, uint64_t all)
{
    if (isatty(STDERR_FILENO) && all > 0)
        fprintf(stderr, "\r%3llu %%%s", (unsigned long long)(done * 100 / all),
                done == all ? "\n" : "");
    return atomic_load((const atomic_bool *)ctx) ? -EINTR : 0;
}

static int copy_file(const struct bj_statsdb_conf *conf, const char *to,
                     const atomic_bool *stop, struct bj_err *err)
{
    struct bj_store *store;
    int r = bj_store_open(
        &(struct bj_store_options){.path = conf->path,
                                   .read_only = true,
                                   .any_version = true,
                                   .any_filesystem = conf->any_filesystem,
                                   .cache_bytes = conf->cache_bytes},
        &store, err);
    if (r < 0)
        return r;
    r = bj_db_copy(bj_store_db(store), to, on_page, (void *)stop, err);
    if (r == -EINTR)
        bj_err_set(err, r, "backup: stopped; the incomplete copy was removed");
    bj_store_close(store);
    return r;
}

int bj_backup_command(const struct bj_statsdb_conf *conf, const char *file,
                      const atomic_bool *stop, struct bj_err *err)
{
    struct report r = {0};
    if (!file)
        return bj_err_set(err, -EINVAL, "backup: a file name is required");
    if (bj_db_is_file(conf->path))
        return copy_file(conf, file, stop, err);
    const struct bj_copy what = {.from = conf->path,
                                 .to = file,
                                 .stop = stop,
                                 .equal = on_equal,
                                 .ctx = &r};
    return bj_db_is_file(file) ? command_run(&what, &r, err)
                               : bj_err_set(err, -EINVAL,
                                            "backup: '%.60s' is not the name of"
                                            " a file; see copy",
                                            bj_db_shown(file));
}
