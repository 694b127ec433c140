#include "sched/pbs_live.h"

#include "sched/pbs.h"
#include "sched/pbs_attr.h"
#include "sched/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bj_qstat_argv[] = {"qstat", "-f", "-F", "json", NULL};
const char *const bj_pbsnodes_argv[] = {"pbsnodes", "-a", "-F", "json", NULL};
const char *const bj_qstat_queues_argv[] = {"qstat", "-Q",   "-f",
                                            "-F",    "json", NULL};

enum { TEXT = 256 };

struct bj_pbs_live {
    struct bj_pbs_live_conf conf;
    struct bj_pbs_json *json;
    struct bj_hostfold fold; /* nodes of the current job */
};

/* --- jobs -----------------------------------------------------------------*/

static const struct {
    char letter;
    const char *state;
} states[] = {{'R', "RUNNING"},   {'E', "COMPLETING"}, {'S', "SUSPENDED"},
              {'U', "SUSPENDED"}, {'Q', "PENDING"},    {'H', "PENDING"},
              {'W', "PENDING"},   {'T', "PENDING"},    {'B', "RUNNING"}};

/* Why a job waits.  "Not Running: Insufficient amount of resource: ncpus (R: 16
 * A: 2 T: 32)" becomes the part in the middle, with the name of the resource.
 * Comments are also about what was before: "Job run at ...". */
