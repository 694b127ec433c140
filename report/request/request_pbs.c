/* The model of PBS: resources after -l of qsub.
 *
 * Chunks (select, with place) and resources of the whole job (ncpus, mem,
 * nodes) exclude each other, and PBS turns the latter into the former: it
 * records the chunks of every job.  A select is replaced as a whole.  Memory,
 * CPUs and GPUs of a chunk are for one host.  Of a resource that is there
 * twice, the first one counts, and the command line before the script.
 * Source: qsub(1B), pbs_resources(7B); tried with OpenPBS 23.06. */
#include "report/request/request_impl.h"

#include <string.h>

enum { MOST = 24, KINDS = 16, KIB = 1024 };

/* One resource of -l, or of a chunk: "ncpus=4". */
struct item {
    struct bj_slice word, name, value;
};

struct items {
    struct item v[MOST];
    unsigned n;
    bool odd; /* too many, or one of them twice */
};

/* The resources that change. */
enum amount { CPUS, MPI, THREADS, GPUS, MEMORY, SWAP, AMOUNTS };

static const struct {
    const char *name[2];
    bool bytes;
} amounts[AMOUNTS] = {
    [CPUS] = {{"ncpus"}, false},
    [MPI] = {{"mpiprocs"}, false},
    [THREADS] = {{"ompthreads"}, false},
    [GPUS] = {{"ngpus", "naccelerators"}, false},
    [MEMORY] = {{"mem"}, true},
    [SWAP] = {{"vmem"}, true},
};

/* Equal chunks, "2:ncpus=4:mem=8gb", or the whole job. */
struct chunk {
    struct items items;
    bool counted; /* it begins with the number of chunks */
    int64_t count, to_count;
    int64_t has[AMOUNTS], to[AMOUNTS]; /* of one of them; -1: none */
};

struct pbs {
    struct bj_request_out *out;
    const struct bj_request_job *job;
    const struct bj_request_need *need;
    struct items line; /* all resources of the submit line */
    struct chunk kind[KINDS];
    unsigned kinds;
    int64_t chunks; /* of all kinds */
    bool select;    /* kind is of a select, not of the whole job */
    bool recorded;  /* the select is PBS's, not that of the submit line */
    bool odd;       /* not in this model */
    bool limits;    /* memory is limited for processes, too */
    bool exclusive, pack;
    struct bj_slice place;
};

static const char *const units[] = {"gb", "mb"};

static bool is_named(struct bj_slice name, enum amount a)
{
    return bj_slice_eq(name, bj_slice_str(amounts[a].name[0])) ||
           (amounts[a].name[1] &&
            bj_slice_eq(name, bj_slice_str(amounts[a].name[1])));
}

static const struct item *pbs_find(const struct items *i, const char *name)
{
    for (unsigned k = 0; k < i->n; k++)
        if (bj_slice_eq(i->v[k].name, bj_slice_str(name)))
            return &i->v[k];
    return NULL;
}

static void add_item(struct items *to, struct bj_slice word)
{
    struct bj_slice value = word, name;
    if (!memchr(word.p, '=', word.n) || !bj_slice_field(&value, '=', &name) ||
        to->n == MOST) {
        to->odd = true;
        return;
    }
    for (unsigned k = 0; k < to->n; k++)
        to->odd |= bj_slice_eq(to->v[k].name, name);
    to->v[to->n++] = (struct item){word, name, value};
}

/* --- reading ---------------------------------------------------------------
 */

static void pbs_read_line(struct pbs *p)
{
    struct bj_slice rest = p->job->submit_line, word, list, one;
    while (bj_slice_word(&rest, &word)) {
        if (!bj_slice_starts(word, BJ_SLICE("-l")))
            continue;
        list = (struct bj_slice){word.p + 2, word.n - 2};
        if (list.n == 0 && !bj_slice_word(&rest, &list))
            return;
        p->out->ret->line = true;
        while (bj_slice_field(&list, ',', &one))
            add_item(&p->line, one);
    }
}

static void read_amounts(struct chunk *c)
{
    for (unsigned a = 0; a < AMOUNTS; a++) {
        c->has[a] = c->to[a] = -1;
        for (unsigned i = 0; i < c->items.n; i++) {
            const struct item *item = &c->items.v[i];
            if (!is_named(item->name, a))
                continue;
            c->has[a] = amounts[a].bytes ? bj_request_bytes(item->value, 1)
                                         : bj_request_number(item->value);
            c->items.odd |= c->has[a] < 0;
        }
    }
    /* PBS counts memory in KiB. */
    if (c->has[MEMORY] > 0)
        c->has[MEMORY] = bj_request_up(c->has[MEMORY], KIB) * KIB;
}

