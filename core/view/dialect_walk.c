/* Labels, values and sums of a walk in a dialect. */
#include "core/view/dialect_walk.h"

#include "base/array.h"
#include "core/find/ident.h"

#include <errno.h>
#include <stdlib.h>

/* --- labels ---------------------------------------------------------------*/

/* Labels of jobs: written once in a walk, copied for each sample. */

static struct bj_slice short_host(struct bj_slice host)
{
    const char *dot = host.n > 0 ? memchr(host.p, '.', host.n) : NULL;
    return dot ? (struct bj_slice){host.p, (size_t)(dot - host.p)} : host;
}

static void walk_put_text(struct bj_buf *b, const char *text,
                          struct bj_slice value)
{
    bj_buf_str(b, text);
    bj_buf_label(b, value);
}

/* cgroup="...". Source: the directories of Slurm's cgroup plugins, v1 and v2;
 * with several slurmd on a host, including the node's name. */
static void put_cgroup(struct bj_buf *b, const char *name, bool unified,
                       const struct bj_slice *id)
{
    const struct bj_slice node = id[BJ_ID_NODE];
    bj_buf_str(b, name);
    if (unified) {
        walk_put_text(b, "=\"/system.slice/", node);
        bj_buf_str(b, node.n > 0 ? "_slurmstepd.scope/" : "slurmstepd.scope/");
    } else {
        bj_buf_str(b, "=\"/slurm");
        walk_put_text(b, node.n > 0 ? "_" : "", node);
        walk_put_text(b, "/uid_", id[BJ_ID_UID]);
        bj_buf_str(b, "/");
    }
    if (unified && id[BJ_ID_SLUID].n > 0)
        walk_put_text(b, "", id[BJ_ID_SLUID]);
    else
        walk_put_text(b, "job_", id[BJ_ID_JOBID]);
    bj_buf_str(b, "\",");
}

static struct bj_slice label_value(const struct bj_dialect_label *l,
                                   const struct bj_dialect_env *env,
                                   const struct bj_job *job)
{
    struct bj_slice v = {0};
    switch (l->of) {
    case BJ_LABEL_HOST:
        return env->host;
    case BJ_LABEL_SHORT_HOST:
        return short_host(env->host);
    case BJ_LABEL_TEXT:
        return bj_slice_str(l->text);
    case BJ_LABEL_UUID:
        v = job->ident->f[BJ_ID_UUID];
        return v.n > 0 ? v : job->ident->f[BJ_ID_JOBID];
    case BJ_LABEL_IDENT:
    case BJ_LABEL_CGROUP:
        break;
    }
    if ((l->field == BJ_ID_USER && env->hide_user) ||
        (l->field == BJ_ID_ACCOUNT && env->hide_account))
        return v;
    if (job)
        v = job->ident->f[l->field];
    return v.n > 0 ? v : bj_slice_str(l->text);
}

/* name="value", as a single write. */
static void walk_put_label(struct bj_buf *b, const char *name,
                           struct bj_slice value)
{
    size_t n = strlen(name);
    if (!bj_buf_room(b, n + 2 * value.n + 4))
        return;
    char *at = b->p + b->len;
    memcpy(at, name, n);
    at += n;
    *at++ = '=';
    *at++ = '"';
    for (size_t i = 0; i < value.n; i++) {
        char c = value.p[i];
        if (c == '\\' || c == '"' || c == '\n')
            *at++ = '\\';
        *at++ = c == '\n' ? 'n' : c;
    }
    *at++ = '"';
    *at++ = ',';
    b->len = (size_t)(at - b->p);
}

/* With several slurmd on a host, as in tests and emulations, two jobs may have
 * the same id. Originals without a label for the node do not support this; here
 * such jobs get our label. */
static void put_node(struct bj_buf *b, const struct bj_dialect_label *l,
                     const struct bj_job *job)
{
    bool has_node = job->ident->f[BJ_ID_NODE].n == 0;
    for (; l->name; l++)
        has_node |= l->of == BJ_LABEL_CGROUP ||
                    (l->of == BJ_LABEL_IDENT && l->field == BJ_ID_NODE);
    if (!has_node)
        walk_put_label(b, "slurm_node", job->ident->f[BJ_ID_NODE]);
}

