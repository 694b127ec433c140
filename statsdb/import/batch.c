#include "statsdb/import/batch.h"

#include "base/text.h"
#include "statsdb/import/pbs_run.h"
#include "statsdb/tables/job_number.h"

#include <string.h>

enum { ROWS = 5000, BYTES = 8 << 20 };

/* What a key of the cache identifies. */
enum { KEY_JOB, KEY_NUMBER, KEY_SLUID, KEY_RUNS };

static int batch_no_memory(struct bj_err *err)
{
    return bj_err_set(err, -ENOMEM, "rows");
}

void bj_batch_begin(struct bj_batch *b, struct bj_db *db,
                    struct bj_dicts *dicts, struct bj_upsert_counts *counts)
{
    b->db = db;
    b->dicts = dicts;
    b->counts = counts;
    b->follow = bj_job_numbers_follow(db);
    b->seen.max_entries = b->seen.max_bytes = UINT32_MAX;
    b->seed = bj_cache_seed();
    bj_batch_drop(b);
}

static void free_sizes(struct bj_batch *b)
{
    for (struct bj_batch_job *j = b->job; j; j = j->next)
        bj_pbs_sizes_free(&j->sizes);
}

void bj_batch_free(struct bj_batch *b)
{
    free_sizes(b);
    bj_cache_free(&b->seen);
    bj_arena_free(&b->memory);
}

void bj_batch_drop(struct bj_batch *b)
{
    free_sizes(b);
    b->record = NULL;
    b->end = &b->record;
    b->job = NULL;
    b->jobs_end = &b->job;
    b->runs = NULL;
    b->records = b->rows = 0;
    bj_arena_reset(&b->memory);
    bj_cache_clear(&b->seen);
}

bool bj_batch_is_full(const struct bj_batch *b)
{
    return b->records >= b->max || b->rows >= ROWS || b->memory.used >= BYTES;
}

/* --- records -------------------------------------------------------------- */

/* A text as PostgreSQL returns it, so that it is found again. */
static struct bj_slice batch_clean(struct bj_batch *b, struct bj_slice s)
{
    char *text;
    if (bj_text_is_utf8(s))
        return bj_arena_copy(&b->memory, s);
    text = bj_arena_alloc(&b->memory, 3 * s.n + 1);
    return text ? (struct bj_slice){text, bj_text_utf8(s, text)}
                : (struct bj_slice){"", 0};
}

void bj_batch_keep(struct bj_batch *b, struct bj_row *row)
{
    for (int i = 0; i < BJ_ROW_TEXTS; i++)
        if (row->s[i].n > 0)
            row->s[i] = b->follow ? batch_clean(b, row->s[i])
                                  : bj_arena_copy(&b->memory, row->s[i]);
}

struct bj_row *bj_batch_copy(struct bj_batch *b, const struct bj_row *row)
{
    struct bj_row *ret = bj_arena_alloc(&b->memory, sizeof(*ret));
    if (!ret)
        return NULL;
    *ret = *row;
    for (int i = 0; i < BJ_ROW_TEXTS; i++)
        if (ret->s[i].n > 0)
            ret->s[i] = bj_arena_copy(&b->memory, ret->s[i]);
    return ret;
}

/* With SQLite, a record is stored before its texts become invalid. */
static void keep_record(struct bj_batch *b, struct bj_row *row)
{
    if (b->max > 1 || b->follow)
        bj_batch_keep(b, row);
}

struct bj_batch_record *bj_batch_insert(struct bj_batch *b,
                                        struct bj_batch_record **at)
{
    struct bj_batch_record *r = bj_arena_alloc(&b->memory, sizeof(*r));
    if (!r)
        return NULL;
    r->next = *at;
    *at = r;
    if (b->end == at)
        b->end = &r->next;
    r->number = BJ_SQL_NULL;
    b->records++;
    return r;
}

static int add_more(struct bj_batch *b, struct bj_batch_record *r,
                    const struct bj_sched_job *job, struct bj_err *err)
{
    struct bj_row more;
    int res = bj_row_more(b->dicts, 0, job, &more, err);
    if (res < 0 || bj_row_more_empty(&more))
        return res;
    r->more = bj_arena_alloc(&b->memory, sizeof(*r->more));
    if (!r->more)
        return batch_no_memory(err);
    *r->more = more;
    keep_record(b, r->more);
    b->rows++;
    return 0;
}