/* "2:ncpus=4:mem=8gb" */
static void read_chunk(struct pbs *p, struct bj_slice rest)
{
    struct bj_slice one;
    if (p->kinds == KINDS) {
        p->odd = true;
        return;
    }
    struct chunk *c = &p->kind[p->kinds++];
    c->count = 1;
    for (bool first = true; bj_slice_field(&rest, ':', &one); first = false) {
        c->counted |= first && !memchr(one.p, '=', one.n);
        if (first && c->counted)
            c->count = bj_request_number(one);
        else
            add_item(&c->items, one);
    }
    read_amounts(c);
    c->to_count = c->count;
    p->odd |= c->items.odd || c->count < 1 || pbs_find(&c->items, "ppn");
    p->chunks += c->count;
}

/* Only what needs no quotes in a shell. */
static bool pbs_is_plain(struct bj_slice s)
{
    static const char more[] = "=:+._-,/@%";
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i], letter = c & ~0x20;
        if (!(letter >= 'A' && letter <= 'Z') && !(c >= '0' && c <= '9') &&
            !memchr(more, c, sizeof(more) - 1))
            return false;
    }
    return s.n > 0;
}

static void read_place(struct pbs *p)
{
    const struct item *own = pbs_find(&p->line, "place");
    p->place = p->job->place.n > 0 ? p->job->place
               : own               ? own->value
                                   : (struct bj_slice){0};
    struct bj_slice rest = p->place, one;
    while (bj_slice_field(&rest, ':', &one)) {
        p->exclusive |= bj_slice_starts(one, BJ_SLICE("excl"));
        p->pack |= bj_slice_eq(one, BJ_SLICE("pack"));
    }
    p->odd |= p->place.n > 0 && !pbs_is_plain(p->place);
}

/* Resources of the whole job that PBS turns into chunks. */
static bool is_of_chunks(struct bj_slice name)
{
    bool ret = bj_slice_eq(name, BJ_SLICE("nodes"));
    for (unsigned a = 0; a < AMOUNTS; a++)
        ret |= is_named(name, a);
    return ret;
}

static void read_request(struct pbs *p)
{
    const struct item *select = pbs_find(&p->line, "select");
    struct bj_slice rest, one;
    bool whole = false;
    for (unsigned i = 0; i < p->line.n; i++)
        whole |= is_of_chunks(p->line.v[i].name);
    p->odd |= p->line.odd || (select && whole);
    p->limits = pbs_find(&p->line, "pmem") || pbs_find(&p->line, "pvmem");
    p->select = select || !whole || pbs_find(&p->line, "nodes");
    p->recorded = p->select && !select;
    rest = select ? select->value : p->job->select;
    p->odd |= p->select && !pbs_is_plain(rest);
    while (p->select && bj_slice_field(&rest, '+', &one))
        read_chunk(p, one);
    if (!p->select) {
        p->kind[0] =
            (struct chunk){.items = p->line, .count = 1, .to_count = 1};
        p->kinds = 1;
        p->chunks = 1;
        read_amounts(&p->kind[0]);
        p->odd |= p->kind[0].items.odd;
    }
}

/* The sum over all chunks; -1: a chunk has none. */
static int64_t sum(const struct pbs *p, enum amount a)
{
    int64_t all = 0, add;
    for (unsigned i = 0; i < p->kinds; i++)
        if (p->kind[i].has[a] < 0 ||
            __builtin_mul_overflow(p->kind[i].has[a], p->kind[i].count, &add) ||
            __builtin_add_overflow(all, add, &all))
            return -1;
    return all;
}

/* --- amounts ---------------------------------------------------------------
 */

/* One chunk on each node. */
static bool is_spread(const struct pbs *p)
{
    return p->chunks == p->job->nodes;
}

/* All chunks are equal. */
static struct chunk *only(struct pbs *p)
{
    return p->kinds == 1 ? &p->kind[0] : NULL;
}