static struct bj_slice reason_of(const struct bj_pbs_row *row, char text[TEXT])
{
    static const struct {
        struct bj_slice head;
        char state;
        bool cut;
    } comments[] = {{BJ_WORD("Not Running: "), 'Q', true},
                    {BJ_WORD("Can Never Run"), 'Q', false},
                    {BJ_WORD("job held"), 'H', false}};
    static const struct {
        char state, hold; /* 0: any */
        const char *reason;
    } others[] = {{'H', 'u', "held by its user"},
                  {'H', 'o', "held by an operator"},
                  {'H', 0, "held by PBS"},
                  {'W', 0, "waits for its start time"},
                  {'T', 0, "moves to another server"}};
    const char state = row->state.p[0];
    const char hold = row->hold.n > 0 ? *row->hold.p : 0;
    struct bj_slice s = row->job.comment;
    size_t n = 0;
    if (state == 'H' && row->depend.n > 0)
        return BJ_SLICE("waits for another job");
    for (size_t i = 0; i < sizeof(comments) / sizeof(comments[0]); i++) {
        if (state != comments[i].state || !bj_slice_starts(s, comments[i].head))
            continue;
        for (size_t k = comments[i].cut ? comments[i].head.n : 0;
             k < s.n && s.p[k] != '(' && n < TEXT; k++)
            if (s.p[k] != ':' && s.p[k] != ',')
                text[n++] = s.p[k];
        return bj_slice_trim((struct bj_slice){text, n});
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (state == others[i].state &&
            (others[i].hold == 0 || others[i].hold == hold))
            return bj_slice_str(others[i].reason);
    return (struct bj_slice){"", 0};
}

static void add_tres(struct bj_tres_list *list, enum bj_tres_type type,
                     struct bj_slice name, uint64_t count)
{
    if (count != BJ_ABSENT)
        list->v[list->n++] =
            (struct bj_tres){.type = type, .name = name, .count = count};
}

static struct bj_squeue_job make_job(const struct bj_pbs_row *row)
{
    const struct bj_sched_job *j = &row->job;
    struct bj_squeue_job ret = {.id = j->jobid,
                                .jobs = 1,
                                .partition = j->partition,
                                .account = j->account,
                                .user = j->user,
                                .host = j->submit_host,
                                .host_unknown = j->submit_host.n == 0,
                                .partial = true,
                                .reservation = j->reservation,
                                .submit_sec = j->submit_sec,
                                .eligible_sec = j->eligible_sec,
                                .start_sec = j->start_sec,
                                .nodes = j->nodes};
    add_tres(&ret.tres, BJ_TRES_CPU, BJ_SLICE(""), j->cpus);
    add_tres(&ret.tres, BJ_TRES_MEM, BJ_SLICE(""),
             j->mem_allocated_bytes != BJ_ABSENT ? j->mem_allocated_bytes
                                                 : j->mem_requested_bytes);
    add_tres(&ret.tres, BJ_TRES_GRES, BJ_SLICE("gpu"),
             j->gpus != BJ_ABSENT ? j->gpus : row->gpus_requested);
    return ret;
}

/* The number behind "Queued:" and others. */
static uint64_t tasks_of(struct bj_slice text, struct bj_slice name)
{
    struct bj_slice word, key;
    uint64_t n = 0;
    while (bj_slice_word(&text, &word))
        if (bj_slice_field(&word, ':', &key) && bj_slice_eq(key, name) &&
            bj_slice_u64(word, &n) == 0)
            return n;
    return 0;
}

/* The number of tasks in "1-9:2,12", in "-" none; BJ_ABSENT: another text. */
static uint64_t count_tasks(struct bj_slice list)
{
    struct bj_slice one, word;
    uint64_t n = 0;
    if (list.n == 0)
        return BJ_ABSENT;
    if (bj_slice_eq(list, BJ_SLICE("-")))
        return 0;
    while (bj_slice_field(&list, ',', &one)) {
        uint64_t first, last, step = 1;
        bj_slice_field(&one, '-', &word);
        if (bj_slice_u64(word, &first) < 0)
            return BJ_ABSENT;
        last = first;
        if (one.n > 0) {
            bj_slice_field(&one, ':', &word);
            if (bj_slice_u64(word, &last) < 0 || last < first ||
                (one.n > 0 && (bj_slice_u64(one, &step) < 0 || step == 0)))
                return BJ_ABSENT;
        }
        if (__builtin_add_overflow(n, (last - first) / step, &n) ||
            __builtin_add_overflow(n, 1, &n))
            return BJ_ABSENT;
    }
    return n;
}

/* Tasks of an array, by state; the array itself is no job.  Its request is that
 * of a task.  PBS 23.06 counts tasks whose start failed as queued forever, but
 * lists those that wait rightly. */
static int take_array(const struct bj_pbs_live *p, const struct bj_pbs_row *row,
                      struct bj_squeue_job *j)
{
    static const struct {
        struct bj_slice word;
        const char *state;
    } kinds[] = {{BJ_WORD("Queued"), "PENDING"},
                 {BJ_WORD("Running"), "RUNNING"},
                 {BJ_WORD("Exiting"), "COMPLETING"}};
    const struct bj_slice reason = j->reason;
    int e = 0;
    for (size_t i = 0; e == 0 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const uint64_t listed = i == 0 ? count_tasks(row->waiting) : BJ_ABSENT;
        j->jobs =
            listed != BJ_ABSENT ? listed : tasks_of(row->tasks, kinds[i].word);
        j->state = bj_slice_str(kinds[i].state);
        j->reason = i == 0 ? reason : (struct bj_slice){"", 0};
        if (j->jobs > 0)
            e = p->conf.job(p->conf.ctx, j);
    }
    return e;
}

static int pbs_live_take_job(void *ctx, struct bj_slice id,
                             const struct bj_pbs_json *r, struct bj_err *err)
{
    struct bj_pbs_live *p = ctx;
    struct bj_pbs_row row;
    struct bj_slice key, value;
    char text[TEXT];
    const char *state = NULL;
    bj_pbs_row_init(&row);
    for (unsigned i = 0; bj_pbs_json_attr(r, i, &key, &value); i++)
        bj_pbs_attr(&row, key, value);
    if (bj_pbs_settle(&row, id, &p->fold) < 0)
        return bj_err_set(err, -ENOMEM, "qstat: no memory");
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (row.state.n == 1 && row.state.p[0] == states[i].letter)
            state = states[i].state;
    if (row.job.id_number == BJ_ABSENT || row.state.n != 1) {
        p->conf.bad(p->conf.ctx);
        return 0;
    }
    /* Ended ones (qstat -x), and tasks, which their array counts. */
    if (memchr("FXM", row.state.p[0], 3) || row.job.array_task != BJ_ABSENT)
        return 0;
    struct bj_squeue_job j = make_job(&row);
    j.state = state ? bj_slice_str(state) : row.state;
    j.reason = reason_of(&row, text);
    const int e = bj_pbs_is_array(&row) ? take_array(p, &row, &j)
                                        : p->conf.job(p->conf.ctx, &j);
    return e < 0 ? bj_err_set(err, e, "qstat") : 0;
}

/* --- nodes ----------------------------------------------------------------*/

/* The words of a state, which PBS separates by commas, and the flags of Slurm
 * with the same meaning. */
static const struct word {
    struct bj_slice word;
    enum { KEEP, FULL, BASE } set; /* FULL: no CPU is free for other jobs */
    enum bj_node_base base;
    uint32_t flags;
} words[] = {
    {BJ_WORD("free"), KEEP, 0, 0},
    {BJ_WORD("busy"), FULL, 0, 0},
    {BJ_WORD("job-busy"), FULL, 0, 0},
    {BJ_WORD("job-exclusive"), FULL, 0, 0},
    {BJ_WORD("resv-exclusive"), FULL, 0, 1u << BJ_NODE_RESERVED},
    {BJ_WORD("offline"), KEEP, 0, 1u << BJ_NODE_DRAIN},
    {BJ_WORD("down"), BASE, BJ_NODE_DOWN, 0},
    {BJ_WORD("state-unknown"), BASE, BJ_NODE_UNKNOWN, 0},
    {BJ_WORD("stale"), BASE, BJ_NODE_UNKNOWN, 0},
    {BJ_WORD("unresolvable"), BASE, BJ_NODE_DOWN, 1u << BJ_NODE_NOT_RESPONDING},
    {BJ_WORD("initializing"), BASE, BJ_NODE_UNKNOWN, 0},
    {BJ_WORD("maintenance"), KEEP, 0,
     1u << BJ_NODE_MAINTENANCE | 1u << BJ_NODE_DRAIN},
    {BJ_WORD("provisioning"), BASE, BJ_NODE_DOWN, 1u << BJ_NODE_REBOOT_ISSUED},
    {BJ_WORD("wait-provisioning"), KEEP, 0, 1u << BJ_NODE_REBOOT_REQUESTED},
    {BJ_WORD("sleep"), KEEP, 0, 1u << BJ_NODE_POWERED_DOWN},
};

/* What pbsnodes says about a vnode. */
struct vnode {
    struct bj_slice state, queue, comment;
    uint64_t cpus, cpus_used, mem, mem_used, gpus[2], gpus_used[2];
};

static int pbs_live_number(struct bj_slice s, uint64_t *to)
{
    return bj_slice_u64(s, to);
}

static int pbs_live_size(struct bj_slice s, uint64_t *to)
{
    return bj_memory_parse(s, 1, to);
}

static void read_vnode(const struct bj_pbs_json *r, struct vnode *v)
{
    const struct {
        struct bj_slice key;
        struct bj_slice *text;
        int (*parse)(struct bj_slice, uint64_t *);
        uint64_t *to;
    } all[] = {
        {BJ_WORD("state"), &v->state, NULL, NULL},
        {BJ_WORD("queue"), &v->queue, NULL, NULL},
        {BJ_WORD("comment"), &v->comment, NULL, NULL},
        {BJ_WORD("resources_available.ncpus"), NULL, pbs_live_number, &v->cpus},
        {BJ_WORD("resources_assigned.ncpus"), NULL, pbs_live_number,
         &v->cpus_used},
        {BJ_WORD("resources_available.mem"), NULL, pbs_live_size, &v->mem},
        {BJ_WORD("resources_assigned.mem"), NULL, pbs_live_size, &v->mem_used},
        {BJ_WORD("resources_available.ngpus"), NULL, pbs_live_number,
         &v->gpus[0]},
        {BJ_WORD("resources_assigned.ngpus"), NULL, pbs_live_number,
         &v->gpus_used[0]},
        {BJ_WORD("resources_available.naccelerators"), NULL, pbs_live_number,
         &v->gpus[1]},
        {BJ_WORD("resources_assigned.naccelerators"), NULL, pbs_live_number,
         &v->gpus_used[1]},
    };
    struct bj_slice key, value;
    *v = (struct vnode){
        .cpus = BJ_ABSENT, .mem = BJ_ABSENT, .gpus = {BJ_ABSENT, BJ_ABSENT}};
    for (unsigned i = 0; bj_pbs_json_attr(r, i, &key, &value); i++)
        for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
            if (bj_slice_eq(key, all[k].key) && all[k].text)
                *all[k].text = value;
            else if (bj_slice_eq(key, all[k].key) &&
                     all[k].parse(value, all[k].to) < 0)
                *all[k].to = BJ_ABSENT;
}

static void set_state(const struct vnode *v, struct bj_sinfo_node *n,
                      bool *ret_full)
{
    struct bj_slurm_node_state *s = &n->state;
    struct bj_slice rest = v->state, one;
    bool base = false;
    *ret_full = false;
    while (bj_slice_field(&rest, ',', &one)) {
        const struct word *w = words, *end = words + sizeof(words) / sizeof(*w);
        while (w < end && !bj_slice_eq(w->word, one))
            w++;
        if (w == end) {
            if (s->unknown < BJ_NODE_WORDS)
                s->word[s->unknown] = one;
            s->unknown++;
            continue;
        }
        s->flags |= w->flags;
        *ret_full |= w->set == FULL;
        /* Of several ("state-unknown,down") down counts. */
        if (w->set == BASE && (!base || w->base == BJ_NODE_DOWN))
            s->base = w->base;
        base |= w->set == BASE;
    }
    if (base)
        return;
    const bool known = v->cpus != BJ_ABSENT && v->cpus_used != BJ_ABSENT;
    s->base = *ret_full                                ? BJ_NODE_ALLOCATED
              : !known || v->state.n == 0              ? BJ_NODE_UNKNOWN
              : v->cpus_used == 0                      ? BJ_NODE_IDLE
              : v->cpus > 0 && v->cpus_used >= v->cpus ? BJ_NODE_ALLOCATED
                                                       : BJ_NODE_MIXED;
}

/* CPUs that neither run jobs nor could: as sinfo counts them. */
static void set_cpus(const struct vnode *v, bool full, struct bj_sinfo_node *n)
{
    const uint32_t out = 1u << BJ_NODE_DRAIN | 1u << BJ_NODE_REBOOT_ISSUED |
                         1u << BJ_NODE_REBOOT_REQUESTED;
    const bool usable = n->state.base == BJ_NODE_IDLE ||
                        n->state.base == BJ_NODE_MIXED ||
                        n->state.base == BJ_NODE_ALLOCATED;
    n->cpus = n->allocated = n->idle = n->other = BJ_ABSENT;
    if (v->cpus == BJ_ABSENT || v->cpus_used == BJ_ABSENT)
        return;
    n->cpus = v->cpus;
    n->allocated = v->cpus_used < v->cpus ? v->cpus_used : v->cpus;
    const uint64_t left = v->cpus - n->allocated;
    const bool free = usable && !full && !(n->state.flags & out);
    n->idle = free ? left : 0;
    n->other = free ? 0 : left;
}

static int pbs_live_take_node(void *ctx, struct bj_slice id,
                              const struct bj_pbs_json *r, struct bj_err *err)
{
    const struct bj_pbs_live *p = ctx;
    struct vnode v;
    bool full;
    char gres[32], used[32];
    read_vnode(r, &v);
    struct bj_sinfo_node n = {.name = id,
                              .partition = v.queue,
                              .any_partition = v.queue.n == 0,
                              .state_text = v.state,
                              .mem_bytes = v.mem,
                              .mem_allocated_bytes = v.mem_used,
                              .mem_free_bytes = BJ_ABSENT,
                              .load_centi = BJ_ABSENT,
                              .weight = BJ_ABSENT,
                              .reason = v.comment};
    set_state(&v, &n, &full);
    /* A comment stays when the node works again. */
    if (n.state.flags == 0 && n.state.unknown == 0 &&
        n.state.base != BJ_NODE_DOWN && n.state.base != BJ_NODE_UNKNOWN)
        n.reason = (struct bj_slice){"", 0};
    set_cpus(&v, full, &n);
    if (v.mem == BJ_ABSENT)
        n.mem_allocated_bytes = BJ_ABSENT;
    const int of = v.gpus[0] != BJ_ABSENT ? 0 : 1;
    if (v.gpus[of] != BJ_ABSENT && v.gpus[of] > 0 &&
        v.gpus_used[of] != BJ_ABSENT) {
        snprintf(gres, sizeof(gres), "gpu:%llu",
                 (unsigned long long)v.gpus[of]);
        snprintf(used, sizeof(used), "gpu:%llu",
                 (unsigned long long)v.gpus_used[of]);
        n.gres = bj_slice_str(gres);
        n.gres_used = bj_slice_str(used);
    }
    const int e = p->conf.node(p->conf.ctx, &n);
    return e < 0 ? bj_err_set(err, e, "pbsnodes") : 0;
}

/* --- queues ---------------------------------------------------------------*/

/* Whose limit it is: of all jobs of the queue together, of each user, or of
 * each job. */
enum scope { TOGETHER, EACH_USER, EACH_JOB, SCOPES };

/* What is limited: the numbers of jobs, then those of resources. */
enum what { RUNNING, SUBMITTED, CPUS, NODES, MEMORY, GPUS, WHATS };

/* Limits of a user in the queue. */
struct own {
    struct bj_slice user;
    uint64_t v[WHATS];
};

enum { OWN_MAX = 256 }; /* most users with limits of their own in a queue */

struct limits {
    uint64_t v[SCOPES][WHATS];
    struct own own[OWN_MAX];
    unsigned owns;
    bool bad; /* something was left out */
};

static const struct {
    struct bj_slice name;
    enum what what;
    int (*parse)(struct bj_slice, uint64_t *);
} resources[] = {{BJ_WORD("ncpus"), CPUS, pbs_live_number},
                 {BJ_WORD("nodect"), NODES, pbs_live_number},
                 {BJ_WORD("mem"), MEMORY, pbs_live_size},
                 {BJ_WORD("ngpus"), GPUS, pbs_live_number},
                 {BJ_WORD("naccelerators"), GPUS, pbs_live_number}};

/* Of two limits of GPUs by different names the smaller one counts. */
static void set_limit(uint64_t *to, uint64_t v)
{
    if (*to == BJ_ABSENT || v < *to)
        *to = v;
}

static void no_limits(uint64_t v[WHATS])
{
    for (unsigned i = 0; i < WHATS; i++)
        v[i] = BJ_ABSENT;
}

static struct own *own_of(struct limits *l, struct bj_slice user)
{
    for (unsigned i = 0; i < l->owns; i++)
        if (bj_slice_eq(l->own[i].user, user))
            return &l->own[i];
    if (l->owns == OWN_MAX)
        return NULL;
    struct own *o = &l->own[l->owns++];
    o->user = user;
    no_limits(o->v);
    return o;
}

/* "[o:PBS_ALL=10],[u:PBS_GENERIC=4],[u:alice=2],[g:PBS_GENERIC=8]": of all
 * jobs, of each user, of a user, of groups; p is a project. */
static void take_entries(struct limits *l, enum what what,
                         int (*parse)(struct bj_slice, uint64_t *),
                         struct bj_slice text)
{
    struct bj_slice entry;
    while (bj_slice_field(&text, ',', &entry)) {
        struct bj_slice s = bj_slice_trim(entry), name, kind;
        uint64_t v = BJ_ABSENT;
        if (s.n < 2 || s.p[0] != '[' || s.p[s.n - 1] != ']') {
            l->bad = true;
            continue;
        }
        s = (struct bj_slice){s.p + 1, s.n - 2};
        if (!bj_slice_field(&s, ':', &kind) ||
            !bj_slice_field(&s, '=', &name) ||
            parse(bj_slice_trim(s), &v) < 0) {
            l->bad = true;
            continue;
        }
        uint64_t *to = NULL;
        struct own *o = NULL;
        if (bj_slice_eq(kind, BJ_SLICE("o")))
            to = &l->v[TOGETHER][what];
        else if (!bj_slice_eq(kind, BJ_SLICE("u")))
            continue;
        else if (bj_slice_eq(name, BJ_SLICE("PBS_GENERIC")))
            to = &l->v[EACH_USER][what];
        else if ((o = own_of(l, name)) != NULL)
            to = &o->v[what];
        if (to)
            set_limit(to, v);
        else
            l->bad = true;
    }
}

/* A limit by the name of its attribute.  Soft limits, those of groups, and
 * those of resources that waiting jobs request are not read. */
static void take_limit(struct limits *l, struct bj_slice key,
                       struct bj_slice value)
{
    static const struct {
        struct bj_slice key;
        enum what what;
        bool entries; /* "[u:...]"; else a number */
        enum scope scope;
    } jobs[] = {
        {BJ_WORD("max_run"), RUNNING, true, TOGETHER},
        {BJ_WORD("max_queued"), SUBMITTED, true, TOGETHER},
        /* the older form */
        {BJ_WORD("max_running"), RUNNING, false, TOGETHER},
        {BJ_WORD("max_queuable"), SUBMITTED, false, TOGETHER},
        {BJ_WORD("max_user_run"), RUNNING, false, EACH_USER},
    };
    static const struct {
        struct bj_slice head;
        bool entries;
        enum scope scope;
    } heads[] = {{BJ_WORD("max_run_res."), true, TOGETHER},
                 {BJ_WORD("resources_max."), false, EACH_JOB}};
    uint64_t v;
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
        if (!bj_slice_eq(key, jobs[i].key))
            continue;
        else if (jobs[i].entries)
            take_entries(l, jobs[i].what, pbs_live_number, value);
        else if (pbs_live_number(value, &v) == 0)
            set_limit(&l->v[jobs[i].scope][jobs[i].what], v);
        else
            l->bad = true;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        for (size_t k = 0; k < sizeof(resources) / sizeof(resources[0]); k++) {
            const struct bj_slice head = heads[i].head;
            if (!bj_slice_starts(key, head) ||
                !bj_slice_eq((struct bj_slice){key.p + head.n, key.n - head.n},
                             resources[k].name))
                continue;
            if (heads[i].entries)
                take_entries(l, resources[k].what, resources[k].parse, value);
            else if (resources[k].parse(value, &v) == 0)
                set_limit(&l->v[heads[i].scope][resources[k].what], v);
            else
                l->bad = true;
        }
}

static void put_resources(const uint64_t v[WHATS], struct bj_tres_list *to)
{
    add_tres(to, BJ_TRES_CPU, BJ_SLICE(""), v[CPUS]);
    add_tres(to, BJ_TRES_NODE, BJ_SLICE(""), v[NODES]);
    add_tres(to, BJ_TRES_MEM, BJ_SLICE(""), v[MEMORY]);
    add_tres(to, BJ_TRES_GRES, BJ_SLICE("gpu"), v[GPUS]);
}

static bool is_any(const struct limits *l)
{
    for (unsigned i = 0; i < SCOPES; i++)
        for (unsigned k = 0; k < WHATS; k++)
            if (l->v[i][k] != BJ_ABSENT)
                return true;
    return false;
}

static int hand_limits(const struct bj_pbs_live *p, struct bj_slice queue,
                       const struct limits *l)
{
    struct bj_limits v = {.partition = queue,
                          .jobs = l->v[TOGETHER][RUNNING],
                          .submit = l->v[TOGETHER][SUBMITTED],
                          .max_jobs = l->v[EACH_USER][RUNNING],
                          .max_submit = l->v[EACH_USER][SUBMITTED]};
    int e = 0;
    put_resources(l->v[TOGETHER], &v.group);
    put_resources(l->v[EACH_JOB], &v.max);
    if (is_any(l))
        e = p->conf.limits(p->conf.ctx, &v);
    for (unsigned i = 0; e >= 0 && i < l->owns; i++) {
        const struct own *o = &l->own[i];
        v = (struct bj_limits){.partition = queue,
                               .user = o->user,
                               .jobs = o->v[RUNNING],
                               .submit = o->v[SUBMITTED],
                               .max_jobs = BJ_ABSENT,
                               .max_submit = BJ_ABSENT};
        put_resources(o->v, &v.group);
        e = p->conf.limits(p->conf.ctx, &v);
    }
    return e;
}

/* "True", "False"; where PBS prints none, it is not set, which is false. */
static uint64_t truth(struct bj_slice s)
{
    return bj_slice_eq(s, BJ_SLICE("True"))    ? 1
           : bj_slice_eq(s, BJ_SLICE("False")) ? 0
                                               : BJ_ABSENT;
}

static int take_queue(void *ctx, struct bj_slice id,
                      const struct bj_pbs_json *r, struct bj_err *err)
{
    const struct bj_pbs_live *p = ctx;
    struct bj_pbs_queue q = {.name = id, .enabled = 0, .started = 0};
    struct limits l = {.bad = false};
    struct bj_slice key, value;
    for (unsigned i = 0; i < SCOPES; i++)
        no_limits(l.v[i]);
    for (unsigned i = 0; bj_pbs_json_attr(r, i, &key, &value); i++)
        if (bj_slice_eq(key, BJ_SLICE("enabled")))
            q.enabled = truth(value);
        else if (bj_slice_eq(key, BJ_SLICE("started")))
            q.started = truth(value);
        else
            take_limit(&l, key, value);
    if (l.bad)
        p->conf.bad(p->conf.ctx);
    int e = p->conf.queue(p->conf.ctx, &q);
    if (e >= 0)
        e = hand_limits(p, id, &l);
    return e < 0 ? bj_err_set(err, e, "qstat -Q") : 0;
}

/* --- calls ----------------------------------------------------------------*/

static void pbs_live_take_bad(void *ctx, const struct bj_pbs_bad *bad)
{
    const struct bj_pbs_live *p = ctx;
    if (bad->left_out)
        p->conf.bad(p->conf.ctx);
}

int bj_pbs_live_new(const struct bj_pbs_live_conf *conf, enum bj_pbs_list list,
                    struct bj_pbs_live **ret, struct bj_err *err)
{
    static const struct {
        const char *objects;
        int (*object)(void *ctx, struct bj_slice id,
                      const struct bj_pbs_json *r, struct bj_err *err);
    } kinds[] = {[BJ_PBS_JOBS] = {"Jobs", pbs_live_take_job},
                 [BJ_PBS_NODES] = {"nodes", pbs_live_take_node},
                 [BJ_PBS_QUEUES] = {"Queue", take_queue}};
    struct bj_pbs_live *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "PBS: no memory");
    p->conf = *conf;
    const struct bj_pbs_conf json = {.ctx = p,
                                     .bad = pbs_live_take_bad,
                                     .objects = kinds[list].objects,
                                     .object = kinds[list].object};
    const int e = bj_pbs_json_new(&json, &p->json, err);
    if (e < 0) {
        free(p);
        return e;
    }
    *ret = p;
    return 0;
}

int bj_pbs_live_feed(struct bj_pbs_live *p, struct bj_slice piece,
                     struct bj_err *err)
{
    return bj_pbs_json_feed(p->json, piece, err);
}

int bj_pbs_live_end(struct bj_pbs_live *p, struct bj_err *err)
{
    const int e = bj_pbs_json_end(p->json, err);
    if (e != -EINVAL)
        return e;
    if (err)
        err->code = -EBADMSG;
    return -EBADMSG;
}

void bj_pbs_live_free(struct bj_pbs_live *p)
{
    if (!p)
        return;
    bj_pbs_json_free(p->json);
    bj_hostfold_free(&p->fold);
    free(p);
}
