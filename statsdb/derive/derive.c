/* Derives values of jobs that have changed. */
#include "statsdb/derive/derive.h"

#include "base/log.h"
#include "base/text.h"
#include "statsdb/derive/derive_impl.h"
#include "statsdb/derive/rollup.h"
#include "statsdb/tables/job_number.h"
#include "statsdb/tables/site_zone.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- refused records --------------------------------------------------------
 *
 * Final records of hosts on which, as accounting says, their job did not run:
 * the views leave them out; here they are counted by host. */

static const char refused_others[] =
    "other hosts"; /* beyond BJ_REFUSED_HOSTS */

static struct bj_refused_host *derive_find(struct bj_derive *d,
                                           struct bj_slice name)
{
    char clean[BJ_REFUSED_NAME];
    bj_text_clean(name, clean, sizeof(clean));
    size_t i = 0;
    while (i < d->n_refused && strcmp(d->refused[i].name, clean) != 0)
        i++;
    if (i == BJ_REFUSED_HOSTS)
        return &d->refused[i - 1];
    if (i == d->n_refused) {
        d->n_refused++;
        snprintf(d->refused[i].name, BJ_REFUSED_NAME, "%s",
                 i == BJ_REFUSED_HOSTS - 1 ? refused_others : clean);
    }
    return &d->refused[i];
}

/* Count a record, unless it is counted already or is not refused. */
static int derive_refuse(struct bj_derive *d, int64_t record,
                         struct bj_err *err)
{
    struct bj_st *st = d->st[BJ_DE_REFUSED_HOST];
    bj_st_bind_i64(st, 1, record);
    int r = bj_st_row(st, err);
    if (r > 0)
        derive_find(d, bj_st_get_text(st, 0))->fresh++;
    bj_st_reset(st);
    if (r <= 0)
        return r;
    bj_st_bind_i64(d->st[BJ_DE_REFUSED_PUT], 1, record);
    r = bj_st_run(d->st[BJ_DE_REFUSED_PUT], err);
    return r < 0 ? r : 0;
}

/* Count the refused records of the job that was read. */
static int derive_refuse_job(struct bj_derive *d, struct bj_err *err)
{
    enum { MAX = 256 }; /* the others in the next step of the job */
    int64_t record[MAX];
    struct bj_st *st = bj_derive_bind_records(d, BJ_DE_REFUSED);
    unsigned n = 0;
    int r = 0;
    if (d->job.refused <= 0)
        return 0;
    while (n < MAX && (r = bj_st_row(st, err)) > 0)
        record[n++] = bj_st_get_i64(st, 0);
    bj_st_reset(st);
    for (unsigned i = 0; r >= 0 && i < n; i++)
        r = derive_refuse(d, record[i], err);
    return r < 0 ? r : 0;
}

/* After the transaction. */
static void derive_refused_end(struct bj_derive *d, bool committed)
{
    for (size_t i = 0; i < d->n_refused; i++) {
        struct bj_refused_host *h = &d->refused[i];
        if (committed && h->fresh > 0 && h->n == 0)
            bj_log(BJ_LOG_WARN, NULL,
                   "host %s: %llu final records of jobs that did not run "
                   "there, as accounting says, are not used",
                   h->name, (unsigned long long)h->fresh);
        h->n += committed ? h->fresh : 0;
        h->fresh = 0;
    }
}

void bj_derive_refused_page(const struct bj_derive *d, struct bj_buf *out)
{
    static const char name[] = "batchjob_stats_refused_records_total";
    bj_buf_printf(out,
                  "# HELP %s Final records that are not used: accounting says "
                  "that the job did not run on the host.\n# TYPE %s counter\n",
                  name, name);
    for (size_t i = 0; i < d->n_refused; i++) {
        bj_buf_printf(out, "%s{host=\"", name);
        bj_buf_label(out, bj_slice_str(d->refused[i].name));
        bj_buf_str(out, "\"} ");
        bj_buf_u64(out, d->refused[i].n);
        bj_buf_str(out, "\n");
    }
}

