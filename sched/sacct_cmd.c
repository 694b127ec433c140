#include "sched/sacct_cmd.h"

#include "base/buf.h"
#include "base/stamp.h"
#include "sched/sacct_column.h"
#include "sched/word.h"

#include <errno.h>
#include <sys/random.h>

int bj_sacct_delimiter(char buf[static BJ_SACCT_DELIMITER + 1])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+-";
    unsigned char chance[BJ_SACCT_DELIMITER - 1];
    ssize_t n;
    do
        n = getrandom(chance, sizeof(chance), 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(chance))
        return n < 0 ? -errno : -EAGAIN;
    buf[0] = '\x1f';
    for (unsigned i = 0; i < sizeof(chance); i++)
        buf[i + 1] = letters[chance[i] % 64];
    buf[BJ_SACCT_DELIMITER] = '\0';
    return 0;
}

/* Columns added after Slurm 20.11. */
static const struct bj_slice later[] = {
    BJ_WORD("SLUID"),         BJ_WORD("Restarts"),   BJ_WORD("SubmitLine"),
    BJ_WORD("SystemComment"), BJ_WORD("Container"),  BJ_WORD("Licenses"),
    BJ_WORD("OriginalSLUID"), BJ_WORD("FailedNode"), BJ_WORD("StdOut"),
    BJ_WORD("StdErr"),
};

static bool is_later(struct bj_slice name)
{
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
        if (bj_slice_eq(name, later[i]))
            return true;
    return false;
}

/* helpformat lists the names in columns, separated by blanks. */
static bool is_offered(struct bj_slice helpformat, struct bj_slice name)
{
    struct bj_slice word;
    if (helpformat.n == 0)
        return !is_later(name);
    while (bj_slice_word(&helpformat, &word))
        if (bj_slice_eq(word, name))
            return true;
    return false;
}

/* JobIDRaw first and JobID last: neither contains free text, so both ends of a
 * record are certain. */
static void put_format(struct bj_buf *b, const struct bj_sacct_query *query)
{
    bj_buf_str(b, "--format=JobIDRaw");
    for (unsigned i = 0; i < bj_sacct_columns_n; i++) {
        const struct bj_sacct_column *c = &bj_sacct_columns[i];
        const bool again =
            i > 0 && bj_slice_eq(c->name, bj_sacct_columns[i - 1].name);
        const bool step_only = c->job == BJ_SACCT_NOWHERE;
        if (c->flags || again || (query->jobs_only && step_only) ||
            !is_offered(query->helpformat, c->name))
            continue;
        bj_buf_str(b, ",");
        bj_buf_slice(b, c->name);
    }
    bj_buf_str(b, ",JobID");
}

/* The option and the time without its "Z": sacct takes local time, and TZ makes
 * that UTC. */
static void put_time(struct bj_buf *b, const char *option, uint64_t sec)
{
    char text[BJ_STAMP_MAX];
    bj_stamp_text((int64_t)sec * 1000000, 0, 0, text);
    bj_buf_str(b, option);
    bj_buf_put(b, text, sizeof("2026-11-20T15:04:05") - 1);
}

static bool is_cluster_list(const char *s)
{
    for (; *s; s++)
        if (!((*s | 32) >= 'a' && (*s | 32) <= 'z') &&
            !(*s >= '0' && *s <= '9') && !strchr("_-.,", *s))
            return false;
    return true;
}

static int check(const struct bj_sacct_query *query, struct bj_err *err)
{
    if (query->start_sec == 0 || query->end_sec < query->start_sec ||
        query->end_sec > INT64_MAX / 1000000)
        return bj_err_set(
            err, -EINVAL,
            "sacct: start and end of the window: expected start before end");
    if (!query->delimiter || !query->delimiter[0])
        return bj_err_set(err, -EINVAL, "sacct: no delimiter");
    if (query->clusters && !is_cluster_list(query->clusters))
        return bj_err_set(err, -EINVAL, "sacct: bad cluster name '%s'",
                          query->clusters);
    return 0;
}

enum { ARGS = 16 };

/* A list of texts in an arena. */
struct list {
    struct bj_arena *arena;
    struct bj_buf text; /* being written */
    const char **v;
    unsigned n;
};

static void put(struct list *l)
{
    l->v[l->n++] =
        bj_arena_copy(l->arena, (struct bj_slice){l->text.p, l->text.len}).p;
    l->text.len = 0;
}

static void put_str(struct list *l, const char *a, const char *b)
{
    bj_buf_str(&l->text, a);
    bj_buf_str(&l->text, b);
    put(l);
}

static void put_args(struct list *l, const struct bj_sacct_query *query)
{
    put_str(l, query->sacct ? query->sacct : "sacct", "");
    put_str(l, "--allusers", "");
    put_str(l, "--duplicates", "");
    put_str(l, "--noconvert", "");
    put_str(l, "--parsable2", "");
    put_str(l, "--delimiter=", query->delimiter);
    if (query->jobs_only)
        put_str(l, "--allocations", "");
    if (query->federation)
        put_str(l, "--federation", "");
    if (query->clusters)
        put_str(l, "--clusters=", query->clusters);
    for (size_t i = 0; i < query->jobs; i++)
        bj_buf_printf(&l->text, "%s%llu",
                      i ? "," : "--jobs=", (unsigned long long)query->job[i]);
    if (query->jobs > 0)
        put(l);
    put_time(&l->text, "--starttime=", query->start_sec);
    put(l);
    put_time(&l->text, "--endtime=", query->end_sec);
    put(l);
    put_format(&l->text, query);
    put(l);
}

static void put_env(struct list *l, const struct bj_sacct_query *query)
{
    put_str(l, "SLURM_TIME_FORMAT=%s", "");
    put_str(l, "SLURM_BITSTR_LEN=0",
            ""); /* print lists of array tasks in full */
    if (query->slurm_conf)
        put_str(l, "SLURM_CONF=", query->slurm_conf);
}

int bj_sacct_command(const struct bj_sacct_query *query, struct bj_arena *a,
                     const char *const **ret_argv, const char *const **ret_env,
                     struct bj_err *err)
{
    int r = check(query, err);
    if (r < 0)
        return r;
    struct list args = {.arena = a}, env = {.arena = a};
    args.v = bj_arena_alloc(a, ARGS * sizeof(*args.v));
    env.v = bj_arena_alloc(a, ARGS * sizeof(*env.v));
    if (args.v && env.v) {
        put_args(&args, query);
        put_env(&env, query);
    }
    const bool failed = a->failed || args.text.failed || env.text.failed;
    bj_buf_free(&args.text);
    bj_buf_free(&env.text);
    if (failed)
        return bj_err_set(err, -ENOMEM, "sacct: no memory");
    *ret_argv = args.v;
    *ret_env = env.v;
    return 0;
}
