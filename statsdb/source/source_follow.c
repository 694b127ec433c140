#include "statsdb/source/source_follow.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "sched/lsf.h"
#include "sched/pbs.h"
#include "statsdb/import/covered.h"
#include "statsdb/tables/fragment.h"
#include "store/db.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK = 2 << 20, /* longer lines are skipped; more new bytes are imported in
                        bulk mode */
    BATCH = 8 << 20, /* bytes of a transaction */
    HEAD = 64 << 10, /* limit for the first line */
    FILES_MAX = 100000, /* maximum number of files of a directory */
};

/* A file of the list, and its state when it was last read to its end. */
struct file {
    char name[NAME_MAX + 1];
    uint64_t order; /* the day; for lsb.acct.N a falling number */
    bool done;
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec mtime;
};

struct bj_source_follow {
    enum bj_follow_kind kind;
    struct bj_slice cluster;
    const char *cluster_name;
    char dir[PATH_MAX], base[NAME_MAX + 1]; /* base: of LSF */
    struct bj_store *store;
    /* only one of the two is used; kept between files */
    struct bj_pbs_acct *pbs;
    struct bj_lsf_acct *lsf;
    struct file *file;
    size_t files;
    char *chunk;

    /* for one call of bj_source_follow_run */
    const struct bj_source_run *run;
    char path[PATH_MAX + NAME_MAX + 2]; /* of the file that is read */
    struct bj_sacct_counts counts;
    bool dry, open;
};

static const char *const source_names[BJ_FOLLOWS] = {
    [BJ_FOLLOW_PBS] = "pbs.accounting", [BJ_FOLLOW_LSF] = "lsf.acct"};

/* --- readers ---------------------------------------------------------------
 */

static int follow_take_job(void *ctx, const struct bj_sched_job *job,
                           struct bj_err *err)
{
    struct bj_source_follow *f = ctx;
    f->counts.jobs++;
    return bj_upsert_job(f->run->upsert, f->cluster, job, err);
}

static void follow_take_bad(struct bj_source_follow *f,
                            const struct bj_sacct_bad *bad)
{
    if (bad->line_left_out)
        f->counts.bad_lines++;
    else
        f->counts.bad_fields++;
    if (f->run->bad)
        f->run->bad(f->run->ctx, bad);
}

static void bad_pbs(void *ctx, const struct bj_pbs_bad *b)
{
    struct bj_source_follow *f = ctx;
    follow_take_bad(f,
                    &(struct bj_sacct_bad){b->line, b->job, b->field, b->value,
                                           b->expected, b->left_out, f->path});
}

static void bad_lsf(void *ctx, const struct bj_lsf_bad *b)
{
    struct bj_source_follow *f = ctx;
    follow_take_bad(f,
                    &(struct bj_sacct_bad){b->line, b->job, b->field, b->value,
                                           b->expected, b->left_out, f->path});
}

static void close_reader(struct bj_source_follow *f)
{
    bj_pbs_acct_free(f->pbs);
    bj_lsf_acct_free(f->lsf);
    f->pbs = NULL;
    f->lsf = NULL;
}

/* PBS writes local time of its server, which is assumed to be that of this
 * machine. */
static int local_offset(void *ctx, uint64_t local_sec)
{
    const time_t as_utc = (time_t)local_sec;
    struct tm tm;
    (void)ctx;
    if (!gmtime_r(&as_utc, &tm))
        return 0;
    tm.tm_isdst = -1;
    return mktime(&tm) == (time_t)-1 ? 0 : (int)(tm.tm_gmtoff / 60);
}

static uint64_t follow_seconds(struct bj_st *st, const char *column)
{
    const int64_t v = bj_st_i64(st, column);
    return v < 0 ? BJ_ABSENT : (uint64_t)v; /* BJ_SQL_NULL is less */
}

/* Later records of jobs that wait or run do not repeat what earlier ones said.
 */
static int recall_open(struct bj_source_follow *f, struct bj_err *err)
{
    struct bj_st *st;
    int r = bj_db_prepare(
        bj_store_db(f->store),
        "SELECT j.jobid, " BJ_SQL_SUBMIT
        " AS submit, j.start, j.suspended, j.state, (SELECT count(*) FROM"
        " job_size AS z WHERE z.job = j.id) AS sizes FROM job AS j JOIN"
        " cluster AS c ON c.id = j.cluster WHERE c.name = ?1 AND c.system ="
        " 'pbs' AND j.\"end\" IS NULL AND j.state IN (1, 2, 3) ORDER BY"
        " j.submit",
        &st, err);
    if (r < 0)
        return r;
    bj_st_bind_text(st, 1, f->cluster);
    while ((r = bj_st_row(st, err)) > 0) {
        const struct bj_pbs_open open = {
            .id = bj_st_text(st, "jobid"),
            .submit_sec = follow_seconds(st, "submit"),
            .start_sec = follow_seconds(st, "start"),
            .suspended_sec = follow_seconds(st, "suspended"),
            .suspended = bj_st_i64(st, "state") == BJ_STATE_SUSPENDED,
            .resized = bj_st_i64(st, "sizes") > 0};
        bj_pbs_acct_recall(f->pbs, &open);
    }
    bj_st_finalize(st);
    return r;
}

