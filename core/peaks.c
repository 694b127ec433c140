#include "core/peaks.h"

#include "base/array.h"
#include "core/energy/ledger_state.h"
#include "core/energy/state.h"
#include "core/internal.h"
#include "core/poller.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEY_CAP = 4096 + 32 };
#define SUFFIX ".memory"

/* The peak of one unit in the file. */
struct saved {
    char *key;
    struct bj_held_state held;
};

struct bj_peaks {
    struct bj_poller poller; /* has its own lock */
    struct bj_state *state;
    struct bj_buf next; /* under the poller's lock: text to be saved */
    bool failing;       /* of the thread: saving failed last */
    /* under the core's lock */
    struct saved *saved; /* sorted by key */
    size_t nsaved;
    struct bj_buf last; /* the text that was passed to the thread last */
    uint64_t due_usec;
};

/* --- the file ---------------------------------------------------------------
 *
 * "batchjob-memory 1 BOOT_ID", then for each unit a line: its key, the numbers
 * of struct bj_held_state, 1 or 0 for charged.  The key is the path in the
 * hierarchy of the memory controller and the inode, since the same path with
 * another inode is another job. */

static void peaks_put_head(struct bj_buf *out, const struct bj_state *s)
{
    bj_buf_str(out, "batchjob-memory 1 ");
    bj_state_word(out, bj_state_boot_id(s));
    bj_buf_str(out, "\n");
}

static void put_unit(struct bj_buf *out, const struct bj_cgroup_reader *rd,
                     struct bj_unit *u)
{
    char key[KEY_CAP];
    struct bj_held_state *h = &u->held;
    const int hier = u->ctl[BJ_CTL_MEMORY];
    if (hier < 0 || h->inode == 0 || h->most_bytes == 0)
        return;
    snprintf(key, sizeof(key), "%s#%" PRIu64,
             u->rel[rd->hiers->v[hier].version - 1], h->inode);
    bj_state_word(out, bj_slice_str(key));
    bj_buf_printf(out, " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d\n",
                  h->most_bytes, h->rest_bytes, h->seen_bytes, h->charged);
    h->saved_bytes = h->most_bytes;
}

static bool peaks_cut_number(struct bj_slice *line, uint64_t *ret)
{
    struct bj_slice word;
    return bj_slice_word(line, &word) && bj_slice_u64(word, ret) == 0;
}

/* Parse a line; false: it is malformed, or no memory. */
static bool cut_unit(struct bj_slice line, struct saved *ret)
{
    struct bj_slice word;
    uint64_t charged;
    *ret = (struct saved){0};
    if (!bj_slice_word(&line, &word) ||
        !peaks_cut_number(&line, &ret->held.most_bytes) ||
        !peaks_cut_number(&line, &ret->held.rest_bytes) ||
        !peaks_cut_number(&line, &ret->held.seen_bytes) ||
        !peaks_cut_number(&line, &charged) || charged > 1 ||
        !(ret->key = strndup(word.p, word.n)))
        return false;
    ret->held.charged = charged;
    const int n = bj_state_unword(ret->key, word.n);
    if (n < 0) {
        free(ret->key);
        return false;
    }
    ret->key[n] = '\0';
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct saved *x = a, *y = b;
    return strcmp(x->key, y->key);
}

/* -EBADMSG: it is no such file.  A file of another boot is ignored. */
static int peaks_load(struct bj_peaks *p, struct bj_slice text)
{
    struct bj_buf head = {0};
    struct bj_slice line, ours;
    size_t cap = 0;
    peaks_put_head(&head, p->state);
    ours = bj_slice_trim((struct bj_slice){head.p, head.len});
    bool known = bj_state_boot_id(p->state).n > 0 && !head.failed;
    bool same = bj_slice_line(&text, &line) && known && bj_slice_eq(line, ours);
    bj_buf_free(&head);
    if (!bj_slice_starts(line, BJ_SLICE("batchjob-memory 1 ")))
        return -EBADMSG;
    while (same && bj_slice_line(&text, &line)) {
        if (!BJ_GROW(p->saved, p->nsaved + 1, cap))
            return -ENOMEM;
        if (!cut_unit(line, &p->saved[p->nsaved]))
            return -EBADMSG;
        p->nsaved++;
    }
    if (p->nsaved > 1)
        qsort(p->saved, p->nsaved, sizeof(*p->saved), by_key);
    return 0;
}

static void peaks_forget(struct bj_peaks *p)
{
    while (p->nsaved > 0)
        free(p->saved[--p->nsaved].key);
    free(p->saved);
    p->saved = NULL;
}

/* --- the thread -----------------------------------------------------------*/

static void note_result(struct bj_peaks *p, const struct bj_err *err)
{
    const bool fails = err->code < 0;
    if (fails == p->failing)
        return;
    p->failing = fails;
    bj_host_log(&p->poller.host, fails ? BJ_LOG_WARN : BJ_LOG_INFO,
                fails ? err : NULL, "peaks of memory are %s",
                fails ? "not saved" : "saved again");
}

static bool peaks_step(struct bj_worker *w)
{
    struct bj_peaks *p = (struct bj_peaks *)w->poller;
    struct bj_buf text = p->next;
    struct bj_err err = {0};
    p->next = (struct bj_buf){0};
    p->poller.due_usec = UINT64_MAX;
    if (text.len == 0)
        return true;
    bj_worker_unlock(w);
    bj_state_save(p->state, (struct bj_slice){text.p, text.len}, false, &err);
    note_result(p, &err);
    bj_buf_free(&text);
    return bj_worker_lock(w);
}