static int add_steps(struct bj_batch *b, struct bj_batch_record *r,
                     const struct bj_sched_job *job, struct bj_err *err)
{
    int res = 0;
    if (job->steps == 0)
        return 0;
    r->step = bj_arena_alloc(&b->memory, job->steps * sizeof(*r->step));
    if (!r->step)
        return batch_no_memory(err);
    for (; res == 0 && r->steps < job->steps; r->steps++) {
        struct bj_row *step = &r->step[r->steps];
        res = bj_row_step(b->dicts, 0, &job->step[r->steps], step, err);
        step->weak = false;
        keep_record(b, step);
    }
    b->rows += r->steps;
    return res;
}

/* The number of a text in a dictionary; an empty text is unknown. */
static int entry(struct bj_batch *b, enum bj_dict_id dict, struct bj_slice s,
                 int64_t *ret, struct bj_err *err)
{
    *ret = BJ_SQL_NULL;
    return s.n > 0 ? bj_dict_text(b->dicts, dict, s, ret, err) : 0;
}

static int size_row(struct bj_batch *b, const struct bj_job_size *size,
                    struct bj_size_row *ret, struct bj_err *err)
{
    int64_t *v = ret->v;
    v[BJ_SIZE_START] = bj_sql_u64(size->start_sec);
    v[BJ_SIZE_END] = bj_sql_u64(size->end_sec);
    v[BJ_SIZE_ELAPSED] = bj_sql_u64(size->elapsed_sec);
    v[BJ_SIZE_CPUS] = bj_sql_u64(size->cpus);
    v[BJ_SIZE_NODES] = bj_sql_u64(size->nodes);
    v[BJ_SIZE_GPUS] = bj_sql_u64(size->gpus);
    v[BJ_SIZE_MEMORY] = bj_sql_u64(size->mem_allocated_bytes);
    int r = entry(b, BJ_DICT_HOSTS, size->nodelist, &v[BJ_SIZE_HOSTS], err);
    return r < 0 ? r
                 : entry(b, BJ_DICT_TRES, size->tres_allocated_raw,
                         &v[BJ_SIZE_TRES], err);
}

static int add_sizes(struct bj_batch *b, struct bj_batch_record *r,
                     const struct bj_sched_job *job, struct bj_err *err)
{
    int res = 0;
    r->sizes_kind = job->sizes_kind;
    if (job->sizes == 0)
        return 0;
    r->elapsed = bj_sql_u64(job->size->elapsed_sec);
    r->size = bj_arena_alloc(&b->memory, job->sizes * sizeof(*r->size));
    if (!r->size)
        return batch_no_memory(err);
    for (; res == 0 && r->sizes < job->sizes; r->sizes++) {
        struct bj_batch_size *size = &r->size[r->sizes];
        res = size_row(b, &job->size[r->sizes], &size->row, err);
        size->sluid = bj_arena_copy(&b->memory, job->size[r->sizes].sluid);
    }
    b->rows += r->sizes;
    return res;
}

static int batch_add(struct bj_batch *b, int64_t cluster,
                     const struct bj_sched_job *job, struct bj_err *err)
{
    struct bj_batch_record *r = bj_batch_insert(b, b->end);
    if (!r)
        return batch_no_memory(err);
    int res = bj_row_job(b->dicts, cluster, job, &r->row, err);
    if (res < 0)
        return res;
    keep_record(b, &r->row);
    if (b->follow)
        r->number =
            bj_job_number_of(cluster, job->jobid, r->row.v[BJ_JOB_SUBMIT]);
    res = add_more(b, r, job, err);
    if (res == 0)
        res = add_steps(b, r, job, err);
    if (res == 0)
        res = add_sizes(b, r, job, err);
    return res == 0 && b->memory.failed ? batch_no_memory(err) : res;
}

int bj_batch_add(struct bj_batch *b, int64_t cluster,
                 const struct bj_sched_job *job, struct bj_err *err)
{
    bj_dicts_defer(b->dicts, b->follow);
    int r = batch_add(b, cluster, job, err);
    bj_dicts_defer(b->dicts, false);
    return r;
}

static void batch_settle(const struct bj_dicts *d, int64_t *v, int columns)
{
    for (int i = 0; i < columns; i++)
        if (v[i] < 0 && v[i] != BJ_SQL_NULL)
            v[i] = bj_dicts_settled(d, v[i]);
}