static int open_reader(struct bj_source_follow *f, struct bj_err *err)
{
    if (f->pbs || f->lsf)
        return 0;
    if (f->kind == BJ_FOLLOW_PBS) {
        const struct bj_pbs_conf conf = {.ctx = f,
                                         .offset_min = local_offset,
                                         .job = follow_take_job,
                                         .bad = bad_pbs};
        int r = bj_pbs_acct_new(&conf, &f->pbs, err);
        r = r < 0 ? r : recall_open(f, err);
        if (r < 0)
            close_reader(f);
        return r;
    }
    return bj_lsf_acct_new(
        &(struct bj_lsf_conf){.ctx = f, .job = follow_take_job, .bad = bad_lsf},
        &f->lsf, err);
}

static int feed(struct bj_source_follow *f, struct bj_slice text,
                struct bj_err *err)
{
    f->counts.bytes += text.n;
    return f->pbs ? bj_pbs_acct_feed(f->pbs, text, err)
                  : bj_lsf_acct_feed(f->lsf, text, err);
}

/* --- transactions ----------------------------------------------------------
 */

static bool is_stopped(const struct bj_source_follow *f)
{
    return f->run->stop && atomic_load(f->run->stop);
}

/* Roll back; the reader must also start again. */
static int give_up(struct bj_source_follow *f, int code)
{
    bj_upsert_rollback(f->run->upsert);
    f->open = false;
    close_reader(f);
    return code;
}

static int follow_begin(struct bj_source_follow *f, struct bj_err *err)
{
    if (f->open)
        return 0;
    int r = bj_upsert_begin(f->run->upsert, err);
    f->open = r == 0;
    return r;
}

/* Write the position in the file, and commit. */
static int follow_keep(struct bj_source_follow *f, const char *source,
                       int64_t at, struct bj_err *err)
{
    if (f->dry || !f->open)
        return 0;
    int r = bj_covered_write(f->store, f->cluster_name, source,
                             &(struct bj_covered){0, at}, err);
    if (r == 0)
        r = bj_upsert_commit(f->run->upsert, err);
    f->open = f->open && r < 0;
    return r;
}

/* Read the last record; *rest: bytes that were fed, and must be fed again. */
static int feed_end(struct bj_source_follow *f, int64_t *rest,
                    struct bj_err *err)
{
    size_t n = 0;
    int r = 0;
    if (f->pbs && bj_pbs_acct_pending(f->pbs) > 0)
        r = follow_begin(f, err);
    if (f->pbs && r == 0)
        r = bj_pbs_acct_end(f->pbs, &n, err);
    *rest = (int64_t)n;
    return r;
}

/* --- one file --------------------------------------------------------------
 */

/* Compute the name of a file in the store from its first line that is not a
 * comment. False while there is no such line. */
static bool follow_name_of(const struct bj_source_follow *f, int fd,
                           char name[static 48])
{
    struct bj_slice rest = {f->chunk, 0}, line;
    ssize_t n = pread(fd, f->chunk, HEAD, 0);
    if (n <= 0)
        return false;
    rest.n = (size_t)n;
    while (bj_slice_line(&rest, &line))
        if (line.n > 0 && line.p[0] != '#') {
            /* An incomplete line may still change. */
            if (line.p + line.n == f->chunk + n && n < HEAD)
                return false;
            snprintf(name, 48, "%s %016llx", source_names[f->kind],
                     (unsigned long long)bj_hash(BJ_HASH, line));
            return true;
        }
    return false;
}

/* Read a chunk of the file; returns the bytes up to the end of its last
 * complete line. Lines that are too long are skipped; *skip is their length. 0:
 * no complete line; or -errno. */
static ssize_t read_lines(struct bj_source_follow *f, int fd, off_t at,
                          off_t *skip)
{
    *skip = 0;
    for (;;) {
        ssize_t n = pread(fd, f->chunk, CHUNK, at + *skip);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        bool begun = *skip > 0; /* inside an overlong line */
        const char *end = begun ? memchr(f->chunk, '\n', (size_t)n)
                                : memrchr(f->chunk, '\n', (size_t)n);
        if (end && !begun)
            return end + 1 - f->chunk;
        if (end) {
            *skip += end + 1 - f->chunk;
            return 0;
        }
        if (n < CHUNK) {
            *skip = 0;
            return 0;
        }
        *skip += n;
    }
}

