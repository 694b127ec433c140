#include "statsdb/import/batch.h"

#include "base/array.h"
#include "base/text.h"
#include "sched/state.h"
#include "statsdb/import/pbs_run.h"
#include "statsdb/tables/job_number.h"

#include <stdlib.h>
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

/* --- what jobs become
 * ---------------------------------------------------------
 */

enum { ST_TAKEN, ST_SIZE_DROP, ST_SIZE_ADD, ST_SIZE_ALL, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [ST_TAKEN] = "SELECT 1 FROM job WHERE id = ?1",
    [ST_SIZE_DROP] = "DELETE FROM job_size WHERE job = ?1",
    [ST_SIZE_ALL] = "SELECT start, \"end\", elapsed, cpus, nodes, gpus,"
                    " memory_allocated_bytes, hosts, tres_allocated FROM"
                    " job_size WHERE job = ?1 ORDER BY number",
    [ST_SIZE_ADD] = "INSERT INTO job_size(job, number, sluid, start, \"end\","
                    " elapsed, cpus, nodes, gpus, memory_allocated_bytes,"
                    " hosts, tres_allocated) VALUES(?1, ?2, ?3, ?4, ?5, ?6,"
                    " ?7, ?8, ?9, ?10, ?11, ?12)",
};

struct bj_become {
    struct bj_st *st[STATEMENTS];
};

int bj_become_new(struct bj_db *db, struct bj_become **ret, struct bj_err *err)
{
    struct bj_become *c = calloc(1, sizeof(*c));
    int r = c ? 0 : bj_err_set(err, -ENOMEM, "upsert");
    for (int i = 0; r == 0 && i < STATEMENTS; i++)
        r = bj_db_prepare(db, texts[i], &c->st[i], err);
    if (r < 0)
        bj_become_free(c);
    else
        *ret = c;
    return r;
}

void bj_become_free(struct bj_become *c)
{
    for (int i = 0; c && i < STATEMENTS; i++)
        bj_st_finalize(c->st[i]);
    free(c);
}

void bj_become_reset(struct bj_become *c)
{
    for (int i = 0; i < STATEMENTS; i++)
        bj_st_reset(c->st[i]);
}

static int become_no_memory(struct bj_err *err)
{
    return bj_err_set(err, -ENOMEM, "rows");
}

/* --- jobs that are known -------------------------------------------------- */

static int64_t submit_of(const struct bj_row *row)
{
    int64_t submit = row->v[BJ_JOB_SUBMIT];
    return submit == 0 ? BJ_SQL_NULL : submit;
}

static bool become_same(int64_t a, int64_t b)
{
    return a != BJ_SQL_NULL && a == b;
}

/* Do two rows match by the same rules as BJ_SQL_KNOWN_JOB? */
static bool is_same(const struct bj_row *a, const struct bj_row *b)
{
    bool id = a->v[BJ_JOB_RAW_ID] == b->v[BJ_JOB_RAW_ID] &&
              bj_slice_eq(a->s[0], b->s[0]);
    bool task = become_same(a->v[BJ_JOB_ARRAY_JOB], b->v[BJ_JOB_ARRAY_JOB]) &&
                become_same(a->v[BJ_JOB_ARRAY_TASK], b->v[BJ_JOB_ARRAY_TASK]);
    return (id || task) && a->v[BJ_JOB_CLUSTER] == b->v[BJ_JOB_CLUSTER] &&
           (become_same(submit_of(a), submit_of(b)) ||
            become_same(a->v[BJ_COL_START], b->v[BJ_COL_START]) ||
            become_same(a->v[BJ_COL_END], b->v[BJ_COL_END]));
}

static bool become_is_known(const struct bj_batch *b,
                            const struct bj_batch_record *r)
{
    if (r->known)
        return true;
    for (const struct bj_batch_record *e = b->record; e != r; e = e->next)
        if (is_same(&e->row, &r->row))
            return true;
    return false;
}

void bj_become_only_new(struct bj_batch *b)
{
    struct bj_batch_record **at = &b->record;
    while (*at) {
        if (become_is_known(b, *at)) {
            *at = (*at)->next;
            b->counts->jobs_known++;
        } else {
            at = &(*at)->next;
        }
    }
    b->end = at;
}

/* --- runs of PBS ---------------------------------------------------------- */

