/* The dialects by name, and the walk through a snapshot. */
#include "core/view/dialect.h"

#include "core/view/dialect_tables.h"
#include "core/view/dialect_walk.h"

#include <errno.h>
#include <stdlib.h>

const struct bj_dialect *const bj_dialects[] = {
#define ADDRESS(name) &bj_dialect_##name,
    BJ_DIALECTS(ADDRESS) NULL,
#undef ADDRESS
};

const struct bj_dialect *bj_dialect_find(struct bj_slice name)
{
    for (size_t i = 0; bj_dialects[i]; i++)
        if (bj_slice_eq(name, bj_slice_str(bj_dialects[i]->name)))
            return bj_dialects[i];
    return NULL;
}

void bj_dialect_names(struct bj_buf *out)
{
    bj_buf_str(out, "native");
    for (size_t i = 0; bj_dialects[i]; i++)
        bj_buf_printf(out, ", %s", bj_dialects[i]->name);
}

/* --- the walk -------------------------------------------------------------*/

void bj_dialect_room_free(struct bj_dialect_room *room)
{
    bj_buf_free(&room->text);
    bj_arena_free(&room->arena);
    free(room->sums);
    free(room->v);
    *room = (struct bj_dialect_room){0};
}

static bool same_keys(const struct bj_dialect_row *row, const struct bj_sub *a,
                      const struct bj_sub *b)
{
    for (unsigned k = 0; k < BJ_SUB_KEYS; k++)
        if (row->key[k] && !bj_slice_eq(a->key[k], b->key[k]))
            return false;
    return true;
}

static int dialect_put_list(struct bj_dialect_walk *w, struct bj_slice labels,
                            const struct bj_list *list)
{
    const struct bj_dialect_row *row = w->row;
    const char *record = list->v;
    const struct bj_sub *last = NULL;
    int r = 0;
    if (row->more_keys)
        bj_arena_reset(&w->room->arena);
    for (size_t i = 0; i < list->n && r >= 0; i++, record += row->size) {
        const struct bj_sub *sub = (const void *)record;
        uint64_t v = bj_dialect_value(row, record);
        if (v == BJ_ABSENT || !bj_dialect_wanted(row, sub->key) ||
            (row->unlike_last && last && same_keys(row, sub, last)))
            continue;
        last = sub;
        struct bj_slice key[BJ_SUB_KEYS + BJ_INFO_MAX];
        size_t n = bj_dialect_keys(row, sub->key, key);
        if (row->more_keys)
            row->more_keys(&w->room->arena, sub->key, key + n);
        if (w->room->arena.failed)
            return -ENOMEM;
        r = bj_dialect_put(w, labels, n > 0 || row->more_keys ? key : NULL, v);
        if (row->first)
            break;
    }
    return r;
}

/* A field of a bj_usage, for the steps or tasks of a job. */
static int put_steps(struct bj_dialect_walk *w, struct bj_slice labels,
                     const struct bj_list *list)
{
    const struct bj_step_use *s = list->v;
    size_t shift =
        offsetof(struct bj_step_use, use) - offsetof(struct bj_job, use);
    struct bj_dialect_row row = *w->row;
    row.off += shift;
    row.second += shift;
    int r = 0;
    for (size_t i = 0; i < list->n && r >= 0; i++) {
        uint64_t v = bj_dialect_value(&row, (const char *)&s[i]);
        if (v != BJ_ABSENT)
            r = bj_dialect_put(w, labels, s[i].sub.key, v);
    }
    return r;
}

