/* What importing sacct's text into the store costs: tests/bench/statsdb.sh.
 *
 * statsdb_load STORE FILE bulk|window|pbs|lsf      STORE: a file or a URL
 *
 * Reads FILE ('|' between columns) through the reader, dictionaries, rollups
 * and indexes of the daemon, as bulk history or as a window of new jobs, and
 * prints one line of figures.  pbs and lsf: FILE is an accounting file for
 * statsdb/source/source_follow.h; prints nothing. */
#include "base/clock.h"
#include "sched/sacct.h"
#include "statsdb/import/upsert.h"
#include "statsdb/source/source_follow.h"
#include "store/db.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BATCH = 50000, PIECE = 1 << 16 };

struct load {
    struct bj_upsert *upsert;
    unsigned n;
    uint64_t bad;
};

static int job(void *ctx, const struct bj_sched_job *job, struct bj_err *err)
{
    struct load *l = ctx;
    int r = l->n == 0 ? bj_upsert_begin(l->upsert, err) : 0;
    if (r == 0)
        r = bj_upsert_job(l->upsert, BJ_SLICE("bench"), job, err);
    l->n += 1 + job->steps;
    if (r == 0 && l->n >= BATCH) {
        r = bj_upsert_commit(l->upsert, err);
        l->n = 0;
    }
    return r;
}

static void bad(void *ctx, const struct bj_sacct_bad *b)
{
    (void)b;
    ((struct load *)ctx)->bad++;
}

static int feed(int fd, struct bj_sacct *reader, struct bj_err *err)
{
    char buf[PIECE];
    ssize_t n;
    int r = 0;
    while (r == 0 && (n = read(fd, buf, sizeof(buf))) > 0)
        r = bj_sacct_feed(reader, (struct bj_slice){buf, (size_t)n}, err);
    return r;
}

static double sec(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void report(const struct load *l, const struct bj_sacct *reader,
                   const char *path, uint64_t since)
{
    const struct bj_upsert_counts *c = bj_upsert_counts(l->upsert);
    uint64_t lines = bj_sacct_counts(reader)->lines;
    struct rusage u;
    struct stat st;
    getrusage(RUSAGE_SELF, &u);
    if (stat(path, &st) < 0)
        st.st_size = 0;
    double wall = (double)(bj_clock_boot_usec() - since) / 1e6;
    double cpu = sec(u.ru_utime) + sec(u.ru_stime);
    double n = lines ? (double)lines : 1;
    printf("lines=%llu jobs_new=%llu jobs_changed=%llu jobs_same=%llu "
           "steps_new=%llu steps_changed=%llu steps_same=%llu bad=%llu "
           "wall_s=%.3f cpu_s=%.3f us_line=%.3f lines_s=%.0f rss_mib=%.1f "
           "file_bytes=%llu\n",
           (unsigned long long)lines, (unsigned long long)c->jobs_new,
           (unsigned long long)c->jobs_changed,
           (unsigned long long)c->jobs_same, (unsigned long long)c->steps_new,
           (unsigned long long)c->steps_changed,
           (unsigned long long)c->steps_same, (unsigned long long)l->bad, wall,
           cpu, cpu / n * 1e6, n / wall, (double)u.ru_maxrss / 1024,
           (unsigned long long)st.st_size);
}

static int load(const char *path, int fd, bool bulk, struct bj_err *err)
{
    uint64_t since = bj_clock_boot_usec();
    struct bj_store *store;
    struct load l = {0};
    struct bj_sacct *reader = NULL;
    struct bj_sacct_conf conf = {.ctx = &l, .job = job, .bad = bad};
    int r =
        bj_store_open(&(struct bj_store_options){.path = path}, &store, err);
    if (r < 0)
        return r;
    r = bj_upsert_new(store, &l.upsert, err);
    if (r == 0)
        r = bj_upsert_bulk(l.upsert, bulk, err);
    if (r == 0)
        r = bj_sacct_new(&conf, &reader, err);
    if (r == 0)
        r = feed(fd, reader, err);
    if (r == 0)
        r = bj_sacct_end(reader, true, err);
    if (r == 0 && l.n > 0)
        r = bj_upsert_commit(l.upsert, err);
    if (r == 0 && bj_db_is_file(path))
        r = bj_db_exec(bj_store_db(store), "PRAGMA wal_checkpoint(TRUNCATE)",
                       err);
    if (r == 0)
        report(&l, reader, path, since);
    bj_sacct_free(reader);
    bj_upsert_free(l.upsert);
    bj_store_close(store);
    return r;
}

/* Import accounting files of PBS or LSF. */
static int follow(const char *path, const char *files, enum bj_follow_kind kind,
                  struct bj_err *err)
{
    struct bj_store *store;
    struct bj_source_run run = {.batch_lines = BATCH};
    struct bj_source_follow *f = NULL;
    struct bj_sacct_counts n;
    int r =
        bj_store_open(&(struct bj_store_options){.path = path}, &store, err);
    if (r < 0)
        return r;
    r = bj_upsert_new(store, &run.upsert, err);
    if (r == 0)
        r = bj_source_follow_new(kind, "bench", files, store, &f, err);
    if (r == 0)
        r = bj_source_follow_run(f, &run, false, &n, err);
    bj_source_follow_free(f);
    bj_upsert_free(run.upsert);
    bj_store_close(store);
    return r;
}

int main(int argc, char **argv)
{
    struct bj_err err = {0};
    char text[400];
    if (argc != 4) {
        fprintf(stderr, "usage: statsdb_load STORE FILE bulk|window|pbs|lsf\n");
        return 2;
    }
    bj_db_single_thread();
    int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        perror(argv[2]);
        return 1;
    }
    const char *how = argv[3];
    int r = strcmp(how, "pbs") == 0
                ? follow(argv[1], argv[2], BJ_FOLLOW_PBS, &err)
            : strcmp(how, "lsf") == 0
                ? follow(argv[1], argv[2], BJ_FOLLOW_LSF, &err)
                : load(argv[1], fd, strcmp(how, "bulk") == 0, &err);
    if (r < 0)
        fprintf(stderr, "%s\n", bj_err_text(&err, text, sizeof(text)));
    close(fd);
    return r < 0;
}