static int list_record(struct bj_batch *b, struct bj_batch_record *r,
                       struct bj_err *err)
{
    if (b->follow)
        r->number = bj_job_number_at(r->number, r->row.v[BJ_JOB_SUBMIT]);
    return bj_batch_list_run(b, r->runs, &r->row, err);
}

/* Choose the run of the record at *at, which follows that of *left, if any. */
static int become_place(struct bj_batch *b, struct bj_batch_record **at,
                        struct bj_err *err)
{
    struct bj_batch_record *r = *at;
    struct bj_pbs_known known = {.any = false};
    struct bj_row left;
    int res = 0;
    for (const struct bj_batch_run *l = r->runs->run; l; l = l->next) {
        const struct bj_pbs_run run = bj_pbs_run_of(&l->row);
        bj_pbs_note(&known, &run, &r->row);
    }
    if (bj_pbs_place(&known, &r->row, &left)) {
        struct bj_batch_record *ended = bj_batch_insert(b, at);
        if (!ended)
            return become_no_memory(err);
        ended->row = left;
        ended->runs = r->runs;
        ended->number = r->number;
        res = list_record(b, ended, err);
    }
    return res < 0 ? res : list_record(b, r, err);
}

int bj_become_runs(struct bj_batch *b, struct bj_err *err)
{
    int res = 0;
    for (struct bj_batch_record **at = &b->record, *r; res == 0 && (r = *at);
         at = &r->next)
        res = become_place(b, at, err);
    return res;
}

/* --- numbers of new jobs -------------------------------------------------- */

static int is_taken(struct bj_become *c, struct bj_batch *b, int64_t number,
                    struct bj_err *err)
{
    struct bj_st *st = c->st[ST_TAKEN];
    if (bj_batch_has(b, number))
        return 1;
    bj_st_bind_i64(st, 1, number);
    int r = bj_st_row(st, err);
    bj_st_reset(st);
    return r;
}

/* The number of a new job: its own, or the next one that is free. */
static int become_number_of(struct bj_become *c, struct bj_batch *b,
                            const struct bj_batch_record *r, int64_t *ret,
                            struct bj_err *err)
{
    int64_t number = r->number;
    *ret = number;
    if (!b->follow || (!r->is_taken && !bj_batch_has(b, number)))
        return 0;
    do {
        number = bj_job_number_next(number);
        int res = is_taken(c, b, number, err);
        *ret = number;
        if (res <= 0)
            return res;
    } while (number != r->number);
    return bj_err_set(err, -EPROTO, "no number is free for the job");
}

/* --- rows ----------------------------------------------------------------- */

/* The row of all waiting tasks becomes that of the last task. */
static int become_split(struct bj_batch *b, const struct bj_row *row,
                        struct bj_batch_job *j, struct bj_err *err)
{
    if (!j->more || j->more->v[BJ_MORE_ARRAY_TASKS] == BJ_SQL_NULL ||
        (!bj_batch_is_task(row) && !bj_batch_is_task(j->row)))
        return 0;
    struct bj_row *more = bj_batch_copy(b, j->more);
    if (!more)
        return become_no_memory(err);
    static const struct bj_slice none = {NULL, 0};
    more->v[BJ_MORE_ARRAY_TASKS] = BJ_SQL_NULL;
    more->s[1] = none;
    j->more = more;
    j->more_changed = true;
    return 0;
}

static void merge_more(struct bj_batch_job *j, struct bj_row *more, bool weak)
{
    more->weak = weak;
    more->v[BJ_MORE_JOB] = j->id;
    if (j->more && bj_row_merge(&bj_table_more, j->more, more) == BJ_ROW_SAME)
        return;
    j->more = more;
    j->more_changed = true;
}