static int read_rest(struct bj_source_follow *f, int fd, const char *source,
                     int64_t at, struct bj_err *err)
{
    const uint64_t most = f->run->batch_lines;
    uint64_t jobs = f->counts.jobs; /* jobs and position at the last commit */
    int64_t kept = at, rest = 0;
    int r = 0;
    while (r == 0 && !is_stopped(f)) {
        off_t skip;
        ssize_t n = read_lines(f, fd, at, &skip);
        if (n < 0)
            r = bj_store_other_error(err, bj_err_set(err, (int)n, "reading"));
        if (n == 0 && skip == 0)
            break;
        if (n == 0 && r == 0)
            r = feed_end(f, &rest, err);
        if (n > 0 && (r = follow_begin(f, err)) == 0)
            r = feed(f, (struct bj_slice){f->chunk, (size_t)n}, err);
        if (n == 0 && (r = follow_begin(f, err)) == 0)
            f->counts.bad_lines++;
        at += n + skip;
        if (r == 0 && (at - kept >= BATCH ||
                       (most > 0 && f->counts.jobs - jobs >= most))) {
            rest = f->pbs ? (int64_t)bj_pbs_acct_pending(f->pbs) : 0;
            r = follow_keep(f, source, at - rest, err);
            kept = at;
            jobs = f->counts.jobs;
        }
    }
    if (r == 0 &&
        is_stopped(f)) { /* more lines of the last record may follow */
        rest = f->pbs ? (int64_t)bj_pbs_acct_pending(f->pbs) : 0;
        close_reader(f);
    } else if (r == 0) {
        r = feed_end(f, &rest, err);
    }
    if (r == 0)
        r = follow_keep(f, source, at - rest, err);
    return r < 0 ? give_up(f, r) : 0;
}

static bool unchanged(const struct file *file, const struct stat *st)
{
    return file->done && file->dev == st->st_dev && file->ino == st->st_ino &&
           file->size == st->st_size &&
           file->mtime.tv_sec == st->st_mtim.tv_sec &&
           file->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

static int follow_take_file(struct bj_source_follow *f, struct file *file,
                            int dir, struct bj_err *err)
{
    char source[48];
    struct stat st;
    struct bj_covered at;
    bj_autoclose int fd =
        openat(dir, file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) /* renamed meanwhile */
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0) {
        int e = bj_err_set(err, -errno, "open");
        return bj_store_other_error(err, e);
    }
    if (!S_ISREG(st.st_mode) || unchanged(file, &st) ||
        !follow_name_of(f, fd, source))
        return 0;
    int r = bj_covered_read(f->store, f->cluster_name, source, &at, err);
    if (r == 0)
        r = open_reader(f, err);
    if (r < 0)
        return r;
    /* A file that became shorter is another one with the same first line, or an
     * old copy: importing it again changes nothing. */
    int64_t from = at.to_sec <= st.st_size ? at.to_sec : 0;
    if (!f->open) /* else dry */
        r = bj_upsert_bulk(f->run->upsert, st.st_size - from > CHUNK, err);
    if (r == 0)
        r = read_rest(f, fd, source, from, err);
    if (r < 0 || is_stopped(f))
        return r;
    file->done = true;
    file->dev = st.st_dev;
    file->ino = st.st_ino;
    file->size = st.st_size;
    file->mtime = st.st_mtim;
    return 0;
}

/* --- all files -------------------------------------------------------------
 */

/* Is it an accounting file?  Returns its position in the order. */
static bool order_of(const struct bj_source_follow *f, const char *name,
                     uint64_t *ret)
{
    struct bj_slice s = bj_slice_str(name);
    if (f->kind == BJ_FOLLOW_PBS)
        return s.n == 8 && bj_slice_u64(s, ret) == 0;
    struct bj_slice base = bj_slice_str(f->base);
    *ret = UINT64_MAX;
    if (bj_slice_eq(s, base))
        return true;
    if (!bj_slice_starts(s, base) || s.n < base.n + 2 || s.p[base.n] != '.')
        return false;
    s = (struct bj_slice){s.p + base.n + 1, s.n - base.n - 1};
    if (bj_slice_u64(s, ret) < 0 || *ret > UINT32_MAX)
        return false;
    *ret = UINT32_MAX - *ret;
    return true;
}