/* Empty step labels of a job's own samples, at their end. */
static void put_no_step(const struct bj_dialect_walk *w)
{
    for (int i = 0; i < 2 && w->dialect->step[i]; i++)
        walk_put_label(&w->room->text, w->dialect->step[i],
                       (struct bj_slice){0});
}

size_t bj_dialect_no_step(const struct bj_dialect *d)
{
    size_t n = 0;
    for (int i = 0; i < 2 && d->step[i]; i++)
        n += strlen(d->step[i]) + sizeof("=\"\",") - 1;
    return n;
}

/* Write one set of labels; labels that need a job only when there is one. */
static void put_set(const struct bj_dialect_walk *w, int set,
                    const struct bj_job *job)
{
    const struct bj_dialect_label *l = w->dialect->labels[set];
    struct bj_buf *b = &w->room->text;
    if (!l)
        return;
    if (w->snap->cluster.n > 0 && !w->env->strict)
        walk_put_label(b, "cluster", w->snap->cluster);
    if (job)
        put_node(b, l, job);
    for (; l->name; l++)
        if (job && l->of == BJ_LABEL_CGROUP)
            put_cgroup(b, l->name, w->env->unified, job->ident->f);
        else if (job || (l->of != BJ_LABEL_IDENT && l->of != BJ_LABEL_UUID))
            walk_put_label(b, l->name, label_value(l, w->env, job));
}

static bool same_id(const struct bj_job *a, const struct bj_job *b)
{
    return bj_slice_eq(a->ident->f[BJ_ID_JOBID], b->ident->f[BJ_ID_JOBID]);
}

/* Drop duplicates. Jobs are sorted by id, so jobs with equal labels are
 * neighbours. True: keep the newest one. */
static bool unique(struct bj_dialect_walk *w)
{
    struct bj_dialect_room *room = w->room;
    struct bj_dialect_job *new = &room->v[room->n];
    for (size_t i = room->n; i-- > 0;) {
        struct bj_dialect_job *old = &room->v[i];
        if (!same_id(old->job, new->job))
            return true;
        if (!bj_slice_eq(bj_dialect_labels(w, old, 0),
                         bj_dialect_labels(w, new, 0)))
            continue;
        if (bj_dialect_runs(new->job) && !bj_dialect_runs(old->job))
            *old = *new;
        return false;
    }
    return true;
}

static bool skipped(const struct bj_dialect_env *env, const struct bj_job *job)
{
    uint64_t uid;
    if (env->nskip_uids == 0 ||
        bj_slice_u64(job->ident->f[BJ_ID_UID], &uid) < 0)
        return false;
    for (size_t i = 0; i < env->nskip_uids; i++)
        if (env->skip_uids[i] == uid)
            return true;
    return false;
}

/* Originals drop a job as soon as it ends. */
static bool shows_job(const struct bj_dialect_walk *w, const struct bj_job *job)
{
    const char *system = w->dialect->system;
    if (system &&
        !bj_slice_eq(job->ident->f[BJ_ID_SYSTEM], bj_slice_str(system)))
        return false;
    return !(w->env->strict && !bj_dialect_runs(job)) && !skipped(w->env, job);
}

/* The label sets of jobs and steps; the first set identifies jobs. */
static unsigned sets_of_jobs(const struct bj_dialect *d, unsigned *ret_steps)
{
    unsigned sets = 1;
    *ret_steps = 0;
    for (size_t i = 0; i < d->nrows; i++) {
        const unsigned set = 1u << d->rows[i].labels;
        if (bj_dialect_of_jobs(&d->rows[i]))
            sets |= set;
        if (d->rows[i].of == BJ_ROW_USAGE)
            *ret_steps |= set;
    }
    return sets;
}

