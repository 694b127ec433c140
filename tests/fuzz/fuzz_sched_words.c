/* The small grammars of sched/ (durations, host lists, ids, ...): every result
 * is within its limits. */
#include "sched/hostlist.h"
#include "sched/jobid.h"
#include "sched/state.h"
#include "sched/tres.h"
#include "sched/value.h"
#include "tests/fuzz/fuzz_sched.h"

static void must_lie_in(struct bj_slice s, struct bj_slice text)
{
    MUST(s.n == 0 || (s.p >= text.p && s.p + s.n <= text.p + text.n));
}

static void hosts(struct bj_slice text, enum bj_hosts_grammar g)
{
    enum { ENOUGH = 10000 };
    uint64_t n, seen = 0;
    struct bj_hostlist l;
    struct bj_slice name;
    if (bj_hostlist_count(text, g, &n) < 0) {
        MUST(bj_hostlist_begin(&l, text, g) < 0);
        return;
    }
    MUST(bj_hostlist_begin(&l, text, g) == 0);
    while (seen < ENOUGH && bj_hostlist_next(&l, &name)) {
        MUST(name.n > 0 && name.n <= BJ_HOST_MAX);
        MUST(strlen(l.name) == name.n && !strpbrk(l.name, " ,[]\n"));
        seen++;
    }
    MUST(seen == ENOUGH ? n >= seen : n == seen);
}

/* A list in Slurm's notation has the same hosts; one may be called "none". */
static void fold(struct bj_slice text, enum bj_hosts_grammar g)
{
    struct bj_hostfold f = {.host = NULL};
    struct bj_hosts h;
    uint64_t n;
    if (bj_hostfold(&f, text, g, &h) == 0) {
        MUST(bj_hostlist_count(h.text, BJ_HOSTS_SLURM, &n) == 0);
        MUST(n == h.hosts || (h.hosts == 1 && n == 0));
    }
    bj_hostfold_free(&f);
}

static void resources(struct bj_slice text)
{
    struct seen s = {0};
    struct bj_tres_list list;
    struct bj_tres_used used;
    bj_tres_parse(text, BJ_TRES_REQUESTED, &list);
    hash_tres(&s, &list);
    bj_tres_sum(&list, BJ_TRES_GRES, BJ_SLICE("gpu"), NULL);
    MUST(bj_tres_parse(text, BJ_TRES_USED, &list) <= text.n);
    hash_tres(&s, &list);
    bj_tres_used(text, &used);
}

static void ids(struct bj_slice text)
{
    int (*const parse[])(struct bj_slice, struct bj_jobid *) = {bj_jobid_slurm,
                                                                bj_jobid_pbs};
    for (int i = 0; i < 2; i++) {
        struct bj_jobid id;
        if (parse[i](text, &id) < 0)
            continue;
        MUST(id.number <= INT64_MAX);
        MUST(id.task == BJ_ABSENT || (id.array && id.task <= INT64_MAX));
        MUST(id.without_step.n > 0 && id.without_step.n <= text.n);
        must_lie_in(id.tasks, text);
        must_lie_in(id.step, text);
        must_lie_in(id.server, text);
    }
}

static void numbers(struct bj_slice text)
{
    uint64_t v = 7, sec = 7, uid = 7;
    enum bj_memory_per per = BJ_MEMORY_JOB;
    int r = bj_elapsed_parse(text, &v);
    MUST(r == 0 || v == 7);
    MUST(r < 0 || v == BJ_ABSENT || v <= BJ_UNLIMITED);
    MUST(bj_duration_sec(text, &sec) == r);
    MUST(r < 0 || v >= BJ_UNLIMITED ? r < 0 || sec == v : sec == v / 1000000);
    v = 7;
    MUST(bj_memory_parse(text, 1, &v) == 0 || v == 7);
    bj_memory_request(text, &v, &per);
    v = 7;
    r = bj_time_slurm(text, &v);
    MUST(r < 0 ? v == 7 : v == BJ_ABSENT || v <= INT64_MAX);
    v = 7;
    r = bj_time_pbs(text, &v);
    MUST(r < 0 ? v == 7 : v == BJ_ABSENT || v <= INT64_MAX);
    v = 7;
    r = bj_time_lsf(text, 1795174000, &v);
    MUST(r < 0 ? v == 7 : v == BJ_ABSENT || v <= INT64_MAX);
    bj_time_pbs_stamp(text, 720, &v);
    MUST((unsigned)bj_state_slurm(text, &uid) < BJ_STATES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    const struct bj_slice text = fuzz_exact(data, size, &mem);
    numbers(text);
    ids(text);
    resources(text);
    hosts(text, BJ_HOSTS_SLURM);
    hosts(text, BJ_HOSTS_PBS);
    hosts(text, BJ_HOSTS_LSF);
    fold(text, BJ_HOSTS_PBS);
    fold(text, BJ_HOSTS_LSF);
    free(mem);
    return 0;
}