/* All tasks, and the memory of all nodes, on one. */
static bool all_on_one(struct pbs *p, struct chunk *c)
{
    const int64_t memory = p->need->memory_sum, n = c->count;
    const int64_t tasks = c->has[MPI] > 0 ? c->has[MPI] : 1;
    const int64_t threads = c->has[THREADS] > 0 ? c->has[THREADS]
                            : c->has[MPI] > 0   ? -1
                                                : c->has[CPUS];
    for (unsigned i = 0; i < c->items.n; i++)
        if (!is_of_chunks(c->items.v[i].name))
            return false;
    if (p->exclusive || p->job->gpus > 0 || c->has[GPUS] >= 0 ||
        c->has[SWAP] >= 0 || c->has[CPUS] < 1 || c->has[MEMORY] < 1 ||
        sum(p, MEMORY) != p->job->memory || !bj_request_wants(memory) ||
        memory > p->job->memory || p->limits)
        return false;
    c->to[CPUS] = c->has[CPUS] * n;
    c->to[MPI] = tasks * n;
    c->to[THREADS] = threads;
    c->to[MEMORY] = memory;
    return true;
}

/* The nodes of equal chunks, one on each. */
static bool fewer_nodes(struct pbs *p)
{
    struct chunk *c = only(p);
    const int64_t now = p->need->nodes;
    if (!bj_request_wants(now) || !c || !p->select || !is_spread(p) ||
        now < 1 || now >= c->count || pbs_find(&c->items, "host") ||
        pbs_find(&c->items, "vnode") ||
        (p->need->one_node && !all_on_one(p, c)))
        return false;
    c->to_count = now;
    return true;
}

/* The CPUs of a chunk that has the node, or chunks with a CPU each. */
static bool fewer_cpus(struct pbs *p)
{
    struct chunk *c = only(p);
    const int64_t want = p->need->cpus;
    if (!bj_request_wants(want) || !c || p->exclusive || p->job->nodes != 1 ||
        want < 1 || sum(p, CPUS) != p->job->cpus_requested ||
        want >= p->job->cpus_requested)
        return false;
    const int64_t cpus = c->has[CPUS], tasks = c->has[MPI],
                  threads = c->has[THREADS];
    if (c->count > 1) {
        if (cpus != 1 || tasks > 1 || threads > 1 || c->has[GPUS] >= 0 ||
            c->has[SWAP] >= 0 || (c->has[MEMORY] < 0 && p->job->memory > 0))
            return false;
        c->to_count = want;
        return true;
    }
    if (tasks > 1 ? tasks != cpus || threads > 1
                  : threads > 1 && threads != cpus)
        return false;
    c->to[CPUS] = want;
    c->to[MPI] = tasks > 1 ? want : -1;
    c->to[THREADS] = threads > 1 ? want : -1;
    return true;
}

static bool fewer_gpus(struct pbs *p)
{
    struct chunk *c = only(p);
    const int64_t now = p->need->gpus;
    if (!bj_request_wants(now) || !c || !p->select || p->exclusive || now < 1 ||
        now >= c->has[GPUS] || sum(p, GPUS) != p->job->gpus ||
        !(c->count == 1 || is_spread(p)))
        return false;
    c->to[GPUS] = now;
    return true;
}

/* The memory of a chunk without any in its request is a default of PBS. */
static bool know_memory(struct pbs *p)
{
    struct chunk *c = only(p);
    const int64_t had = p->job->memory;
    if (p->limits || had <= 0 || p->job->nodes < 1)
        return false;
    if (c && c->has[MEMORY] < 0 && had % c->count == 0)
        c->has[MEMORY] = had / c->count;
    return sum(p, MEMORY) == had;
}

/* Memory and swap: the latter includes the former. */
static void set_more(struct chunk *c, int64_t bytes)
{
    c->to[MEMORY] = bytes;
    if (c->has[SWAP] >= 0)
        c->to[SWAP] = c->has[SWAP] + bytes - c->has[MEMORY];
}

static bool more_memory(struct pbs *p, int64_t more)
{
    struct chunk *c = only(p);
    int64_t largest = 0;
    if (c && (p->job->nodes == 1 || is_spread(p))) {
        if (p->job->nodes == 1 && c->count > 1)
            more = bj_request_up(more, c->count);
        set_more(c, more);
        return more > c->has[MEMORY];
    }
    if (!is_spread(p))
        return false;
    /* Which of different chunks had too little is not known. */
    for (unsigned i = 0; i < p->kinds; i++) {
        set_more(&p->kind[i],
                 bj_request_round_memory(p->kind[i].has[MEMORY] / 2 * 3));
        if (p->kind[i].to[MEMORY] > largest)
            largest = p->kind[i].to[MEMORY];
    }
    return more <= largest;
}