static int walk_put_jobs(struct bj_dialect_walk *w)
{
    const struct bj_job *job = w->snap->jobs.v;
    struct bj_dialect_room *room = w->room;
    unsigned steps;
    const unsigned sets = sets_of_jobs(w->dialect, &steps);
    room->n = 0;
    if (!BJ_GROW(room->v, w->snap->jobs.n, room->cap))
        return -ENOMEM;
    for (size_t i = 0; i < w->snap->jobs.n; i++) {
        if (!shows_job(w, &job[i]))
            continue;
        struct bj_dialect_job *j = &room->v[room->n];
        j->job = &job[i];
        for (int set = 0; set < BJ_DIALECT_SETS; set++) {
            j->begin[set] = room->text.len;
            if (sets & 1u << set)
                put_set(w, set, &job[i]);
            if (steps & 1u << set)
                put_no_step(w);
        }
        j->begin[BJ_DIALECT_SETS] = room->text.len;
        if (room->text.failed)
            return -ENOMEM;
        room->n += unique(w);
    }
    return 0;
}

int bj_dialect_take_jobs(struct bj_dialect_walk *w)
{
    struct bj_buf *text = &w->room->text;
    size_t begin[BJ_DIALECT_SETS + 1];
    bj_buf_reset(text);
    for (int set = 0; set < BJ_DIALECT_SETS; set++) {
        begin[set] = text->len;
        put_set(w, set, NULL);
    }
    begin[BJ_DIALECT_SETS] = text->len;
    int r = walk_put_jobs(w);
    if (r < 0 || text->failed)
        return -ENOMEM;
    /* text may have moved while it grew. */
    for (int set = 0; set < BJ_DIALECT_SETS; set++)
        w->bare[set] = (struct bj_slice){text->p + begin[set],
                                         begin[set + 1] - begin[set]};
    return 0;
}

/* --- values ---------------------------------------------------------------*/

/* Values, keys and samples of a row. */

static uint64_t walk_times(uint64_t v, uint64_t by)
{
    uint64_t ret;
    return __builtin_mul_overflow(v, by, &ret) ? BJ_ABSENT : ret;
}

/* Convert a value to the unit of the row. */
static uint64_t dialect_scaled(enum bj_scale scale, uint64_t v)
{
    switch (scale) {
    case BJ_SCALE_NONE:
    case BJ_SCALE_MICRO:
        break;
    case BJ_SCALE_NSEC:
    case BJ_SCALE_MILLI:
        return walk_times(v, 1000);
    case BJ_SCALE_TICKS:
        return v / 10000;
    case BJ_SCALE_MIB: /* 10^6 / 2^20 */
        return v / 16384 * 15625 + v % 16384 * 15625 / 16384;
    case BJ_SCALE_PERCENT:
        return walk_times(v, 100);
    case BJ_SCALE_MB:
        return walk_times(v >> 20, 1000000);
    case BJ_SCALE_FLAG:
        return v != 0;
    case BJ_SCALE_ZERO:
        return 0;
    }
    return v;
}

uint64_t bj_dialect_value(const struct bj_dialect_row *row, const char *record)
{
    uint64_t v = bj_dialect_field(record, row->off);
    if (row->use == BJ_SECOND_ELSE && v == BJ_ABSENT)
        v = bj_dialect_field(record, row->second);
    if (v == BJ_ABSENT && row->use == BJ_SECOND_LACK &&
        bj_dialect_field(record, row->second) == BJ_ABSENT)
        return BJ_ABSENT;
    if (v == BJ_ABSENT)
        return row->lack ? row->lack : BJ_ABSENT;
    if (v < row->least || row->lacking)
        return BJ_ABSENT;
    if (row->use == BJ_SECOND_ADD) {
        uint64_t more = bj_dialect_field(record, row->second);
        if (more == BJ_ABSENT || __builtin_add_overflow(v, more, &v))
            return BJ_ABSENT;
    }
    if (row->use == BJ_SECOND_PER) {
        uint64_t by = bj_dialect_field(record, row->second);
        if (by == BJ_ABSENT || by == 0)
            return BJ_ABSENT;
        v /= by;
    }
    return dialect_scaled(row->scale, v);
}

/* Selection of records, and their keys in the original's words. */

static bool walk_fits(struct bj_slice s, const char *pattern)
{
    struct bj_slice want = bj_slice_str(pattern);
    if (want.n > 0 && want.p[want.n - 1] == '*') {
        want.n--;
        return bj_slice_starts(s, want);
    }
    if (want.n > 0 && want.p[0] == '*') {
        want = bj_slice_str(pattern + 1);
        if (s.n < want.n)
            return false;
        s = (struct bj_slice){s.p + (s.n - want.n), want.n};
    }
    return bj_slice_eq(s, want);
}

