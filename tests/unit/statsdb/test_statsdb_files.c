/* Accounting files of PBS and LSF: however they are read while they grow, cut
 * at any byte, rotated, read again from their beginning, with restarts between,
 * the store is the same as after reading the complete files once, for each
 * engine. */
#include "statsdb/source/source_follow.h"
#include "tests/unit/lib/rounds.h"
#include "tests/unit/statsdb/test_statsdb_stores.h"

#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

enum {
    EPOCH = 1795000000,
    JOBS = 60,
    LINES = JOBS * 7,
    LINE = 900,
    PERIOD = 4 * 86400
};

/* A line and the time at which the scheduler wrote it. */
struct line {
    int64_t at;
    unsigned number;
    char text[LINE];
};

struct lines {
    struct line *v;
    unsigned n;
};

static void add(struct lines *l, int64_t at, const char *text)
{
    struct line *to = &l->v[l->n];
    assert_true(l->n < LINES);
    *to = (struct line){.at = at, .number = l->n++};
    snprintf(to->text, sizeof(to->text), "%s\n", text);
}

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* --- what the schedulers write -------------------------------------------- */

static void put_pbs(struct lines *l, int64_t at, char type, const char *id,
                    const char *rest)
{
    char text[LINE], stamp[40];
    const time_t t = (time_t)at;
    struct tm tm;
    assert_int_equal(
        strftime(stamp, sizeof(stamp), "%m/%d/%Y %H:%M:%S", gmtime_r(&t, &tm)),
        19);
    snprintf(text, sizeof(text), "%s;%c;%s;%s", stamp, type, id, rest);
    add(l, at, text);
}

/* The job releases three of four CPUs: first is what it had at its start. */
static void release(struct lines *l, int64_t start, int64_t end, const char *id,
                    const char *who, const char *first)
{
    char rest[700];
    const int64_t at = start + (int64_t)rnd((unsigned)(end - start) + 1);
    put_pbs(l, at, 'u', id, first);
    snprintf(rest, sizeof(rest),
             "%s start=%lld exec_host=n1/0 exec_vnode=(n1:ncpus=1) "
             "Resource_List.ncpus=1 resources_used.walltime=00:00:%02u",
             who, (long long)start, (unsigned)rnd(60));
    put_pbs(l, at, 'c', id, rest);
    put_pbs(l, end, 'e', id, rest);
}

/* A job of one or two runs, or one that was deleted while it waited. */
static void make_pbs(struct lines *l, unsigned n)
{
    char id[40], who[200], rest[700];
    int64_t at = EPOCH + (int64_t)rnd(PERIOD);
    const int64_t ctime = at;
    const unsigned runs = 1 + (rnd(4) == 0);
    snprintf(id, sizeof(id), rnd(5) ? "%u.srv" : "90[%u].srv", 100 + n);
    snprintf(who, sizeof(who),
             "user=u%u group=g project=p%u jobname=j%u queue=q%u ctime=%lld "
             "qtime=%lld etime=%lld",
             (unsigned)rnd(4), (unsigned)rnd(3), n, (unsigned)rnd(2),
             (long long)ctime, (long long)ctime, (long long)ctime);
    snprintf(rest, sizeof(rest), "queue=q0");
    put_pbs(l, at, 'Q', id, rest);
    if (rnd(8) == 0) {
        put_pbs(l, at + 20 + (int64_t)rnd(9000), 'D', id,
                "requestor=root@login");
        return;
    }
    for (unsigned run = 1; run <= runs; run++) {
        const int64_t start = at + 1 + (int64_t)rnd(20000);
        const int64_t end = start + 1 + (int64_t)rnd(rnd(2) ? 300 : 90000);
        const unsigned sec = (unsigned)rnd(3600);
        snprintf(rest, sizeof(rest),
                 "%s start=%lld exec_host=n1/0*4 exec_vnode=(n1:ncpus=4) "
                 "Resource_List.ncpus=4 Resource_List.nodect=1 "
                 "Resource_List.walltime=48:00:00",
                 who, (long long)start);
        put_pbs(l, start, 'S', id, rest);
        if (run == runs && rnd(3) == 0)
            release(l, start, end, id, who, rest);
        snprintf(
            rest + strlen(rest), sizeof(rest) - strlen(rest),
            " end=%lld Exit_status=%d resources_used.cput=%02u:%02u:%02u "
            "resources_used.mem=%ukb resources_used.walltime=%02lld:%02lld:"
            "%02lld run_count=%u",
            (long long)end, run < runs ? -11 : (int)rnd(2), sec / 3600,
            sec / 60 % 60, sec % 60, 1 + (unsigned)rnd(9000000),
            (long long)(end - start) / 3600, (long long)(end - start) / 60 % 60,
            (long long)(end - start) % 60, run);
        put_pbs(l, end, run < runs ? 'R' : 'E', id, rest);
        at = end;
    }
}