/* node: what the fullest node needs. */
static bool less_memory(struct pbs *p, int64_t node)
{
    struct chunk *c = only(p);
    int64_t now = 0;
    if (p->exclusive || (!is_spread(p) && !(c && p->job->nodes == 1 &&
                                            (c->count == 1 || p->pack))))
        return false;
    for (unsigned i = 0; i < p->kinds; i++) {
        struct chunk *k = &p->kind[i];
        int64_t to = node;
        if (!is_spread(p))
            to = bj_request_up(node, k->to_count);
        k->to[MEMORY] =
            to < k->has[MEMORY] || k->to_count < k->count ? to : k->has[MEMORY];
        now += k->to[MEMORY] * (is_spread(p) ? k->count : k->to_count);
    }
    return bj_request_saves(now, p->job->memory);
}

static void pbs_forget(struct pbs *p, enum amount a)
{
    for (unsigned i = 0; i < p->kinds; i++)
        p->kind[i].to[a] = -1;
}

static bool memory(struct pbs *p)
{
    const int64_t node = p->need->memory, more = p->need->more;
    if (p->need->one_node && p->kind[0].to[MEMORY] >= 0)
        return bj_request_wants(node);
    if (!know_memory(p))
        return false;
    if (bj_request_wants(more) ? more_memory(p, more)
                               : bj_request_wants(node) && less_memory(p, node))
        return true;
    pbs_forget(p, MEMORY);
    pbs_forget(p, SWAP);
    /* Fewer chunks on one node keep the memory of all. */
    struct chunk *c = only(p);
    if (c && p->job->nodes == 1 && c->to_count < c->count)
        c->to[MEMORY] = p->job->memory / KIB / c->to_count * KIB;
    return false;
}

/* --- words -----------------------------------------------------------------
 */

static void put_amount(struct bj_buf *b, struct bj_slice name, enum amount a,
                       int64_t v)
{
    bj_buf_slice(b, name);
    bj_buf_str(b, "=");
    if (!amounts[a].bytes)
        bj_buf_printf(b, "%lld", (long long)v);
    else if (v % (KIB * KIB) == 0)
        bj_request_put_memory(b, units, v);
    else
        bj_buf_printf(b, "%lldkb", (long long)bj_request_up(v, KIB));
}

/* Append a resource with its new value, or as it is. */
static bool put_item(const struct chunk *c, const struct item *item,
                     struct bj_buf *b)
{
    for (unsigned a = 0; a < AMOUNTS; a++)
        if (is_named(item->name, a) && c->to[a] >= 0) {
            put_amount(b, item->name, a, c->to[a]);
            return true;
        }
    bj_buf_slice(b, item->word);
    return false;
}

/* Has the chunk the resource in its words? */
static bool is_written(const struct chunk *c, enum amount a)
{
    for (unsigned i = 0; i < c->items.n; i++)
        if (is_named(c->items.v[i].name, a))
            return true;
    return false;
}

static void put_chunk(const struct chunk *c, struct bj_buf *b)
{
    const char *colon = "";
    if (c->counted || c->to_count != 1) {
        bj_buf_printf(b, "%lld", (long long)c->to_count);
        colon = ":";
    }
    for (unsigned i = 0; i < c->items.n; i++) {
        bj_buf_str(b, colon);
        put_item(c, &c->items.v[i], b);
        colon = ":";
    }
    for (unsigned a = 0; a < AMOUNTS; a++)
        if (c->to[a] >= 0 && !is_written(c, a)) {
            bj_buf_str(b, colon);
            put_amount(b, bj_slice_str(amounts[a].name[0]), a, c->to[a]);
            colon = ":";
        }
}

static void pbs_put(struct pbs *p, enum bj_request_part part, struct bj_buf *b,
                    struct bj_slice old)
{
    p->out->arena->failed |= b->failed;
    bj_request_put(p->out, part, (struct bj_slice){b->p, b->len}, old);
    b->len = 0;
}

/* What the select replaces on the submit line. */
static void put_replaced(const struct pbs *p, struct bj_buf *b)
{
    for (unsigned i = 0; i < p->line.n; i++) {
        const struct item *item = &p->line.v[i];
        if (!is_of_chunks(item->name) &&
            !bj_slice_eq(item->name, BJ_SLICE("select")))
            continue;
        bj_buf_str(b, b->len > 0 ? " " : "");
        bj_buf_slice(b, item->word);
    }
}