static void peaks_gone(struct bj_poller *poller)
{
    struct bj_peaks *p = (struct bj_peaks *)poller;
    bj_state_free(p->state);
    bj_buf_free(&p->next);
    free(p);
}

/* --- for the core ---------------------------------------------------------*/

static int open_state(struct bj_peaks *p, const char *file, struct bj_err *err)
{
    char path[4096];
    struct bj_slice text;
    const int n = snprintf(path, sizeof(path), "%s" SUFFIX, file);
    if (n < 0 || (size_t)n >= sizeof(path))
        return bj_err_set(err, -ENAMETOOLONG, "energy.state-file: %s", file);
    int r = bj_state_open(path, &p->state, &text, err);
    if (r < 0 || text.n == 0)
        return r;
    r = peaks_load(p, text);
    if (r == -EBADMSG) {
        struct bj_err bad = {0};
        peaks_forget(p);
        bj_err_set(&bad, r, "not a state of memory");
        bj_state_keep_aside(p->state, &bad);
        bj_host_log(&p->poller.host, BJ_LOG_WARN, &bad,
                    "peaks of memory begin again");
        return 0;
    }
    return r < 0 ? bj_err_set(err, r, "read %s", path) : 0;
}

struct bj_peaks *bj_peaks_new(const struct bj_conf *conf,
                              const struct bj_host *host)
{
    static const struct bj_poller_work work = {
        .step = peaks_step, .finish = peaks_step, .gone = peaks_gone};
    const char *file = conf->energy.state_file;
    struct bj_err err = {0};
    if (!file || !*file || !conf->collect[BJ_COLLECT_MEMORY])
        return NULL;
    struct bj_peaks *p = calloc(1, sizeof(*p));
    if (!p || bj_poller_init(&p->poller, &work, "bj-peaks", host, NULL) < 0) {
        free(p);
        return NULL;
    }
    int r = open_state(p, file, &err);
    if (r == 0 && (r = bj_poller_start(&p->poller)) < 0)
        bj_err_set(&err, r, "cannot start the thread");
    if (r == 0)
        return p;
    bj_host_log(host, BJ_LOG_INFO, &err,
                "peaks of memory are lost when this process ends");
    bj_peaks_free(p);
    return NULL;
}

void bj_peaks_free(struct bj_peaks *p)
{
    if (!p)
        return;
    peaks_forget(p);
    bj_buf_free(&p->last);
    bj_poller_free(&p->poller);
}

void bj_peaks_resume(const struct bj_peaks *p,
                     const struct bj_cgroup_reader *rd, struct bj_unit *u)
{
    char key[KEY_CAP];
    struct stat st;
    const int hier = u->ctl[BJ_CTL_MEMORY];
    if (!p || hier < 0 || u->held.inode != 0)
        return;
    if (u->dir[hier] >= 0
            ? fstat(u->dir[hier], &st) < 0
            : bj_unit_path(u, rd, (unsigned)hier, "", key, sizeof(key)) < 0 ||
                  stat(key, &st) < 0)
        return;
    snprintf(key, sizeof(key), "%s#%" PRIu64,
             u->rel[rd->hiers->v[hier].version - 1], (uint64_t)st.st_ino);
    const struct saved want = {.key = key};
    const struct saved *s = p->nsaved > 0 ? bsearch(&want, p->saved, p->nsaved,
                                                    sizeof(*p->saved), by_key)
                                          : NULL;
    if (s)
        u->held = s->held;
    u->held.inode = st.st_ino;
}

static bool has_risen(const struct bj_unit *u)
{
    return u->held.inode != 0 && u->held.most_bytes > u->held.saved_bytes;
}

/* Whether any peak has risen since it was saved. */
static bool any_risen(const struct bj_core *core)
{
    bool ret = false;
    for (size_t k = 0; k < core->tracks.n && !ret; k++) {
        const struct bj_track *t = core->tracks.v[k];
        ret = has_risen(&t->unit);
        for (const struct bj_step *s = t->steps.first; s && !ret; s = s->next)
            ret = s->unit && has_risen(s->unit);
    }
    return ret;
}

static void save(struct bj_core *core)
{
    struct bj_peaks *p = core->peaks;
    struct bj_buf text = {0}, copy = {0};
    peaks_put_head(&text, p->state);
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        put_unit(&text, &core->reader, &t->unit);
        for (struct bj_step *s = t->steps.first; s; s = s->next)
            if (s->unit)
                put_unit(&text, &core->reader, s->unit);
    }
    if (bj_slice_eq((struct bj_slice){text.p, text.len},
                    (struct bj_slice){p->last.p, p->last.len})) {
        bj_buf_free(&text);
        return;
    }
    bj_buf_put(&copy, text.p, text.len);
    if (text.failed || copy.failed) {
        bj_buf_free(&text);
        bj_buf_free(&copy);
        return;
    }
    bj_buf_free(&p->last);
    p->last = copy;
    pthread_mutex_lock(p->poller.lock);
    bj_buf_free(&p->next);
    p->next = text;
    bj_poller_wake(&p->poller);
    pthread_mutex_unlock(p->poller.lock);
}

void bj_peaks_note(struct bj_core *core)
{
    struct bj_peaks *p = core->peaks;
    if (!p || (core->now_usec < p->due_usec && !any_risen(core)))
        return;
    p->due_usec = core->now_usec + core->conf->slow_usec;
    save(core);
}

void bj_peaks_finish(struct bj_core *core)
{
    pthread_mutex_lock(&core->lock);
    struct bj_peaks *p = core->peaks;
    if (p)
        save(core);
    core->peaks = NULL;
    pthread_mutex_unlock(&core->lock);
    bj_peaks_free(p);
}
