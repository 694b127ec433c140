#include "core/cluster/own.h"

#include "base/json.h"
#include "sched/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum bj_cluster_source id;
} sources[] = {
    {"queue", BJ_CLUSTER_QUEUE},       {"nodes", BJ_CLUSTER_NODES},
    {"licenses", BJ_CLUSTER_LICENSES}, {"diag", BJ_CLUSTER_DIAG},
    {"limits", BJ_CLUSTER_LIMITS},     {"partitions", BJ_CLUSTER_PARTITIONS},
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
                      "licenses, diag, limits, partitions",
                      text);
}

int bj_cluster_own_check(const char *text, struct bj_err *err)
{
    enum bj_cluster_source id;
    const char *command;
    return bj_cluster_own_parse(text, &id, &command, err);
}

/* Replace each N/A outside strings by an empty string: the formats of
 * prometheus-slurm-exporter put "%e" and "%O" into JSON without quotes. */
static struct bj_slice quote(struct bj_slice line, struct bj_arena *a)
{
    char *s = bj_arena_alloc(a, line.n + 1);
    bool inside = false;
    if (!s)
        return line;
    memcpy(s, line.p, line.n);
    for (size_t i = 0; i + 3 <= line.n; i++) {
        if (s[i] == '"')
            inside = !inside;
        if (inside && s[i] == '\\')
            i++;
        else if (!inside && memcmp(s + i, "N/A", 3) == 0)
            memcpy(s + i, "\"\" ", 3), i += 2;
    }
    return (struct bj_slice){s, line.n};
}

/* A line of a command of the site: its object, with texts in arena. */
static int own_parse(struct bj_slice line, struct bj_arena *arena,
                     const struct bj_json **ret)
{
    int r = bj_json_parse(arena, line, "line", NULL, ret, NULL);
    if (r == -EINVAL)
        r = bj_json_parse(arena, quote(line, arena), "line", NULL, ret, NULL);
    return r == 0 && bj_json_kind(*ret) == BJ_JSON_OBJECT ? 0 : -EINVAL;
}

static struct bj_slice own_value(const struct bj_json *v, const char *key)
{
    const struct bj_slice s = bj_json_text(bj_json_get(v, key));
    return bj_word_is_none(s) ? (struct bj_slice){"", 0} : s;
}

/* {"a": account, "id": 1, "u": user, "state": "RUNNING", "p": partition, "cpu":
 * 4, "mem": "50M", "r": reason}, one for each task of an array. */
static int own_take_job(struct bj_cluster_work *w, const struct bj_json *v)
{
    struct bj_buf tres = {0};
    struct bj_squeue_job j = {.id = own_value(v, "id"),
                              .jobs = 1,
                              .state = own_value(v, "state"),
                              .partition = own_value(v, "p"),
                              .account = own_value(v, "a"),
                              .user = own_value(v, "u"),
                              .reason = bj_json_text(bj_json_get(v, "r")),
                              .brief = true,
                              .submit_sec = BJ_ABSENT,
                              .eligible_sec = BJ_ABSENT,
                              .start_sec = BJ_ABSENT,
                              .nodes = BJ_ABSENT};
    const struct bj_slice cpu = own_value(v, "cpu"), mem = own_value(v, "mem");
    uint64_t id;
    if (bj_slice_u64(j.id, &id) < 0 || j.state.n == 0)
        return -EINVAL;
    if (cpu.n > 0)
        bj_buf_printf(&tres, "cpu=%.*s", (int)cpu.n, cpu.p);
    if (mem.n > 0)
        bj_buf_printf(&tres, "%smem=%.*s", cpu.n > 0 ? "," : "", (int)mem.n,
                      mem.p);
    int r = tres.failed ? -ENOMEM : 0;
    if (r == 0 && bj_tres_parse((struct bj_slice){tres.p, tres.len},
                                BJ_TRES_REQUESTED, &j.tres) > 0)
        r = -EINVAL;
    if (r == 0)
        r = bj_cluster_add_job(w, &j);
    bj_buf_free(&tres);
    return r;
}

/* MiB as bytes; BJ_ABSENT: unknown. */
static int mib_of(struct bj_slice s, uint64_t *ret)
{
    *ret = BJ_ABSENT;
    return s.n > 0 && (bj_slice_u64(s, ret) < 0 ||
                       __builtin_mul_overflow(*ret, (uint64_t)1 << 20, ret))
               ? -EINVAL
               : 0;
}

/* {"s": "idle", "mem": 1000, "n": name, "l": "0.01", "p": partition, "fmem":
 * "900", "cstate": "0/4/0/4", "w": 1}, one for each partition. Memory that is
 * not free counts as allocated. */
static int own_take_node(struct bj_cluster_work *w, const struct bj_json *v)
{
    struct bj_sinfo_node n = {.name = own_value(v, "n"),
                              .partition = own_value(v, "p"),
                              .state_text = own_value(v, "s"),
                              .cpus = BJ_ABSENT,
                              .allocated = BJ_ABSENT,
                              .idle = BJ_ABSENT,
                              .other = BJ_ABSENT,
                              .mem_allocated_bytes = BJ_ABSENT,
                              .load_centi = BJ_ABSENT,
                              .weight = BJ_ABSENT};
    const struct bj_slice cpus = own_value(v, "cstate"),
                          load = own_value(v, "l"), weight = own_value(v, "w");
    if (n.partition.n > 0 && n.partition.p[n.partition.n - 1] == '*')
        n.partition.n--;
    if (n.name.n == 0 || n.state_text.n == 0 ||
        (cpus.n > 0 && bj_sinfo_cpus(cpus, &n) < 0) ||
        mib_of(own_value(v, "mem"), &n.mem_bytes) < 0 ||
        mib_of(own_value(v, "fmem"), &n.mem_free_bytes) < 0 ||
        (load.n > 0 && bj_decimal_u64(load, 2, &n.load_centi) < 0) ||
        (weight.n > 0 && bj_slice_u64(weight, &n.weight) < 0))
        return -EINVAL;
    if (n.mem_bytes != BJ_ABSENT && n.mem_free_bytes != BJ_ABSENT)
        n.mem_allocated_bytes =
            n.mem_free_bytes < n.mem_bytes ? n.mem_bytes - n.mem_free_bytes : 0;
    const bool known = n.cpus != BJ_ABSENT;
    n.state = bj_node_state_parse(n.state_text, known ? n.allocated : 0,
                                  known ? n.cpus : 0);
    return bj_cluster_add_node(w, &n);
}

static int own_take(struct bj_cluster_work *w, struct bj_slice line,
                    int (*add)(struct bj_cluster_work *w,
                               const struct bj_json *v))
{
    struct bj_arena arena = {0};
    const struct bj_json *v;
    int r = own_parse(line, &arena, &v);
    if (r == 0)
        r = add(w, v);
    bj_arena_free(&arena);
    return r;
}

int bj_cluster_own_job_line(struct bj_cluster_work *w, struct bj_slice line)
{
    return own_take(w, line, own_take_job);
}

int bj_cluster_own_node_line(struct bj_cluster_work *w, struct bj_slice line)
{
    return own_take(w, line, own_take_node);
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