static void make_lsf(struct lines *l, unsigned n)
{
    char text[LINE];
    const int64_t submit = EPOCH + (int64_t)rnd(PERIOD);
    const int64_t start = rnd(8) ? submit + 1 + (int64_t)rnd(20000) : 0;
    const int64_t end =
        (start ? start : submit) + 1 + (int64_t)rnd(rnd(2) ? 300 : 90000);
    /* Ids are used again. */
    snprintf(text, sizeof(text),
             "\"JOB_FINISH\" \"10.1\" %lld %u 1001 33816579 %u %lld 0 0 %lld "
             "\"u%u\" \"normal\" \"span[hosts=1]\" \"\" \"\" \"login1\" "
             "\"proj/w\" \"\" \"out\" \"\" \"1795170000.123\" 0 %s %d 60.0 "
             "\"run %u\" \"sleep 10\" %u.25 0.75 0 0 -1 0 0 7 0 0 0 0 -1 0 0 0 "
             "1 2 -1 \"\" \"default\" 0 4 \"\" \"\" 0 1048576 2097152",
             (long long)end, 7 + n % (JOBS / 2), start ? 4u : 1u,
             (long long)submit, (long long)start, (unsigned)rnd(4),
             start ? "1 \"host1\"" : "0", rnd(2) ? 64 : 32, n,
             (unsigned)rnd(9000));
    add(l, end, text);
}

/* --- files ---------------------------------------------------------------- */

struct site {
    enum bj_follow_kind kind;
    char dir[80];
    struct lines lines;
    unsigned written; /* lines that are complete */
    size_t part;      /* bytes of the next one that are written */
    unsigned rotated; /* largest N of lsb.acct.N */
};

static void path_of(const struct site *s, const struct line *l, char path[160])
{
    const time_t t = (time_t)l->at;
    struct tm tm;
    char day[16];
    assert_int_equal(strftime(day, sizeof(day), "%Y%m%d", gmtime_r(&t, &tm)),
                     8);
    snprintf(path, 160, "%s/%s", s->dir,
             s->kind == BJ_FOLLOW_PBS ? day : "lsb.acct");
}

/* Write so many bytes more; false at the end of all lines. */
static bool grow(struct site *s, size_t bytes)
{
    while (bytes > 0 && s->written < s->lines.n) {
        const struct line *l = &s->lines.v[s->written];
        const size_t rest = strlen(l->text) - s->part,
                     n = bytes < rest ? bytes : rest;
        char path[160];
        path_of(s, l, path);
        FILE *to = fopen(path, "a");
        assert_non_null(to);
        assert_int_equal(fwrite(l->text + s->part, 1, n, to), n);
        assert_int_equal(fclose(to), 0);
        bytes -= n;
        s->part += n;
        if (n == rest) {
            s->written++;
            s->part = 0;
        }
    }
    return s->written < s->lines.n;
}