int bj_batch_settle(struct bj_batch *b, struct bj_err *err)
{
    if (!b->follow)
        return 0;
    int res = bj_dicts_settle(b->dicts, err);
    for (struct bj_batch_record *r = b->record; res == 0 && r; r = r->next) {
        batch_settle(b->dicts, r->row.v, BJ_JOB_COLS);
        if (r->more)
            batch_settle(b->dicts, r->more->v, BJ_MORE_COLS);
        for (unsigned i = 0; i < r->steps; i++)
            batch_settle(b->dicts, r->step[i].v, BJ_STEP_COLS);
        for (unsigned i = 0; i < r->sizes; i++)
            batch_settle(b->dicts, r->size[i].row.v, BJ_SIZE_COLS);
    }
    return res;
}

/* --- keys ----------------------------------------------------------------- */

/* A key of the cache: what it identifies, numbers and a text. */
static struct bj_slice batch_key_of(struct bj_batch *b, int64_t what,
                                    int64_t first, int64_t second,
                                    int64_t third, struct bj_slice text)
{
    const int64_t head[] = {what, first, second, third};
    char *key = bj_arena_alloc(&b->memory, sizeof(head) + text.n);
    if (!key)
        return (struct bj_slice){NULL, 0};
    memcpy(key, head, sizeof(head));
    if (text.n > 0)
        memcpy(key + sizeof(head), text.p, text.n);
    return (struct bj_slice){key, sizeof(head) + text.n};
}

static struct bj_slice job_key(struct bj_batch *b, const struct bj_row *row)
{
    return batch_key_of(b, KEY_JOB, row->v[BJ_JOB_CLUSTER],
                        row->v[BJ_JOB_RAW_ID], row->v[BJ_JOB_SUBMIT],
                        row->s[0]);
}

static struct bj_slice number_key(struct bj_batch *b, int64_t id)
{
    return batch_key_of(b, KEY_NUMBER, id, 0, 0, BJ_SLICE(""));
}

static struct bj_slice sluid_key(struct bj_batch *b, const struct bj_row *row)
{
    return batch_key_of(b, KEY_SLUID, 0, 0, 0, row->s[2]);
}

static void *known_as(struct bj_batch *b, struct bj_slice key)
{
    int64_t at = 0;
    return key.p && bj_cache_find(&b->seen, bj_cache_hash(b->seed, key), key,
                                  &at)
               ? (void *)(intptr_t)at
               : NULL;
}

/* False: no memory. */
static bool call_it(struct bj_batch *b, struct bj_slice key, const void *it)
{
    const uint32_t n = b->seen.n;
    if (!key.p)
        return false;
    bj_cache_add(&b->seen, bj_cache_hash(b->seed, key), key,
                 (int64_t)(intptr_t)it);
    return b->seen.n > n;
}

/* --- jobs ----------------------------------------------------------------- */

static struct bj_batch_job *batch_add_job(struct bj_batch *b, int64_t id)
{
    struct bj_batch_job *j = bj_arena_alloc(&b->memory, sizeof(*j));
    if (!j || (id != BJ_SQL_NULL && !call_it(b, number_key(b, id), j)))
        return NULL;
    j->id = id;
    *b->jobs_end = j;
    b->jobs_end = &j->next;
    return j;
}

struct bj_batch_job *bj_batch_stored(struct bj_batch *b, int64_t id)
{
    struct bj_batch_job *j = known_as(b, number_key(b, id));
    return j ? j : batch_add_job(b, id);
}

bool bj_batch_has(struct bj_batch *b, int64_t id)
{
    return known_as(b, number_key(b, id)) != NULL;
}

int bj_batch_name(struct bj_batch *b, struct bj_batch_job *j,
                  const struct bj_row *row, struct bj_err *err)
{
    if (row->s[2].n == 0 || known_as(b, sluid_key(b, row)))
        return 0;
    return call_it(b, sluid_key(b, row), j) ? 0 : batch_no_memory(err);
}

int bj_batch_take_job(struct bj_batch *b, struct bj_batch_job *j,
                      const struct bj_row *row, struct bj_err *err)
{
    j->row = j->old = bj_batch_copy(b, row);
    if (!j->old || !call_it(b, job_key(b, j->old), j))
        return batch_no_memory(err);
    return bj_batch_name(b, j, j->old, err);
}

int bj_batch_take_more(struct bj_batch *b, struct bj_batch_job *j,
                       const struct bj_row *row, struct bj_err *err)
{
    j->more = bj_batch_copy(b, row);
    j->more_stored = true;
    return j->more ? 0 : batch_no_memory(err);
}