static bool value_skipped(const char *const *skip, struct bj_slice path)
{
    for (size_t i = path.n; i-- > 0;)
        if (path.p[i] == '/') {
            path = (struct bj_slice){path.p + i + 1, path.n - i - 1};
            break;
        }
    for (; *skip; skip++)
        if (bj_slice_eq(path, bj_slice_str(*skip)))
            return true;
    return false;
}

static const struct bj_dialect_word *
find_word(const struct bj_dialect_row *row,
          const struct bj_slice key[BJ_SUB_KEYS])
{
    for (const struct bj_dialect_word *w = row->words; w && w->ours; w++)
        if (bj_slice_eq(key[row->word], bj_slice_str(w->ours)))
            return w;
    return NULL;
}

bool bj_dialect_wanted(const struct bj_dialect_row *row,
                       const struct bj_slice key[BJ_SUB_KEYS])
{
    for (int i = 0; i < 2; i++)
        if (row->only[i] && !walk_fits(key[i], row->only[i]))
            return false;
    if (row->words_only && !find_word(row, key))
        return false;
    return !row->skip || !value_skipped(row->skip, key[0]);
}

struct bj_slice bj_dialect_map_word(const struct bj_dialect_row *row,
                                    const struct bj_slice key[BJ_SUB_KEYS])
{
    const struct bj_dialect_word *word = find_word(row, key);
    return word ? bj_slice_str(word->theirs) : key[row->word];
}

size_t bj_dialect_keys(const struct bj_dialect_row *row,
                       const struct bj_slice key[BJ_SUB_KEYS],
                       struct bj_slice ret[BJ_SUB_KEYS])
{
    size_t n = 0;
    for (unsigned k = 0; k < BJ_SUB_KEYS; k++)
        if (row->key[k])
            ret[n++] = k == row->word ? bj_dialect_map_word(row, key) : key[k];
    return n;
}

int bj_dialect_begin(struct bj_dialect_walk *w)
{
    w->begun = true;
    return w->sink->family(w->sink->ctx, w->row, w->key);
}

int bj_dialect_put(struct bj_dialect_walk *w, struct bj_slice labels,
                   const struct bj_slice *key, uint64_t value)
{
    const struct bj_dialect_sample s = {labels, key, value, w->digits};
    int r = w->begun ? 0 : bj_dialect_begin(w);
    return r < 0 ? r : w->sink->sample(w->sink->ctx, &s);
}

/* --- sums -----------------------------------------------------------------*/

/* Sums of records whose exported labels are equal. */

/* A sum, by its exported keys. */
struct bj_dialect_sum {
    struct bj_slice key[BJ_SUB_KEYS];
    uint64_t first, second; /* sums of the two fields */
};

static void walk_add(uint64_t *sum, uint64_t v)
{
    if (__builtin_add_overflow(*sum, v, sum) || *sum == BJ_ABSENT)
        *sum = BJ_ABSENT - 1;
}

static int compare_slices(struct bj_slice a, struct bj_slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int r = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return r != 0 ? r : (a.n > b.n) - (a.n < b.n);
}

static int walk_compare(const void *a, const void *b)
{
    const struct bj_dialect_sum *x = a, *y = b;
    int r = 0;
    for (int k = 0; k < BJ_SUB_KEYS && r == 0; k++)
        r = compare_slices(x->key[k], y->key[k]);
    return r;
}

static int append(struct bj_dialect_room *room, const struct bj_dialect_sum *s)
{
    if (!BJ_GROW(room->sums, room->nsums + 1, room->sums_cap))
        return -ENOMEM;
    room->sums[room->nsums++] = *s;
    return 0;
}

/* Append a record with its exported keys; the others are empty. */
static int take_as(struct bj_dialect_walk *w, struct bj_dialect_sum *s)
{
    struct bj_slice key[BJ_SUB_KEYS] = {{0}};
    if (w->row->map && !w->row->map(&w->room->arena, s->key))
        return 0;
    if (!bj_dialect_wanted(w->row, s->key))
        return 0;
    bj_dialect_keys(w->row, s->key, key);
    memcpy(s->key, key, sizeof(key));
    return append(w->room, s);
}

