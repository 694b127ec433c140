/* The model of PBS: resources after -l of qsub.  Chunks (select) and resources
 * of the whole job (ncpus, mem) exclude each other; of an option that is there
 * twice, the first one counts.  Source: qsub(1B), pbs_resources(7B). */
#include "report/request_impl.h"

#include <string.h>

enum { MOST = 32 };

/* One resource of -l, or of a chunk: "ncpus=4". */
struct item {
    struct bj_slice word, name, value;
};

struct items {
    struct item v[MOST];
    unsigned n;
    bool odd; /* too many, or one of them twice */
};

struct pbs {
    struct bj_request_out *out;
    const struct bj_request_job *job;
    const struct bj_request_need *need;
    struct items job_wide, chunk;
    struct bj_slice select; /* the value of select, on the submit line */
    int64_t chunks;
    bool exclusive;
    int64_t mem, cpus, gpus, mpi; /* of a chunk or the job; -1: none */
    int64_t to_mem, to_cpus, to_gpus, to_mpi;
};

static const char *const units[] = {"gb", "mb"};

static const struct item *find(const struct items *i, const char *name)
{
    for (unsigned k = 0; k < i->n; k++)
        if (bj_slice_eq(i->v[k].name, bj_slice_str(name)))
            return &i->v[k];
    return NULL;
}

static void add_item(struct items *to, struct bj_slice word)
{
    struct bj_slice value = word, name;
    if (!bj_slice_field(&value, '=', &name) || to->n == MOST) {
        to->odd = true;
        return;
    }
    for (unsigned k = 0; k < to->n; k++)
        to->odd |= bj_slice_eq(to->v[k].name, name);
    to->v[to->n++] = (struct item){word, name, value};
}

/* --- the submit line -------------------------------------------------------
 */

static void read_line(struct pbs *p)
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
            add_item(&p->job_wide, one);
    }
}

/* "2:ncpus=4:mem=8gb" */
static void read_chunk(struct pbs *p)
{
    struct bj_slice rest = p->select, one;
    p->chunks = 1;
    p->chunk.odd = memchr(rest.p, '+', rest.n) != NULL;
    bool first = true;
    while (bj_slice_field(&rest, ':', &one)) {
        if (first && !memchr(one.p, '=', one.n))
            p->chunks = bj_request_number(one);
        else
            add_item(&p->chunk, one);
        first = false;
    }
    p->chunk.odd |= p->chunks < 1;
}

static int64_t amount(const struct items *i, const char *name, bool bytes)
{
    const struct item *item = find(i, name);
    if (!item)
        return -1;
    return bytes ? bj_request_bytes(item->value, 1)
                 : bj_request_number(item->value);
}

/* Are the resources those that accounting has? */
static bool read_amounts(struct pbs *p)
{
    const struct item *select = find(&p->job_wide, "select");
    const struct item *place = find(&p->job_wide, "place");
    const struct items *of = &p->job_wide;
    p->chunks = 1;
    p->exclusive = place && memmem(place->value.p, place->value.n, "excl", 4);
    if (select) {
        p->select = select->value;
        read_chunk(p);
        of = &p->chunk;
    }
    p->mem = amount(of, "mem", true);
    p->cpus = amount(of, "ncpus", false);
    p->gpus = amount(of, "ngpus", false);
    p->mpi = amount(of, "mpiprocs", false);
    /* Limits of virtual memory and of processes are not in this model. */
    const bool limits = find(&p->job_wide, "vmem") ||
                        find(&p->job_wide, "pmem") ||
                        find(&p->job_wide, "pvmem") || find(of, "vmem");
    if (p->job_wide.odd || p->chunk.odd || limits ||
        find(&p->job_wide, "nodes") ||
        (select && (find(&p->job_wide, "ncpus") || find(&p->job_wide, "mem"))))
        return false;
    /* More resources may be in the script, but not beside a select. */
    return select || p->cpus > 0 || p->mem > 0;
}

/* --- amounts ---------------------------------------------------------------
 */

static void fewer_cpus(struct pbs *p)
{
    const int64_t want = p->need->cpus;
    const bool tasks = p->mpi > 1;
    if (!bj_request_wants(want) || p->exclusive || p->chunks != 1 ||
        p->job->nodes != 1 || p->job->gpus > 0 || want < 1 || want >= p->cpus ||
        p->cpus != p->job->cpus_requested || (tasks && p->mpi != p->cpus) ||
        find(&p->chunk, "ompthreads"))
        return;
    p->to_cpus = want;
    if (tasks)
        p->to_mpi = want;
}

static void fewer_gpus(struct pbs *p)
{
    const int64_t now = p->need->gpus;
    if (bj_request_wants(now) && now >= 1 && now < p->gpus &&
        p->gpus * p->chunks == p->job->gpus && p->select.n > 0 &&
        !p->exclusive && (p->chunks == 1 || p->chunks == p->job->nodes))
        p->to_gpus = now;
}