/* A field of the GPUs a job holds, or of its shares. */
static int dialect_put_gpus(struct bj_dialect_walk *w, struct bj_slice labels,
                            const struct bj_list *parts)
{
    const struct bj_dialect_row *row = w->row;
    const struct bj_gpu_part *part = parts->v;
    char text[BJ_DIALECT_GPU_TEXT];
    int r = 0;
    for (size_t i = 0; i < parts->n && r >= 0; i++) {
        const struct bj_gpu_use *use =
            bj_dialect_gpu(w->snap, part[i].sub.key[0]);
        const char *record =
            row->of == BJ_ROW_GPUS ? (const char *)use : (const char *)&part[i];
        uint64_t v = record ? bj_dialect_value(row, record) : BJ_ABSENT;
        if (v == BJ_ABSENT)
            continue;
        struct bj_slice key[BJ_INFO_MAX];
        bj_dialect_gpu_keys(w, &part[i].sub, use, text, key);
        r = bj_dialect_put(w, labels, key, v);
    }
    return r;
}

static uint64_t uid_of(const struct bj_job *job)
{
    uint64_t uid = BJ_ABSENT;
    bj_slice_u64(job->ident->f[BJ_ID_UID], &uid);
    return uid;
}

static int dialect_put_job(struct bj_dialect_walk *w,
                           const struct bj_dialect_job *j)
{
    const struct bj_dialect_row *row = w->row;
    const char *record = (const char *)j->job;
    struct bj_slice labels = bj_dialect_labels(w, j, row->labels);
    uint64_t v = BJ_ABSENT;
    int r = 0;
    if (row->of == BJ_ROW_JOBS)
        return dialect_put_list(w, labels, (const void *)(record + row->list));
    if (row->of == BJ_ROW_GPUS || row->of == BJ_ROW_GPU_PARTS)
        return dialect_put_gpus(w, labels, &j->job->gpus);
    if (row->of == BJ_ROW_UID)
        v = uid_of(j->job);
    else
        v = row->of == BJ_ROW_ONE ? 1 : bj_dialect_value(row, record);
    if (v != BJ_ABSENT)
        r = bj_dialect_put(w, labels, NULL, v);
    if (row->of != BJ_ROW_USAGE || !w->dialect->step[0] ||
        j->job->steps.n + j->job->tasks.n == 0)
        return r;
    labels.n -= bj_dialect_no_step(w->dialect);
    if (r >= 0)
        r = put_steps(w, labels, &j->job->steps);
    return r < 0 ? r : put_steps(w, labels, &j->job->tasks);
}

/* Rows of jobs. Nearly all samples are plain fields of jobs. */
static int walk_jobs(struct bj_dialect_walk *w)
{
    const struct bj_dialect_row *row = w->row;
    const struct bj_dialect_job *j = w->room->v, *end = j + w->room->n;
    const bool plain = row->of == BJ_ROW_JOB;
    int r = 0;
    for (; j < end && r >= 0; j++) {
        if (row->live && !bj_dialect_runs(j->job))
            continue;
        if (!plain) {
            r = dialect_put_job(w, j);
            continue;
        }
        const char *record = (const char *)j->job;
        uint64_t v = w->simple ? bj_dialect_field(record, row->off)
                               : bj_dialect_value(row, record);
        if (v != BJ_ABSENT)
            r = bj_dialect_put(w, bj_dialect_labels(w, j, row->labels), NULL,
                               v);
    }
    return r;
}

static uint64_t running_jobs(const struct bj_dialect_walk *w)
{
    uint64_t n = 0;
    for (size_t i = 0; i < w->room->n; i++)
        n += bj_dialect_runs(w->room->v[i].job);
    return n;
}

static int put_snap(struct bj_dialect_walk *w)
{
    const struct bj_dialect_row *row = w->row;
    const char *record = (const char *)w->snap;
    struct bj_slice labels = w->bare[row->labels];
    if (row->of == BJ_ROW_SNAPS)
        return dialect_put_list(w, labels, (const void *)(record + row->list));
    if (row->of == BJ_ROW_SUMS)
        return bj_dialect_put_sums(w, labels);
    if (row->of >= BJ_ROW_GPU_JOB && row->of <= BJ_ROW_GPU_COUNT)
        return bj_dialect_put_gpus(w, labels);
    if (row->of == BJ_ROW_COUNT)
        return bj_dialect_put(w, labels, NULL, running_jobs(w));
    if (row->of == BJ_ROW_INFO) {
        const struct bj_info *info = (const void *)(record + row->off);
        return info->one == BJ_ABSENT ? 0
                                      : bj_dialect_put(w, labels, info->v, 1);
    }
    uint64_t v = bj_dialect_value(row, record);
    return v == BJ_ABSENT ? 0 : bj_dialect_put(w, labels, NULL, v);
}