static int walk_take(struct bj_dialect_walk *w, const char *record)
{
    const struct bj_dialect_row *row = w->row;
    const struct bj_sub *sub = (const void *)record;
    struct bj_dialect_sum s = {
        .first = row->value ? row->value(record)
                            : bj_dialect_field(record, row->off)};
    if (row->use != BJ_SECOND_NONE)
        s.second = bj_dialect_field(record, row->second);
    if (row->use == BJ_SECOND_SUB && s.second == BJ_ABSENT)
        s.second = 0; /* unknown: nothing to subtract */
    if (s.first == BJ_ABSENT || s.second == BJ_ABSENT)
        return 0;
    memcpy(s.key, sub->key, sizeof(s.key));
    if (!row->split)
        return take_as(w, &s);
    struct bj_slice rest = sub->key[0], one;
    int r = 0;
    while (r == 0 && bj_slice_field(&rest, ',', &one)) {
        struct bj_dialect_sum part = s;
        part.key[0] = one;
        r = take_as(w, &part);
    }
    return r;
}

static void walk_merge(struct bj_dialect_room *room)
{
    struct bj_dialect_sum *v = room->sums;
    size_t n = 0;
    if (room->nsums == 0)
        return;
    qsort(v, room->nsums, sizeof(*v), walk_compare);
    for (size_t i = 1; i < room->nsums; i++)
        if (walk_compare(&v[n], &v[i]) == 0) {
            walk_add(&v[n].first, v[i].first);
            walk_add(&v[n].second, v[i].second);
        } else {
            v[++n] = v[i];
        }
    room->nsums = n + 1;
}

static uint64_t quotient(uint64_t a, uint64_t b, uint64_t times)
{
    uint64_t more;
    if (b == 0)
        return BJ_ABSENT;
    return __builtin_mul_overflow(a, times, &more) ? a / b * times : more / b;
}

static uint64_t walk_value_of(const struct bj_dialect_row *row,
                              const struct bj_dialect_sum *s)
{
    uint64_t v = s->first;
    if (row->use == BJ_SECOND_ADD)
        walk_add(&v, s->second);
    else if (row->use == BJ_SECOND_SUB)
        v -= v < s->second ? v : s->second;
    else if (row->use == BJ_SECOND_PER)
        v = quotient(v, s->second, 1);
    else if (row->use == BJ_SECOND_SHARE)
        v = quotient(v, s->second, 1000000);
    return v == BJ_ABSENT || v < row->least ? BJ_ABSENT
                                            : dialect_scaled(row->scale, v);
}

static int put_states(struct bj_dialect_walk *w, struct bj_slice labels,
                      const struct bj_dialect_sum *s)
{
    int r = 0;
    for (size_t i = 0; w->row->states[i] && r >= 0; i++) {
        const struct bj_slice key[BJ_SUB_KEYS] = {
            s->key[0], bj_slice_str(w->row->states[i])};
        r = bj_dialect_put(w, labels, key, bj_slice_eq(key[1], s->key[1]));
    }
    return r;
}

int bj_dialect_put_sums(struct bj_dialect_walk *w, struct bj_slice labels)
{
    const struct bj_dialect_row *row = w->row;
    struct bj_dialect_room *room = w->room;
    const struct bj_list *list =
        (const void *)((const char *)w->snap + row->list);
    const char *record = list->v;
    static const struct bj_dialect_sum zero;
    int r = 0;
    room->nsums = 0;
    bj_arena_reset(&room->arena);
    for (size_t i = 0; i < list->n && r == 0; i++, record += row->size)
        r = walk_take(w, record);
    if (r == 0 && room->nsums == 0 && row->source > 0 &&
        w->snap->cluster_lists.part[row->source - 1])
        r = append(room, &zero);
    if (r < 0 || room->arena.failed)
        return -ENOMEM;
    walk_merge(room);
    for (size_t i = 0; i < room->nsums && r >= 0; i++) {
        const struct bj_dialect_sum *s = &room->sums[i];
        uint64_t v = walk_value_of(row, s);
        if (row->states)
            r = put_states(w, labels, s);
        else if (v != BJ_ABSENT)
            r = bj_dialect_put(w, labels, w->key[0] ? s->key : NULL, v);
    }
    return r;
}