/* A chunk is on one host anyway. */
static bool needs_place(const struct pbs *p)
{
    const bool one = p->chunks == 1 && bj_slice_eq(p->place, BJ_SLICE("pack"));
    return p->recorded && p->place.n > 0 && !pbs_find(&p->line, "place") &&
           !one && !bj_slice_eq(p->place, BJ_SLICE("free"));
}

/* All of a select is one option, with its place. */
static void put_select(struct pbs *p, const bool changed[BJ_REQUEST_PARTS])
{
    struct bj_buf b = {0}, old = {0};
    enum bj_request_part part = BJ_REQUEST_NODES;
    static const enum bj_request_part order[] = {
        BJ_REQUEST_NODES, BJ_REQUEST_GPUS, BJ_REQUEST_CPUS, BJ_REQUEST_MEMORY};
    for (unsigned i = sizeof(order) / sizeof(order[0]); i-- > 0;)
        part = changed[order[i]] ? order[i] : part;
    bj_buf_str(&b, "-l select=");
    for (unsigned i = 0; i < p->kinds; i++) {
        bj_buf_str(&b, i > 0 ? "+" : "");
        put_chunk(&p->kind[i], &b);
    }
    if (needs_place(p)) {
        bj_buf_str(&b, " -l place=");
        bj_buf_slice(&b, p->place);
    }
    put_replaced(p, &old);
    p->out->arena->failed |= old.failed;
    pbs_put(p, part, &b, (struct bj_slice){old.p, old.len});
    for (unsigned i = 0; i < BJ_REQUEST_PARTS; i++)
        if (changed[i])
            p->out->in[i] = (unsigned char)(part + 1);
    p->out->ret->select = p->recorded;
    bj_buf_free(&b);
    bj_buf_free(&old);
}

static void put_job_wide(struct pbs *p)
{
    const struct chunk *c = &p->kind[0];
    struct bj_buf b = {0};
    for (unsigned i = 0; i < c->items.n; i++) {
        const struct item *item = &c->items.v[i];
        b.len = 0;
        bj_buf_str(&b, "-l ");
        if (put_item(c, item, &b))
            pbs_put(p,
                    is_named(item->name, MEMORY) || is_named(item->name, SWAP)
                        ? BJ_REQUEST_MEMORY
                        : BJ_REQUEST_CPUS,
                    &b, item->word);
    }
    if (c->to[MEMORY] >= 0 && !is_written(c, MEMORY)) {
        b.len = 0;
        bj_buf_str(&b, "-l ");
        put_amount(&b, BJ_SLICE("mem"), MEMORY, c->to[MEMORY]);
        pbs_put(p, BJ_REQUEST_MEMORY, &b, (struct bj_slice){0});
    }
    bj_buf_free(&b);
}

static void pbs_put_time(struct pbs *p)
{
    const int64_t sec = p->need->time;
    const struct item *old = pbs_find(&p->line, "walltime");
    struct bj_buf b = {0};
    if (!bj_request_wants(sec) || pbs_find(&p->line, "min_walltime") ||
        pbs_find(&p->line, "max_walltime"))
        return;
    bj_buf_printf(&b, "-l walltime=%02lld:%02lld:00", (long long)(sec / 3600),
                  (long long)(sec % 3600 / 60));
    pbs_put(p, BJ_REQUEST_TIME, &b, old ? old->word : (struct bj_slice){0});
    bj_buf_free(&b);
}

void bj_request_pbs(struct bj_request_out *o)
{
    struct pbs p = {.out = o, .job = o->job, .need = o->need};
    pbs_read_line(&p);
    read_place(&p);
    read_request(&p);
    if (!p.odd) {
        bool changed[BJ_REQUEST_PARTS] = {false};
        bool any = false;
        changed[BJ_REQUEST_NODES] = fewer_nodes(&p);
        changed[BJ_REQUEST_CPUS] = !changed[BJ_REQUEST_NODES] && fewer_cpus(&p);
        changed[BJ_REQUEST_GPUS] = fewer_gpus(&p);
        changed[BJ_REQUEST_MEMORY] = memory(&p);
        for (unsigned i = 0; i < BJ_REQUEST_PARTS; i++)
            any |= changed[i];
        if (any && p.select)
            put_select(&p, changed);
        else if (any)
            put_job_wide(&p);
    }
    pbs_put_time(&p);
}