/* Steps with unusual names get the next free slot. */
static int merge_step(struct bj_batch *b, struct bj_batch_job *j,
                      struct bj_row *step, struct bj_err *err)
{
    const struct bj_slice other = step->s[0];
    struct bj_batch_step *old;
    unsigned at;
    step->v[BJ_STEP_JOB] = j->id;
    for (;; step->v[BJ_STEP_SLOT]++) {
        const int64_t slot = step->v[BJ_STEP_SLOT];
        at = bj_batch_step_at(j, slot);
        old = at < j->steps && j->step[at].row->v[BJ_STEP_SLOT] == slot
                  ? &j->step[at]
                  : NULL;
        if (!old || bj_slice_eq(old->row->s[0], other))
            break;
    }
    if (!old) {
        const struct bj_batch_step added = {.row = step};
        b->counts->steps_new++;
        return bj_batch_put_step(b, j, at, &added, err);
    }
    if (bj_row_merge(&bj_table_step, old->row, step) == BJ_ROW_SAME) {
        b->counts->steps_same++;
        return 0;
    }
    b->counts->steps_changed++;
    old->row = step;
    old->changed = true;
    return 0;
}

/* Merge a row into a job that exists. Its usage is that of all its steps. */
static void merge_job(struct bj_batch *b, struct bj_batch_job *j,
                      struct bj_row *row)
{
    struct bj_step_sum sum;
    bj_step_sum_begin(&sum);
    for (unsigned i = 0; i < j->steps; i++)
        bj_row_add_step(j->step[i].row, &sum);
    bj_row_merge(&bj_table_job, j->row, row);
    const enum bj_row_change change = bj_row_complete(&sum, j->row, row);
    if (change == BJ_ROW_SAME) {
        b->counts->jobs_same++;
        return;
    }
    b->counts->jobs_changed++;
    j->row = row;
    if (change > j->change)
        j->change = change;
}

/* What a record of a job that exists may change. */
static void limit(const struct bj_batch *b, const struct bj_batch_job *j,
                  struct bj_row *row)
{
    /* A number contains the submit time; jobs found by their SLUID keep both.
     */
    if (b->follow)
        row->v[BJ_JOB_SUBMIT] = j->row->v[BJ_JOB_SUBMIT];
    row->weak =
        row->weak && bj_state_ended((enum bj_job_state)j->row->v[BJ_COL_STATE]);
}

/* --- sizes ---------------------------------------------------------------- */

static int read_sizes(struct bj_become *c, struct bj_batch_job *j,
                      struct bj_err *err)
{
    struct bj_st *st = c->st[ST_SIZE_ALL];
    struct bj_pbs_sizes *s = &j->sizes;
    int r = 0;
    if (j->sizes_read)
        return 0;
    j->sizes_read = true;
    bj_st_bind_i64(st, 1, j->id);
    while ((r = bj_st_row(st, err)) > 0) {
        if (!BJ_GROW(s->size, s->n + 1, s->cap)) {
            r = bj_err_set(err, -ENOMEM, "sizes of a job");
            break;
        }
        for (int i = 0; i < BJ_SIZE_COLS; i++)
            s->size[s->n].v[i] = bj_st_get_i64(st, i);
        s->n++;
    }
    bj_st_reset(st);
    return r;
}

/* Join the size of a record of PBS to those of its run; of the last one, store
 * what the run had over its time. row: the record's, unchanged. */
static int join_size(struct bj_become *c, struct bj_batch *b,
                     const struct bj_batch_record *r, struct bj_batch_job *j,
                     struct bj_row *row, struct bj_err *err)
{
    struct bj_pbs_size_record record = {.kind = r->sizes_kind,
                                        .size = r->size->row,
                                        .run_start = row->v[BJ_COL_START],
                                        .suspended = row->v[BJ_COL_SUSPENDED],
                                        .elapsed = r->elapsed};
    record.size.v[BJ_SIZE_ELAPSED] = BJ_SQL_NULL;
    int res = read_sizes(c, j, err);
    if (res == 0 && (res = bj_pbs_sizes_join(&j->sizes, &record)) < 0)
        bj_err_set(err, res, "sizes of a job");
    if (res < 0)
        return res;
    j->sizes_changed = j->sizes_changed || res > 0;
    if (record.kind != BJ_SIZE_LAST)
        return 0;
    const struct bj_size_sums sum =
        bj_pbs_sizes_sums(&j->sizes, row->v[BJ_COL_START]);
    row->v[BJ_JOB_CPU_SEC] = sum.cpu_sec;
    row->v[BJ_JOB_NODE_SEC] = sum.node_sec;
    row->v[BJ_JOB_GPU_SEC] = sum.gpu_sec;
    row->v[BJ_JOB_MIB_SEC] = sum.memory_mib_sec;
    limit(b, j, row);
    merge_job(b, j, row);
    return 0;
}