/* LSF rotates between two events. */
static void rotate(struct site *s)
{
    char from[160], to[160];
    if (s->kind != BJ_FOLLOW_LSF || s->part > 0 || s->written == 0 ||
        s->rotated == 6)
        return;
    for (unsigned n = s->rotated; n > 0; n--) {
        snprintf(from, sizeof(from), "%s/lsb.acct.%u", s->dir, n);
        snprintf(to, sizeof(to), "%s/lsb.acct.%u", s->dir, n + 1);
        assert_int_equal(rename(from, to), 0);
    }
    snprintf(from, sizeof(from), "%s/lsb.acct", s->dir);
    snprintf(to, sizeof(to), "%s/lsb.acct.1", s->dir);
    if (rename(from, to) == 0)
        s->rotated++;
    /* LSF creates the new file at once. */
    FILE *f = fopen(from, "a");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

static void site_open(struct site *s, enum bj_follow_kind kind, const char *dir)
{
    *s = (struct site){.kind = kind};
    s->lines.v = calloc(LINES, sizeof(struct line));
    assert_non_null(s->lines.v);
    snprintf(s->dir, sizeof(s->dir), "%s/acct", dir);
    assert_int_equal(mkdir(s->dir, 0700), 0);
    for (unsigned n = 0; n < JOBS; n++)
        (kind == BJ_FOLLOW_PBS ? make_pbs : make_lsf)(&s->lines, n);
    qsort(s->lines.v, s->lines.n, sizeof(struct line), by_time);
}

static void remove_files(struct site *s)
{
    DIR *d = opendir(s->dir);
    struct dirent *e;
    assert_non_null(d);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.')
            assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
    closedir(d);
    s->written = s->rotated = 0;
    s->part = 0;
}

static void site_close(struct site *s)
{
    remove_files(s);
    assert_int_equal(rmdir(s->dir), 0);
    free(s->lines.v);
}

/* --- imports -------------------------------------------------------------- */

static void no_bad_line(void *ctx, const struct bj_sacct_bad *bad)
{
    (void)ctx;
    fail_msg("%.*s: %.*s", (int)bad->field.n, bad->field.p, (int)bad->value.n,
             bad->value.p);
}

static struct bj_source_follow *follow(const struct site *s,
                                       struct bj_store *store)
{
    struct bj_source_follow *f = NULL;
    struct bj_err err = {0};
    char path[160];
    snprintf(path, sizeof(path), "%s%s", s->dir,
             s->kind == BJ_FOLLOW_PBS ? "" : "/lsb.acct");
    if (bj_source_follow_new(s->kind, "c", path, store, &f, &err) < 0)
        fail_msg("%s", err.msg);
    return f;
}

static void take(struct bj_source_follow *f, struct bj_upsert *u)
{
    struct bj_err err = {0};
    struct bj_sacct_counts n;
    struct bj_source_run run = {
        .upsert = u, .batch_lines = 1 + rnd(50), .bad = no_bad_line};
    if (bj_source_follow_run(f, &run, false, &n, &err) < 0)
        fail_msg("%s", err.msg);
}

/* Read the files while they grow. */
static char *rows_growing(struct stores *w, int store, struct site *s)
{
    struct bj_store *to = w->store[store];
    struct bj_source_follow *f = follow(s, to);
    bool more = true;
    while (more) {
        more = grow(s, 1 + rnd(rnd(3) ? 300 : 20000));
        if (rnd(6) == 0)
            rotate(s);
        if (rnd(3) == 0) /* the program was down for a while */
            continue;
        if (rnd(5) == 0) { /* it was restarted */
            bj_source_follow_free(f);
            f = follow(s, to);
        }
        if (rnd(12) == 0) /* it reads everything again */
            db_exec(bj_store_db(to), "DELETE FROM covered");
        take(f, w->upsert[store]);
    }
    take(f, w->upsert[store]);
    bj_source_follow_free(f);
    return dump(to, false);
}

static char *rows_at_once(struct stores *w, int store, struct site *s)
{
    struct bj_source_follow *f = follow(s, w->store[store]);
    while (grow(s, 1 << 20))
        ;
    take(f, w->upsert[store]);
    bj_source_follow_free(f);
    return dump(w->store[store], false);
}

static int stores(void)
{
    return server_available ? STORES : SQLITE + 1;
}

static void open_stores(struct stores *w)
{
    static const char *const names[] = {
        [ONE_BY_ONE] = "one_by_one", [GATHERED] = "gathered"};
    fixture_open(&w->f);
    w->store[SQLITE] = store_open(&w->f);
    for (int i = SQLITE + 1; i < stores(); i++)
        w->store[i] = open_postgres(names[i]);
    for (int i = 0; i < stores(); i++)
        w->upsert[i] = upsert_open(w->store[i]);
    if (server_available)
        bj_upsert_gather(w->upsert[ONE_BY_ONE], false);
}

static void close_stores(struct stores *w)
{
    for (int i = 0; i < stores(); i++) {
        bj_upsert_free(w->upsert[i]);
        bj_store_close(w->store[i]);
    }
    fixture_close(&w->f);
}

static void round_of(unsigned n, enum bj_follow_kind kind)
{
    struct stores w;
    struct site s;
    char *want = NULL;
    for (int pass = 0; pass < 2; pass++) {
        open_stores(&w);
        seed = n * 7919;
        site_open(&s, kind, w.f.dir);
        for (int i = 0; i < stores(); i++) {
            seed = n * 104729 + (unsigned)i;
            char *rows = (pass ? rows_growing : rows_at_once)(&w, i, &s);
            if (want)
                assert_same_text(want, rows);
            else
                assert_true(strlen(rows) > 10000);
            free(want);
            want = rows;
            remove_files(&s);
        }
        site_close(&s);
        close_stores(&w);
    }
    free(want);
}

static void test_files(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    for (unsigned n = 1; n <= bj_rounds(30, 1); n++) {
        round_of(n, BJ_FOLLOW_PBS);
        round_of(n, BJ_FOLLOW_LSF);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};
    return cmocka_run_group_tests_name("statsdb_files", tests, start, stop);
}