/* --- jobs that have changed -----------------------------------------------*/

/* Jobs in the lists of one step. */
enum { STEP_MAX = 5000 };

/* After a change of the rules or applications, evaluate recent jobs again. */
static int check_rules(struct bj_derive *d, struct bj_err *err)
{
    static const char judge[] =
        "INSERT INTO derive_todo(job) SELECT id FROM job WHERE at >= ?1 AND"
        " \"end\" IS NOT NULL AND id <= (SELECT job_upto FROM derive_state)"
        " AND id NOT IN (SELECT job FROM derive_todo)";
    static const char note[] = "UPDATE derive_state SET rules = ?1 WHERE rules"
                               " != ?1 RETURNING rules";
    struct bj_st *st;
    int r = bj_db_prepare(d->db, note, &st, err);
    if (r < 0)
        return r;
    const char *sign = d->opt.rules ? bj_rules_sign(d->opt.rules) : "none";
    char both[48];
    snprintf(both, sizeof(both), "%s %016" PRIx64, sign,
             d->opt.applications ? bj_applications_sign(d->opt.applications)
                                 : 0);
    bj_st_bind_text(st, 1, bj_slice_str(both));
    r = bj_st_row(st, err);
    bool changed = r > 0;
    while (r > 0)
        r = bj_st_row(st, err);
    bj_st_finalize(st);
    if (r < 0 || !changed || (!d->opt.rules && !d->opt.applications))
        return r;
    r = bj_db_prepare(d->db, judge, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, d->opt.findings_sec);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* SQLite reuses numbers after the job with the largest one was removed. */
static int check_upto(struct bj_derive *d, struct bj_err *err)
{
    static const char sql[] =
        "UPDATE derive_state SET job_upto = ?1 WHERE job_upto > ?1";
    struct bj_st *st;
    int64_t upto;
    int r = bj_job_number_upto(d->db, &upto, err);
    if (r == 0)
        r = bj_db_prepare(d->db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_i64(st, 1, upto);
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* Store all rules, also those without findings: clients filter by their names.
 */
static int note_rules(struct bj_derive *d, struct bj_err *err)
{
    const struct bj_rule *rule;
    int64_t id;
    int r = 0;
    for (size_t i = 0;
         r == 0 && d->opt.rules && (rule = bj_rules_at(d->opt.rules, i)); i++)
        r = bj_finding_rules_id(d->finding_rules, rule, &id, err);
    return r;
}

static int derive_start(struct bj_derive *d, struct bj_err *err)
{
    int r = bj_derive_prepare(d, BJ_DERIVE_STATEMENTS, err);
    if (r == 0)
        r = bj_dicts_new(d->db, &d->dicts, err);
    if (r == 0)
        r = bj_site_zone_read(d->db, &d->own_tz, err);
    d->tz = d->own_tz;
    int64_t recounts = 0;
    if (r == 0)
        r = bj_db_int(d->db, "SELECT count(recount) FROM derive_state",
                      &recounts, err);
    d->recounts = recounts > 0;
    if (r == 0)
        r = bj_grams_new(d->store, &d->grams, err);
    if (r == 0 && d->opt.rules)
        r = bj_finding_rules_new(d->store, d->opt.rules, &d->finding_rules,
                                 err);
    if (r == 0)
        r = bj_store_begin(d->store, err);
    if (r < 0)
        return r;
    r = check_upto(d, err);
    if (r == 0)
        r = check_rules(d, err);
    if (r == 0)
        r = note_rules(d, err);
    if (r == 0)
        r = bj_store_commit(d->store, err);
    if (r < 0)
        bj_store_rollback(d->store);
    return r;
}

int bj_derive_new(struct bj_store *s, const struct bj_derive_options *opt,
                  struct bj_derive **ret, struct bj_err *err)
{
    struct bj_derive *d = calloc(1, sizeof(*d));
    if (!d)
        return bj_err_set(err, -ENOMEM, "derive");
    d->store = s;
    d->db = bj_store_db(s);
    d->opt = *opt;
    int r = derive_start(d, err);
    if (r < 0) {
        bj_derive_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

void bj_derive_free(struct bj_derive *d)
{
    if (!d)
        return;
    for (int i = 0; i < BJ_DERIVE_STATEMENTS; i++)
        bj_st_finalize(d->st[i]);
    bj_dicts_free(d->dicts);
    bj_tz_free(d->own_tz);
    bj_grams_free(d->grams);
    free(d->job.bin);
    bj_arena_free(&d->arena);
    bj_parts_free(&d->job.parts);
    bj_arena_free(&d->job.names.arena);
    bj_finding_rules_free(d->finding_rules);
    free(d);
}

void bj_derive_forget(struct bj_derive *d)
{
    bj_grams_forget(d->grams);
}

const struct bj_derive_counts *bj_derive_counts(const struct bj_derive *d)
{
    return &d->counts;
}

/* --- one job ---------------------------------------------------------------
 */

/* The combination whose sums include the job; unknown parts are "". */
static int assoc(struct bj_derive *d, struct bj_err *err)
{
    static const struct {
        int column;
        enum bj_dict_id dict;
    } parts[4] = {{BJ_DJ_CLUSTER, BJ_DICT_WORD},
                  {BJ_DJ_ACCOUNT, BJ_DICT_ACCOUNT},
                  {BJ_DJ_USER, BJ_DICT_USER},
                  {BJ_DJ_PARTITION, BJ_DICT_PARTITION}};
    struct bj_derive_job *j = &d->job;
    int64_t of[4];
    int r = 0;
    if ((j->use[BJ_USE_APPLICATION] == BJ_SQL_NULL &&
         j->use[BJ_USE_ENERGY] == BJ_SQL_NULL &&
         j->use[BJ_USE_COUNTED_MORE] == 0 &&
         j->use[BJ_USE_COUNTED_KNOWN] == 0 && j->use[BJ_USE_COUNTED_GPU] == 0 &&
         j->use[BJ_USE_FAILED_CPU] == BJ_SQL_NULL) ||
        j->use[BJ_USE_COUNTED_END] == 0)
        return 0;
    for (int i = 0; r == 0 && i < 4; i++) {
        of[i] = j->v[parts[i].column];
        if (of[i] == BJ_SQL_NULL)
            r = bj_dict_text(d->dicts, parts[i].dict, BJ_SLICE(""), &of[i],
                             err);
    }
    return r < 0 ? r : bj_dict_assoc(d->dicts, of, &j->use[BJ_USE_ASSOC], err);
}

static int number_application(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    if (!j->application) {
        for (int i = BJ_USE_HELD_CPU; i <= BJ_USE_HELD_GPU; i++)
            j->use[i] = BJ_SQL_NULL;
        return 0;
    }
    j->use[BJ_USE_APPLICATION_BY] = j->application_by;
    j->has_use = true;
    return bj_dict_text(d->dicts, BJ_DICT_WORD, bj_slice_str(j->application),
                        &j->use[BJ_USE_APPLICATION], err);
}

static int grams(struct bj_derive *d, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    if (j->use[BJ_USE_ASSOC] == BJ_SQL_NULL ||
        j->use[BJ_USE_ENERGY] == BJ_SQL_NULL)
        return 0;
    /* Bins that do not begin with the job belong to another run. */
    if (j->bins > 0 && j->bin[0].start_sec != j->use[BJ_USE_COUNTED_START])
        j->bins = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < j->bins; i++)
        sum += j->bin[i].microjoules;
    /* Prometheus' bins show how energy from another source is spread, too. */
    for (size_t i = 0; i < j->bins && sum > 0; i++) {
        __extension__ typedef __int128 wide;
        j->bin[i].microjoules = (int64_t)((wide)j->bin[i].microjoules *
                                          j->use[BJ_USE_ENERGY] / sum);
    }
    if (sum <= 0)
        j->bins = 0;
    const struct bj_grams_job job = {j->v[BJ_DJ_CLUSTER],
                                     j->use[BJ_USE_COUNTED_START],
                                     j->use[BJ_USE_COUNTED_END],
                                     j->use[BJ_USE_ENERGY],
                                     j->bin,
                                     j->bins};
    int n = bj_grams_of(d->grams, &job, j->grams, err);
    j->n_grams = n > 0 ? (size_t)n : 0;
    return n < 0 ? n : 0;
}

/* Add the job to the list for Prometheus, unless it was queried for this time.
 */
static int note_prom(struct bj_derive *d, int64_t now, struct bj_err *err)
{
    const struct bj_derive_job *j = &d->job;
    struct bj_st *st = d->st[BJ_DE_PROM_TODO];
    if (j->v[BJ_DJ_START] < 0 || j->v[BJ_DJ_END] <= j->v[BJ_DJ_START])
        return 0;
    for (size_t i = 0; i < d->opt.prom_clusters; i++) {
        if (strcmp(d->opt.prom_cluster[i], j->cluster) != 0 ||
            j->v[BJ_DJ_END] < now - d->opt.prom_history_sec[i])
            continue;
        bj_st_set_i64(st, "cluster", j->v[BJ_DJ_CLUSTER]);
        bj_st_set_i64(st, "end", j->v[BJ_DJ_END]);
        bj_st_set_i64(st, "job", j->id);
        bj_st_set_i64(st, "start", j->v[BJ_DJ_START]);
        return bj_st_run(st, err);
    }
    return 0;
}

static void copy_facts(struct bj_derive_job *j, struct bj_derive_facts *ret)
{
    memcpy(ret->cluster, j->cluster, sizeof(ret->cluster));
    memcpy(ret->partition, j->partition, sizeof(ret->partition));
    memcpy(ret->qos, j->qos, sizeof(ret->qos));
    bj_derive_facts(j, ret->fact);
}

int bj_derive_facts_of(struct bj_store *s, int64_t job,
                       struct bj_derive_facts *ret, struct bj_err *err)
{
    struct bj_derive *d = calloc(1, sizeof(*d));
    if (!d)
        return bj_err_set(err, -ENOMEM, "derive");
    d->store = s;
    d->db = bj_store_db(s);
    int r = bj_derive_prepare(d, BJ_DE_USE_PUT, err);
    if (r == 0)
        r = bj_derive_read(d, job, err);
    if (r == 0)
        r = bj_err_set(err, -ENOENT, "the job is not in the store any more");
    else if (r > 0 && d->job.v[BJ_DJ_END] == BJ_SQL_NULL)
        r = bj_err_set(err, -EBUSY, "the job has not ended");
    if (r > 0) {
        bj_derive_resolve(&d->job);
        copy_facts(&d->job, ret);
    }
    bj_derive_free(d);
    return r < 0 ? r : 0;
}

static int derive_one(struct bj_derive *d, int64_t id, int64_t now,
                      struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    double fact[BJ_FACT_COUNT];
    int r = bj_derive_read(d, id, err);
    if (r <= 0 || j->v[BJ_DJ_END] == BJ_SQL_NULL)
        return r < 0 ? r : 0; /* removed, or not ended */
    r = bj_derive_application(d, err);
    bj_derive_resolve(j);
    if (r == 0)
        r = number_application(d, err);
    if (r == 0)
        r = derive_refuse_job(d, err);
    if (r == 0)
        r = assoc(d, err);
    if (r == 0)
        r = grams(d, err);
    if (r < 0)
        return r;
    if (d->opt.rules) {
        bj_derive_facts(j, fact);
        const struct bj_rule_job job = {bj_slice_str(j->cluster),
                                        bj_slice_str(j->partition),
                                        bj_slice_str(j->qos)};
        const struct bj_rule_facts facts = {0, fact, j->names.of};
        j->n_found = bj_rules_judge(d->opt.rules, &job, &facts, 1, j->found,
                                    BJ_DERIVE_FOUND);
    }
    r = bj_derive_write(d, err);
    d->counts.changed += r > 0;
    d->counts.findings += r > 0 ? j->n_found : 0;
    d->counts.jobs++;
    return r < 0 ? r : note_prom(d, now, err);
}

/* --- lists -----------------------------------------------------------------
 */

/* Add the jobs of new records to the list. Records of unknown jobs are found
 * when the job is imported. */
static int take_records(struct bj_derive *d, unsigned max, struct bj_err *err)
{
    int64_t record[STEP_MAX], job[STEP_MAX];
    bool refused[STEP_MAX];
    struct bj_st *st = d->st[BJ_DE_RECORDS];
    unsigned n = 0;
    int r;
    bj_st_bind_i64(st, 1, max);
    while ((r = bj_st_row(st, err)) > 0) {
        record[n] = bj_st_i64(st, "record");
        refused[n] = bj_st_i64(st, "refused") == 1;
        job[n++] = bj_st_i64(st, "job");
    }
    for (unsigned i = 0; r == 0 && i < n; i++) {
        if (job[i] != BJ_SQL_NULL) {
            bj_st_bind_i64(d->st[BJ_DE_TODO_ADD], 1, job[i]);
            r = bj_st_run(d->st[BJ_DE_TODO_ADD], err);
        }
        if (r == 0 && refused[i])
            r = derive_refuse(d, record[i], err);
        bj_st_bind_i64(d->st[BJ_DE_RECORD_DONE], 1, record[i]);
        if (r == 0)
            r = bj_st_run(d->st[BJ_DE_RECORD_DONE], err);
    }
    return r < 0 ? r : (int)n;
}

static int derive_list(struct bj_derive *d, int which, unsigned max,
                       int64_t *ids, unsigned *n, struct bj_err *err)
{
    struct bj_st *st = d->st[which];
    int r;
    bj_st_bind_i64(st, 1, max);
    while ((r = bj_st_row(st, err)) > 0)
        ids[(*n)++] = bj_st_get_i64(st, 0);
    return r;
}

/* Derive a job that is new or has changed, and the other runs of its id: final
 * records that were linked to these may be nearer to it. */
static int derive_runs(struct bj_derive *d, int64_t id, int64_t now,
                       struct bj_err *err)
{
    enum { RUNS_MAX = 64 };
    struct bj_st *st = d->st[BJ_DE_OTHER_RUNS];
    int64_t others[RUNS_MAX];
    unsigned n = 0;
    int r;
    bj_st_bind_i64(st, 1, id);
    bj_st_bind_i64(st, 2, RUNS_MAX);
    while ((r = bj_st_row(st, err)) > 0)
        others[n++] = bj_st_get_i64(st, 0);
    if (r == 0)
        r = derive_one(d, id, now, err);
    for (unsigned i = 0; r == 0 && i < n; i++)
        r = derive_one(d, others[i], now, err);
    return r;
}

static int take_jobs(struct bj_derive *d, int64_t now, unsigned max,
                     struct bj_err *err)
{
    int64_t ids[STEP_MAX], upto = 0;
    unsigned n = 0, fresh;
    int r = derive_list(d, BJ_DE_TODO, max, ids, &n, err);
    fresh = n;
    if (r == 0)
        r = bj_db_int(d->db, "SELECT job_upto FROM derive_state", &upto, err);
    bj_st_bind_i64(d->st[BJ_DE_NEW], 2, upto);
    if (r == 0 && n < max)
        r = derive_list(d, BJ_DE_NEW, max - n, ids, &n, err);
    for (unsigned i = 0; r == 0 && i < n; i++) {
        r = derive_runs(d, ids[i], now, err);
        if (r == 0 && i < fresh) {
            bj_st_bind_i64(d->st[BJ_DE_TODO_DONE], 1, ids[i]);
            r = bj_st_run(d->st[BJ_DE_TODO_DONE], err);
        }
    }
    if (r == 0) {
        bj_st_bind_i64(d->st[BJ_DE_SET_UPTO], 1, n > fresh ? ids[n - 1] : upto);
        r = bj_st_run(d->st[BJ_DE_SET_UPTO], err);
    }
    return r < 0 ? r : (int)n;
}

/* Add the jobs of an older version to the sums by application.  Nothing else of
 * them changes. */
static int recount_one(struct bj_derive *d, int64_t id, struct bj_err *err)
{
    struct bj_derive_job *j = &d->job;
    int64_t held[BJ_USE_COLUMNS];
    const struct bj_rules *rules = d->opt.rules;
    int r = bj_derive_read(d, id, err);
    if (r <= 0 || !j->had_use || j->v[BJ_DJ_END] == BJ_SQL_NULL)
        return r < 0 ? r : 0;
    bj_derive_resolve(j);
    memcpy(held, j->use, sizeof(held));
    memcpy(j->use, j->old_use, sizeof(j->use));
    memcpy(j->grams, j->old_grams, sizeof(j->grams));
    j->n_grams = j->n_old_grams;
    j->has_use = true;
    for (int i = BJ_USE_HELD_CPU; i <= BJ_USE_HELD_GPU; i++)
        j->use[i] = held[i];
    r = assoc(d, err);
    d->opt.rules = NULL; /* findings stay */
    if (r == 0)
        r = bj_derive_write(d, err);
    d->opt.rules = rules;
    return r < 0 ? r : 0;
}

static int take_recounts(struct bj_derive *d, unsigned max, struct bj_err *err)
{
    int64_t ids[STEP_MAX];
    unsigned n = 0;
    bj_st_bind_i64(d->st[BJ_DE_RECOUNT], 2, d->recounted);
    int r = derive_list(d, BJ_DE_RECOUNT, max, ids, &n, err);
    for (unsigned i = 0; r == 0 && i < n; i++)
        r = recount_one(d, ids[i], err);
    if (r == 0 && n == 0)
        r = bj_db_exec(d->db, "UPDATE derive_state SET recount = NULL", err);
    if (r < 0)
        return r;
    d->recounts = n > 0;
    d->recounted = n > 0 ? ids[n - 1] : d->recounted;
    return (int)n;
}

static int derive_step(struct bj_derive *d, int64_t now, unsigned max,
                       struct bj_err *err)
{
    int records = take_records(d, max, err);
    if (records < 0)
        return records;
    int jobs = take_jobs(d, now, max, err);
    if (jobs < 0 || records + jobs > 0 || !d->recounts)
        return jobs < 0 ? jobs : records + jobs;
    return take_recounts(d, max, err);
}

static int is_idle(struct bj_derive *d, bool *ret, struct bj_err *err)
{
    int64_t n;
    int r = bj_db_int(
        d->db,
        "SELECT NOT EXISTS (SELECT 1 FROM derive_record) AND NOT EXISTS"
        " (SELECT 1 FROM derive_todo) AND NOT EXISTS (SELECT 1 FROM job WHERE"
        " id > (SELECT job_upto FROM derive_state))",
        &n, err);
    *ret = n != 0;
    return r;
}

int bj_derive_step(struct bj_derive *d, int64_t now_sec, unsigned max,
                   struct bj_err *err)
{
    const struct bj_derive_counts was = d->counts;
    const bool recounts = d->recounts;
    const int64_t recounted = d->recounted;
    bool nothing = false;
    int r = is_idle(d, &nothing, err);
    if (r < 0 || (nothing && !d->recounts))
        return r;
    r = bj_store_begin(d->store, err);
    if (r < 0)
        return r;
    int n = derive_step(d, now_sec, max > STEP_MAX ? STEP_MAX : max, err);
    r = n < 0 ? n : bj_store_commit(d->store, err);
    if (r < 0) {
        bj_store_rollback(d->store);
        bj_dicts_clear(d->dicts);
        bj_finding_rules_clear(d->finding_rules);
        d->counts = was;
        d->recounts = recounts;
        d->recounted = recounted;
        derive_refused_end(d, false);
        return bj_err_wrap(err, r, "deriving jobs");
    }
    derive_refused_end(d, true);
    return n;
}

/* --- moving ----------------------------------------------------------------
 */

enum { BATCH = 500, JOB_COLUMNS = 17, ID = 0, ASSOC, VALUES };

struct move {
    struct bj_derive derive; /* only its statements */
    struct bj_rollup *rollup;
    struct bj_st *jobs;
    const struct bj_tz *from, *to;
    size_t n;
    int64_t job[BATCH][VALUES + JOB_COLUMNS];
};

/* The columns of sums, in the order of the statement. */
static const struct {
    unsigned char col;
    const char *name;
} columns[JOB_COLUMNS] = {{BJ_COL_STATE, "state"},
                          {BJ_COL_START, "start"},
                          {BJ_COL_END, "\"end\""},
                          {BJ_COL_ELAPSED, "elapsed"},
                          {BJ_COL_SUSPENDED, "suspended"},
                          {BJ_COL_CPUS, "cpus"},
                          {BJ_COL_NODES, "nodes"},
                          {BJ_COL_CPU, "cpu_usec"},
                          {BJ_COL_ENERGY, "energy_scheduler_joules"},
                          {BJ_JOB_SUBMIT, "submit"},
                          {BJ_JOB_ELIGIBLE, "eligible"},
                          {BJ_JOB_GPUS, "gpus"},
                          {BJ_JOB_ALLOCATED_MEM, "memory_allocated_bytes"},
                          {BJ_JOB_CPU_SEC, "cpu_sec"},
                          {BJ_JOB_NODE_SEC, "node_sec"},
                          {BJ_JOB_GPU_SEC, "gpu_sec"},
                          {BJ_JOB_MIB_SEC, "memory_mib_sec"}};

static int zone_prepare(struct move *m, struct bj_db *db, struct bj_err *err)
{
    struct bj_buf sql = {0};
    bj_buf_str(&sql, "SELECT j.id, a.id");
    for (unsigned i = 0; i < JOB_COLUMNS; i++)
        bj_buf_printf(&sql, ", j.%s", columns[i].name);
    bj_buf_printf(
        &sql,
        " FROM job AS j JOIN assoc AS a ON a.cluster = j.cluster AND a.account"
        " = coalesce(j.account, (SELECT id FROM account WHERE name = ''))"
        " AND a.\"user\" = coalesce(j.\"user\", (SELECT id FROM \"user\" WHERE"
        " name = '')) AND a.\"partition\" = coalesce(j.\"partition\", (SELECT"
        " id FROM \"partition\" WHERE name = '')) WHERE j.id > ?1 ORDER BY j.id"
        " LIMIT %d",
        BATCH);
    int r = bj_db_prepare_buf(db, &sql, &m->jobs, err);
    if (r == 0)
        r = bj_rollup_new(db, &m->rollup, err);
    return r < 0 ? r : bj_derive_prepare(&m->derive, BJ_DERIVE_STATEMENTS, err);
}

/* Read the jobs after one: their number. */
static int read_jobs(struct move *m, int64_t after, struct bj_err *err)
{
    int r;
    m->n = 0;
    bj_st_bind_i64(m->jobs, 1, after);
    while ((r = bj_st_row(m->jobs, err)) > 0)
        if (m->n < BATCH) {
            for (int i = 0; i < VALUES + JOB_COLUMNS; i++)
                m->job[m->n][i] = bj_st_get_i64(m->jobs, i);
            m->n++;
        }
    bj_st_reset(m->jobs);
    return r < 0 ? r : (int)m->n;
}

/* Are both times on one day, which is the same in both zones? */
static bool is_one_day(const struct move *m, int64_t start, int64_t end)
{
    const int64_t last = INT64_C(253402300799); /* of year 9999 */
    if (start < 0 || end < start || end > last)
        return false;
    const int64_t day = bj_tz_day(m->from, start);
    return day == bj_tz_day(m->from, end) && day == bj_tz_day(m->to, start) &&
           day == bj_tz_day(m->to, end);
}

/* Move the sums of measured values. */
static int move_use(struct move *m, int64_t job, struct bj_err *err)
{
    struct bj_derive *d = &m->derive;
    d->job.id = job;
    int r = bj_derive_read_old(d, err);
    if (r < 0 || !d->job.had_use ||
        is_one_day(m, d->job.old_use[BJ_USE_COUNTED_START],
                   d->job.old_use[BJ_USE_COUNTED_END]))
        return r;
    d->tz = m->from;
    r = bj_derive_count(d, d->job.old_use, d->job.old_grams, d->job.n_old_grams,
                        -1, err);
    d->tz = m->to;
    return r < 0 ? r
                 : bj_derive_count(d, d->job.old_use, d->job.old_grams,
                                   d->job.n_old_grams, 1, err);
}

/* Move the sums of accounting. */
static int move_row(struct move *m, const int64_t *v, struct bj_err *err)
{
    struct bj_row row = {.weak = false};
    for (int i = 0; i < BJ_ROW_COLS; i++)
        row.v[i] = BJ_SQL_NULL;
    for (int i = 0; i < JOB_COLUMNS; i++)
        row.v[columns[i].col] = v[VALUES + i];
    if (is_one_day(m, row.v[BJ_COL_START], row.v[BJ_COL_END]))
        return 0;
    bj_rollup_use_zone(m->rollup, m->from);
    int r = bj_rollup_add(m->rollup, v[ASSOC], &row, -1, err);
    bj_rollup_use_zone(m->rollup, m->to);
    if (r == 0)
        r = bj_rollup_add(m->rollup, v[ASSOC], &row, 1, err);
    return r;
}

static int move_all(struct move *m, struct bj_err *err)
{
    int64_t after = -1;
    int r;
    while ((r = read_jobs(m, after, err)) > 0) {
        after = m->job[m->n - 1][ID];
        for (size_t i = 0; r >= 0 && i < m->n; i++)
            if ((r = move_row(m, m->job[i], err)) == 0)
                r = move_use(m, m->job[i][ID], err);
        if (r < 0)
            return r;
    }
    return r < 0 ? r : bj_rollup_flush(m->rollup, err);
}

static int write_name(struct bj_db *db, const char *name, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = bj_db_prepare(db,
                          "INSERT INTO site(id, time_zone) VALUES(1, ?1) ON"
                          " CONFLICT(id) DO UPDATE SET time_zone ="
                          " excluded.time_zone",
                          &st, err);
    if (r < 0)
        return r;
    bj_st_bind_text(st, 1, bj_slice_str(name));
    r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* Move the sums between two zones and store the new one, in a transaction. */
static int zone_change(struct bj_store *s, struct move *m, struct bj_err *err)
{
    struct bj_db *db = bj_store_db(s);
    m->derive.store = s;
    m->derive.db = db;
    int r = zone_prepare(m, db, err);
    if (r == 0)
        r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = move_all(m, err);
    if (r == 0)
        r = write_name(db, bj_tz_name(m->to), err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

int bj_site_zone_set(struct bj_store *s, const char *name, bool *ret_changed,
                     struct bj_err *err)
{
    char had[BJ_TZ_NAME], machine[BJ_TZ_NAME];
    struct bj_tz *from = NULL, *to = NULL;
    *ret_changed = false;
    int r = bj_site_zone_name(bj_store_db(s), had, err);
    if (r < 0)
        return r;
    if (!name || !name[0]) {
        bj_tz_of_machine(machine);
        name = had[0] ? had : machine;
    }
    if (strcmp(had, name) == 0)
        return 0;
    struct move *m = calloc(1, sizeof(*m));
    r = m ? bj_site_zone_read(bj_store_db(s), &from, err)
          : bj_err_set(err, -ENOMEM, "time zone");
    if (r == 0)
        r = bj_tz_load(name, &to, err);
    if (r == 0) {
        m->from = from;
        m->to = to;
        r = zone_change(s, m, err);
        *ret_changed = r == 0;
    }
    if (m) {
        for (int i = 0; i < BJ_DERIVE_STATEMENTS; i++)
            bj_st_finalize(m->derive.st[i]);
        bj_st_finalize(m->jobs);
        bj_rollup_free(m->rollup);
    }
    free(m);
    bj_tz_free(from);
    bj_tz_free(to);
    return r < 0 ? bj_err_wrap(err, r, "time zone of the site") : 0;
}