int bj_batch_take_step(struct bj_batch *b, struct bj_batch_job *j,
                       const struct bj_row *row, struct bj_err *err)
{
    const struct bj_batch_step step = {.row = bj_batch_copy(b, row),
                                       .stored = true};
    if (!step.row)
        return batch_no_memory(err);
    return bj_batch_put_step(b, j, bj_batch_step_at(j, row->v[BJ_STEP_SLOT]),
                             &step, err);
}

/* With SQLite, where a job found by its SLUID may get another submit time, a
 * batch has one record. */
struct bj_batch_job *bj_batch_find(struct bj_batch *b,
                                   const struct bj_batch_record *r)
{
    struct bj_batch_job *j = known_as(b, job_key(b, &r->row));
    if (!j && r->found > 0)
        j = known_as(b, number_key(b, r->found));
    if (!j && r->row.s[2].n > 0)
        j = known_as(b, sluid_key(b, &r->row));
    return j;
}

struct bj_batch_job *bj_batch_new(struct bj_batch *b, struct bj_batch_record *r,
                                  int64_t id)
{
    struct bj_batch_job *j = batch_add_job(b, id);
    if (!j || !call_it(b, job_key(b, &r->row), j) ||
        bj_batch_name(b, j, &r->row, NULL) < 0)
        return NULL;
    j->row = &r->row;
    if (r->more)
        r->more->v[BJ_MORE_JOB] = id;
    j->more = r->more;
    j->more_read = j->steps_read = j->sizes_read = true;
    j->more_changed = r->more != NULL;
    return j;
}

unsigned bj_batch_step_at(const struct bj_batch_job *j, int64_t slot)
{
    unsigned from = 0, upto = j->steps;
    if (upto > 0 && j->step[upto - 1].row->v[BJ_STEP_SLOT] < slot)
        return upto;
    while (from < upto) {
        const unsigned middle = from + (upto - from) / 2;
        if (j->step[middle].row->v[BJ_STEP_SLOT] < slot)
            from = middle + 1;
        else
            upto = middle;
    }
    return from;
}

int bj_batch_put_step(struct bj_batch *b, struct bj_batch_job *j, unsigned at,
                      const struct bj_batch_step *step, struct bj_err *err)
{
    if (j->steps == j->steps_cap) {
        const unsigned cap = j->steps_cap ? 2 * j->steps_cap : 8;
        struct bj_batch_step *to =
            bj_arena_alloc(&b->memory, cap * sizeof(*to));
        if (!to)
            return batch_no_memory(err);
        if (j->steps > 0)
            memcpy(to, j->step, j->steps * sizeof(*to));
        j->step = to;
        j->steps_cap = cap;
    }
    memmove(j->step + at + 1, j->step + at, (j->steps - at) * sizeof(*j->step));
    j->step[at] = *step;
    j->steps++;
    return 0;
}

/* --- runs of PBS ---------------------------------------------------------- */

int bj_batch_find_runs(struct bj_batch *b, struct bj_batch_record *r,
                       struct bj_err *err)
{
    const struct bj_slice key =
        batch_key_of(b, KEY_RUNS, r->row.v[BJ_JOB_CLUSTER],
                     r->row.v[BJ_JOB_RAW_ID], 0, r->row.s[0]);
    int64_t from, to;
    bj_pbs_keys(&r->row, &from, &to);
    r->runs = known_as(b, key);
    if (!r->runs) {
        r->runs = bj_arena_alloc(&b->memory, sizeof(*r->runs));
        if (!r->runs || !call_it(b, key, r->runs))
            return batch_no_memory(err);
        *r->runs = (struct bj_batch_runs){
            .next = b->runs, .of = &r->row, .from = from, .to = to};
        b->runs = r->runs;
    }
    if (from < r->runs->from)
        r->runs->from = from;
    if (to > r->runs->to)
        r->runs->to = to;
    return 0;
}

int bj_batch_list_run(struct bj_batch *b, struct bj_batch_runs *runs,
                      const struct bj_row *row, struct bj_err *err)
{
    const struct bj_pbs_run own = bj_pbs_run_of(row);
    struct bj_batch_run *run = runs->run;
    struct bj_row now;
    bj_pbs_row(row, &own, &now);
    now.weak = row->weak;
    while (run && run->row.v[BJ_JOB_SUBMIT] != own.submit)
        run = run->next;
    if (run) {
        bj_row_merge(&bj_table_job, &run->row, &now);
        run->row = now;
        return 0;
    }
    run = bj_arena_alloc(&b->memory, sizeof(*run));
    if (!run)
        return batch_no_memory(err);
    *run = (struct bj_batch_run){now, runs->run};
    runs->run = run;
    return 0;
}