static int add_size(struct bj_become *c, int64_t id, size_t number,
                    struct bj_slice sluid, const struct bj_size_row *size,
                    struct bj_err *err)
{
    struct bj_st *st = c->st[ST_SIZE_ADD];
    int at = 1;
    bj_st_bind_i64(st, at++, id);
    bj_st_bind_i64(st, at++, (int64_t)number);
    bj_st_bind_filled(st, at++, sluid);
    for (int i = 0; i < BJ_SIZE_COLS; i++)
        bj_st_bind_i64(st, at++, size->v[i]);
    return bj_st_run(st, err);
}

static int write_sizes(struct bj_become *c, const struct bj_batch_job *j,
                       struct bj_err *err)
{
    const struct bj_batch_record *all = j->all_sizes;
    const size_t n = all ? all->sizes : j->sizes.n;
    bj_st_bind_i64(c->st[ST_SIZE_DROP], 1, j->id);
    int r = bj_st_run(c->st[ST_SIZE_DROP], err);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = all ? add_size(c, j->id, i, all->size[i].sluid, &all->size[i].row,
                           err)
                : add_size(c, j->id, i, BJ_SLICE(""), &j->sizes.size[i], err);
    return r;
}

int bj_become_write_sizes(struct bj_become *c, struct bj_batch *b,
                          struct bj_err *err)
{
    int r = 0;
    for (const struct bj_batch_job *j = b->job; r == 0 && j; j = j->next)
        if (j->all_sizes || j->sizes_changed)
            r = write_sizes(c, j, err);
    return r;
}

/* --- records -------------------------------------------------------------- */

static int add_new(struct bj_become *c, struct bj_batch *b,
                   struct bj_batch_record *r, struct bj_batch_job **ret,
                   struct bj_err *err)
{
    int64_t id;
    int res = become_number_of(c, b, r, &id, err);
    if (res < 0)
        return res;
    b->counts->jobs_new++;
    *ret = bj_batch_new(b, r, id);
    return *ret ? 0 : become_no_memory(err);
}

static int become_merge(struct bj_batch *b, struct bj_batch_record *r,
                        struct bj_batch_job *j, struct bj_err *err)
{
    limit(b, j, &r->row);
    int res = become_split(b, &r->row, j, err);
    if (res == 0 && r->more)
        merge_more(j, r->more, r->row.weak);
    for (unsigned i = 0; res == 0 && i < r->steps; i++) {
        r->step[i].weak = r->row.weak;
        res = merge_step(b, j, &r->step[i], err);
    }
    if (res == 0)
        merge_job(b, j, &r->row);
    return res < 0 ? res : bj_batch_name(b, j, j->row, err);
}

static int become_put(struct bj_become *c, struct bj_batch *b,
                      struct bj_batch_record *r, struct bj_err *err)
{
    struct bj_batch_job *j = bj_batch_find(b, r);
    const bool fresh = !j, one_size = r->sizes_kind != BJ_SIZES_ALL;
    const uint64_t changed = b->counts->jobs_changed;
    struct bj_row *again = one_size ? bj_batch_copy(b, &r->row) : NULL;
    int res = one_size && !again ? become_no_memory(err)
              : fresh            ? add_new(c, b, r, &j, err)
                                 : become_merge(b, r, j, err);
    for (unsigned i = 0; fresh && res == 0 && i < r->steps; i++)
        res = merge_step(b, j, &r->step[i], err);
    if (res < 0)
        return res;
    if (one_size) {
        if (!fresh && again->v[BJ_COL_SUSPENDED] == BJ_SQL_NULL)
            again->v[BJ_COL_SUSPENDED] = j->row->v[BJ_COL_SUSPENDED];
        return join_size(c, b, r, j, again, err);
    }
    if (r->sizes > 0 && (fresh || b->counts->jobs_changed > changed))
        j->all_sizes = r;
    return 0;
}

int bj_become_jobs(struct bj_become *c, struct bj_batch *b, struct bj_err *err)
{
    int res = 0;
    for (struct bj_batch_record *r = b->record; res == 0 && r; r = r->next)
        res = become_put(c, b, r, err);
    return res < 0 || !b->memory.failed ? res : become_no_memory(err);
}