static void memory(struct pbs *p)
{
    const int64_t had = p->mem, node = p->need->memory, more = p->need->more;
    /* mem is of a chunk, and without chunks of the whole job. */
    if (had <= 0 || p->job->memory <= 0 || had * p->chunks != p->job->memory ||
        p->job->nodes < 1)
        return;
    if (bj_request_wants(more)) {
        if (p->chunks == 1 && p->job->nodes == 1)
            p->to_mem = more;
        else if (p->chunks == p->job->nodes)
            p->to_mem = more;
    } else if (bj_request_wants(node) && !p->exclusive &&
               bj_request_saves(node, had) &&
               (p->select.n > 0 || p->job->nodes == 1)) {
        p->to_mem = node;
    }
}

/* --- words -----------------------------------------------------------------
 */

/* Append the new value of a resource; false: it stays. */
static bool put_new(const struct pbs *p, struct bj_slice name, struct bj_buf *b)
{
    const struct {
        const char *name;
        int64_t to;
    } numbers[] = {
        {"ncpus", p->to_cpus}, {"ngpus", p->to_gpus}, {"mpiprocs", p->to_mpi}};
    if (bj_slice_eq(name, BJ_SLICE("mem")) && p->to_mem >= 0) {
        bj_buf_str(b, "mem=");
        bj_request_put_memory(b, units, p->to_mem);
        return true;
    }
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].to >= 0 &&
            bj_slice_eq(name, bj_slice_str(numbers[i].name))) {
            bj_buf_printf(b, "%s=%lld", numbers[i].name,
                          (long long)numbers[i].to);
            return true;
        }
    return false;
}

static void put(struct pbs *p, enum bj_request_part part, struct bj_buf *b,
                struct bj_slice old)
{
    p->out->arena->failed |= b->failed;
    bj_request_put(p->out, part, (struct bj_slice){b->p, b->len}, old);
    b->len = 0;
}

/* The part of a select that has several changes. */
static enum bj_request_part part_of(const struct pbs *p)
{
    return p->to_gpus >= 0   ? BJ_REQUEST_GPUS
           : p->to_cpus >= 0 ? BJ_REQUEST_CPUS
                             : BJ_REQUEST_MEMORY;
}

/* All of a select is one option. */
static void put_select(struct pbs *p)
{
    struct bj_buf b = {0};
    struct bj_slice rest = p->select, one, name;
    bool first = true;
    bj_buf_str(&b, "-l select=");
    while (bj_slice_field(&rest, ':', &one)) {
        struct bj_slice value = one;
        bj_buf_str(&b, first ? "" : ":");
        first = false;
        if (!bj_slice_field(&value, '=', &name) || !put_new(p, name, &b))
            bj_buf_slice(&b, one);
    }
    const enum bj_request_part part = part_of(p);
    put(p, part, &b, find(&p->job_wide, "select")->word);
    if (p->to_cpus >= 0)
        p->out->in[BJ_REQUEST_CPUS] = (unsigned char)(part + 1);
    if (p->to_mem >= 0)
        p->out->in[BJ_REQUEST_MEMORY] = (unsigned char)(part + 1);
    bj_buf_free(&b);
}

static void put_job_wide(struct pbs *p)
{
    struct bj_buf b = {0};
    for (unsigned i = 0; i < p->job_wide.n; i++) {
        const struct item *item = &p->job_wide.v[i];
        bj_buf_str(&b, "-l ");
        if (put_new(p, item->name, &b))
            put(p,
                bj_slice_eq(item->name, BJ_SLICE("mem")) ? BJ_REQUEST_MEMORY
                                                         : BJ_REQUEST_CPUS,
                &b, item->word);
        b.len = 0;
    }
    bj_buf_free(&b);
}

static void put_time(struct pbs *p)
{
    const int64_t sec = p->need->time;
    const struct item *old = find(&p->job_wide, "walltime");
    struct bj_buf b = {0};
    if (!bj_request_wants(sec) || find(&p->job_wide, "min_walltime") ||
        find(&p->job_wide, "max_walltime"))
        return;
    bj_buf_printf(&b, "-l walltime=%02lld:%02lld:00", (long long)(sec / 3600),
                  (long long)(sec % 3600 / 60));
    put(p, BJ_REQUEST_TIME, &b, old ? old->word : (struct bj_slice){0});
    bj_buf_free(&b);
}

void bj_request_pbs(struct bj_request_out *o)
{
    struct pbs p = {.out = o, .job = o->job, .need = o->need};
    p.to_mem = p.to_cpus = p.to_gpus = p.to_mpi = -1;
    read_line(&p);
    if (read_amounts(&p)) {
        fewer_cpus(&p);
        fewer_gpus(&p);
        memory(&p);
        const bool any = p.to_mem >= 0 || p.to_cpus >= 0 || p.to_gpus >= 0;
        if (any && p.select.n > 0)
            put_select(&p);
        else if (any)
            put_job_wide(&p);
    }
    put_time(&p);
}
