#include "core/cluster/own.h"

#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum bj_cluster_source id;
} sources[] = {
    {"queue", BJ_CLUSTER_QUEUE},       {"nodes", BJ_CLUSTER_NODES},
    {"licenses", BJ_CLUSTER_LICENSES}, {"diag", BJ_CLUSTER_DIAG},
    {"limits", BJ_CLUSTER_LIMITS},
};

int bj_cluster_own_parse(const char *text, enum bj_cluster_source *ret_id,
                         const char **ret_command, struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(text), name = {0}, word;
    bj_slice_field(&rest, '=', &name);
    *ret_command = rest.p;
    if (bj_slice_word(&rest, &word))
        for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
            if (bj_slice_eq(name, bj_slice_str(sources[i].name))) {
                *ret_id = sources[i].id;
                return 0;
            }
    return bj_err_set(err, -EINVAL,
                      "'%.80s' is not SOURCE=COMMAND with one of queue, nodes, "
                      "licenses, diag, limits",
                      text);
}

int bj_cluster_own_check(const char *text, struct bj_err *err)
{
    enum bj_cluster_source id;
    const char *command;
    return bj_cluster_own_parse(text, &id, &command, err);
}

/* A line as our own commands print it. */
struct line {
    struct bj_buf text;
    struct bj_arena arena;
    const struct bj_json *v;
};

static int begin(struct line *l, struct bj_slice line)
{
    return bj_json_parse(&l->arena, line, "line", NULL, &l->v, NULL) == 0 &&
                   bj_json_kind(l->v) == BJ_JSON_OBJECT
               ? 0
               : -EINVAL;
}

static struct bj_slice value(const struct line *l, const char *key)
{
    return bj_json_text(bj_json_get(l->v, key));
}

static void put(struct line *l, struct bj_slice text)
{
    bj_buf_slice(&l->text, text);
    bj_buf_str(&l->text, BJ_SLURM_SEP);
}

static void put_str(struct line *l, const char *text)
{
    put(l, bj_slice_str(text));
}

static int end(struct line *l, int r, struct bj_cluster_work *w,
               int (*take)(struct bj_cluster_work *w, struct bj_slice line))
{
    if (r == 0)
        r = l->text.failed ? -ENOMEM
                           : take(w, (struct bj_slice){l->text.p, l->text.len});
    bj_buf_free(&l->text);
    bj_arena_free(&l->arena);
    return r;
}

/* {"a": account, "id": 1, "u": user, "state": "RUNNING", "p": partition, "cpu":
 * 4, "mem": "50M", "r": reason}, one for each task of an array. */
int bj_cluster_own_job_line(struct bj_cluster_work *w, struct bj_slice line)
{
    static const char *const unknown[] = {"", "", "", "N/A", "N/A", "N/A", "1"};
    struct line l = {0};
    struct bj_buf tres = {0};
    int r = begin(&l, line);
    put(&l, value(&l, "id"));
    put_str(&l, "N/A");
    put(&l, value(&l, "state"));
    put(&l, value(&l, "p"));
    put(&l, value(&l, "a"));
    put(&l, value(&l, "u"));
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        put_str(&l, unknown[i]);
    bj_buf_str(&tres, "cpu=");
    bj_buf_slice(&tres, value(&l, "cpu"));
    bj_buf_str(&tres, ",mem=");
    bj_buf_slice(&tres, value(&l, "mem"));
    put(&l, (struct bj_slice){tres.p, tres.len});
    bj_buf_slice(&l.text, value(&l, "r"));
    l.text.failed |= tres.failed;
    bj_buf_free(&tres);
    return end(&l, r, w, bj_cluster_queue_line);
}

/* {"s": "idle", "mem": 1000, "n": name, "l": "0.01", "p": partition, "fmem":
 * "900", "cstate": "0/4/0/4", "w": 1}, one for each partition. Memory that is
 * not free counts as allocated. */
int bj_cluster_own_node_line(struct bj_cluster_work *w, struct bj_slice line)
{
    struct line l = {0};
    uint64_t mem, free;
    char used[24] = "0";
    int r = begin(&l, line);
    if (bj_slice_u64(value(&l, "mem"), &mem) == 0 &&
        bj_slice_u64(value(&l, "fmem"), &free) == 0 && free < mem)
        snprintf(used, sizeof(used), "%llu", (unsigned long long)(mem - free));
    put(&l, value(&l, "n"));
    put(&l, value(&l, "p"));
    put(&l, value(&l, "s"));
    put(&l, value(&l, "cstate"));
    put(&l, value(&l, "mem"));
    put_str(&l, used);
    put(&l, value(&l, "fmem"));
    put_str(&l, "");
    put_str(&l, "");
    put(&l, value(&l, "l"));
    put(&l, value(&l, "w"));
    bj_buf_str(&l.text, "none");
    return end(&l, r, w, bj_cluster_node_line);
}

int bj_cluster_own_limit_line(struct bj_cluster_work *w, struct bj_slice line)
{
    enum { USER, ACCOUNT, CPUS, MEMORY, JOBS, SUBMIT, FIELDS };
    struct bj_slice f[FIELDS] = {{0}};
    struct bj_buf text = {0};
    int n = 0;
    while (n < FIELDS && bj_slice_field(&line, '|', &f[n]))
        n++;
    if (n < SUBMIT || line.n > 0)
        return -EINVAL;
    bj_buf_printf(&text, "%.*s|%.*s|%.*s||%.*s|%.*s|||", (int)w->name.n,
                  w->name.n ? w->name.p : "", (int)f[ACCOUNT].n, f[ACCOUNT].p,
                  (int)f[USER].n, f[USER].p, (int)f[JOBS].n, f[JOBS].p,
                  (int)f[SUBMIT].n, f[SUBMIT].n ? f[SUBMIT].p : "");
    if (f[CPUS].n > 0)
        bj_buf_printf(&text, "cpu=%.*s,", (int)f[CPUS].n, f[CPUS].p);
    if (f[MEMORY].n > 0)
        bj_buf_printf(&text, "mem=%.*s", (int)f[MEMORY].n, f[MEMORY].p);
    bj_buf_str(&text, "|");
    int r = text.failed
                ? -ENOMEM
                : bj_cluster_limit_line(w, (struct bj_slice){text.p, text.len});
    bj_buf_free(&text);
    return r;
}