/* Set the names of the family's own labels. */
static void name_keys(struct bj_dialect_walk *w)
{
    const struct bj_dialect_row *row = w->row;
    size_t n = 0;
    if (row->of == BJ_ROW_USAGE)
        for (int i = 0; i < 2 && w->dialect->step[i]; i++)
            w->key[n++] = w->dialect->step[i];
    for (int i = 0; i < BJ_SUB_KEYS; i++)
        if (row->key[i])
            w->key[n++] = row->key[i];
    for (int i = 0; row->info && row->info[i]; i++)
        w->key[n++] = row->info[i];
    w->key[n] = NULL;
}

/* Whether the row applies (bj_when), in this version of the original. */
static bool row_applies(const struct bj_dialect_walk *w,
                        const struct bj_dialect_row *row)
{
    const enum bj_when way = !w->env->strict     ? BJ_WHEN_RIGHT
                             : !w->env->unified  ? BJ_WHEN_STRICT_V1
                             : w->env->hide_user ? BJ_WHEN_STRICT_NAMELESS
                                                 : BJ_WHEN_STRICT_NAMED;
    return (row->when == BJ_WHEN_ANY || row->when & way) &&
           (row->versions == 0 || row->versions & w->dialect->version);
}

static bool is_micro(enum bj_scale scale)
{
    return scale == BJ_SCALE_MICRO || scale == BJ_SCALE_MIB ||
           scale == BJ_SCALE_MILLI || scale == BJ_SCALE_PERCENT;
}

static enum bj_dialect_digits digits_of(const struct bj_dialect_row *row)
{
    if (row->minus)
        return BJ_DIGITS_MINUS;
    return is_micro(row->scale) || row->use == BJ_SECOND_SHARE
               ? BJ_DIGITS_MICRO
               : BJ_DIGITS_WHOLE;
}

static int dialect_put_row(struct bj_dialect_walk *w,
                           const struct bj_dialect_row *row)
{
    struct bj_dialect_row filled;
    if (!row_applies(w, row))
        return 0;
    if (row->lack_at) {
        uint64_t v = bj_dialect_field((const char *)w->snap, row->lack_at);
        filled = *row;
        filled.lack = v == BJ_ABSENT ? 0 : v;
        row = &filled;
    }
    w->row = row;
    w->begun = row->more && w->begun;
    w->digits = digits_of(row);
    w->simple = row->use == BJ_SECOND_NONE && !row->least && !row->lack &&
                !row->lacking &&
                (row->scale == BJ_SCALE_NONE || row->scale == BJ_SCALE_MICRO);
    name_keys(w);
    int r = w->dialect->empty && !w->begun ? bj_dialect_begin(w) : 0;
    if (r < 0)
        return r;
    return bj_dialect_of_jobs(row) ? walk_jobs(w) : put_snap(w);
}

int bj_view_dialect(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_dialect_env *env,
                    struct bj_dialect_room *room,
                    const struct bj_dialect_sink *sink)
{
    struct bj_dialect_walk w = {
        .dialect = d, .snap = snap, .env = env, .room = room, .sink = sink};
    int r = bj_dialect_take_jobs(&w);
    for (size_t i = 0; i < d->nrows && r >= 0; i++)
        r = dialect_put_row(&w, &d->rows[i]);
    return r < 0 ? r : 0;
}