static int by_order(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static const struct file *follow_find(const struct file *v, size_t n,
                                      uint64_t order)
{
    struct file key = {.order = order};
    return n > 0 ? bsearch(&key, v, n, sizeof(*v), by_order) : NULL;
}

/* List the files, and keep the state of known ones. */
static int follow_list(struct bj_source_follow *f, int fd, struct bj_err *err)
{
    struct file *v = NULL;
    size_t n = 0, cap = 0;
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    if (!d) {
        r = bj_err_set(err, -errno, "%s", f->dir);
        if (copy >= 0)
            close(copy);
        return bj_store_other_error(err, r);
    }
    while (r == 0 && n < FILES_MAX && (entry = readdir(d)) != NULL) {
        uint64_t order;
        if (!order_of(f, entry->d_name, &order))
            continue;
        if (!BJ_GROW(v, n + 1, cap)) {
            r = bj_err_set(err, -ENOMEM, "%s", f->dir);
            break;
        }
        const struct file *old = follow_find(f->file, f->files, order);
        v[n] = old ? *old : (struct file){.order = order};
        snprintf(v[n].name, sizeof(v[n].name), "%s", entry->d_name);
        n++;
    }
    closedir(d);
    if (r < 0) {
        free(v);
        return r;
    }
    if (n > 0)
        qsort(v, n, sizeof(*v), by_order);
    free(f->file);
    f->file = v;
    f->files = n;
    return 0;
}

int bj_source_follow_run(struct bj_source_follow *f,
                         const struct bj_source_run *run, bool dry,
                         struct bj_sacct_counts *ret, struct bj_err *err)
{
    f->run = run;
    f->dry = dry;
    f->open = false;
    f->counts = (struct bj_sacct_counts){0};
    *ret = f->counts;
    bj_autoclose int fd = bj_dir_open(AT_FDCWD, f->dir);
    if (fd < 0) {
        int e = bj_file_fail(err, fd, "", AT_FDCWD, f->dir, R_OK | X_OK);
        return bj_store_other_error(err, e);
    }
    int r = follow_list(f, fd, err);
    if (r == 0 && f->files == 0 && f->kind == BJ_FOLLOW_LSF)
        r = bj_err_set(err, -ENOENT, "%s/%s does not exist", f->dir, f->base);
    for (size_t i = 0; r == 0 && i < f->files; i++) {
        snprintf(f->path, sizeof(f->path), "%s/%s", f->dir, f->file[i].name);
        r = follow_take_file(f, &f->file[i], fd, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s/%s", f->dir, f->file[i].name);
        if (is_stopped(f))
            break;
    }
    if (f->open) /* dry */
        r = give_up(f, r < 0 ? r : bj_upsert_flush(run->upsert, err));
    int off = bj_upsert_bulk(run->upsert, false, r < 0 ? NULL : err);
    r = r < 0 ? r : off;
    for (size_t i = 0; dry && i < f->files; i++)
        f->file[i].done = false;
    f->counts.lines = f->counts.jobs;
    *ret = f->counts;
    return r;
}

/* --- set-up -------------------------------------------------------------
 */

static int set_path(struct bj_source_follow *f, const char *path,
                    struct bj_err *err)
{
    const char *slash =
        f->kind == BJ_FOLLOW_LSF ? strrchr(path, '/') : path + strlen(path);
    if (f->kind == BJ_FOLLOW_LSF &&
        (!slash || !slash[1] || strlen(slash + 1) >= sizeof(f->base)))
        return bj_err_set(err, -EINVAL, "lsf.acct: '%.100s' is not a file",
                          path);
    if (slash - path >= PATH_MAX)
        return bj_err_set(err, -ENAMETOOLONG, "%.100s", path);
    snprintf(f->dir, sizeof(f->dir), "%.*s",
             slash == path ? 1 : (int)(slash - path), path);
    if (f->kind == BJ_FOLLOW_LSF)
        snprintf(f->base, sizeof(f->base), "%s", slash + 1);
    return 0;
}

int bj_source_follow_new(enum bj_follow_kind kind, const char *cluster,
                         const char *path, struct bj_store *store,
                         struct bj_source_follow **ret, struct bj_err *err)
{
    struct bj_source_follow *f = calloc(1, sizeof(*f));
    if (!f || !(f->chunk = malloc(CHUNK))) {
        free(f);
        return bj_err_set(err, -ENOMEM, "source");
    }
    f->kind = kind;
    f->cluster_name = cluster;
    f->cluster = bj_slice_str(cluster);
    f->store = store;
    int r = set_path(f, path, err);
    if (r < 0) {
        bj_source_follow_free(f);
        return r;
    }
    *ret = f;
    return 0;
}

void bj_source_follow_free(struct bj_source_follow *f)
{
    if (!f)
        return;
    close_reader(f);
    free(f->file);
    free(f->chunk);
    free(f);
}
