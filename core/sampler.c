/* The sampler: a thread that runs passes at its own interval, independent of
 * scrapes, for energy and final records.  It writes to disks without the lock,
 * so a scrape never waits for a disk. */
#include "core/energy/energy.h"
#include "core/energy_gpus.h"
#include "core/final.h"
#include "core/gpu/gpus.h"
#include "core/internal.h"
#include "core/poller.h"
#include "core/sender.h"
#include "core/spool.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SECOND = 1000000,
    STOP_USEC = 5 * SECOND,
    TRY_USEC = 60 * SECOND, /* between attempts to write into the spool while
                               this fails and no record waits */
    WAITING_MAX = 1000,
    LEAD = 40 /* after the sources that it counts, before a page */
};

/* A final record on its way to the spool. */
struct record {
    struct record *next;
    uint64_t end_sec, queued_usec;
    char id[80];
    struct bj_buf line;
};

struct bj_sampler {
    struct bj_poller poller; /* uses the core's lock */
    struct bj_core *core;
    struct record *first, **last;
    size_t waiting; /* number of waiting records */
    bool spool_fails, spool_waits;
    uint64_t try_usec;        /* when writing into the spool is tried again */
    struct bj_err energy_err; /* error of energy in this tick */
    uint64_t energy_usec;     /* duration of energy in this tick */
};

/* --- records --------------------------------------------------------------*/

static void lose(struct bj_core *core, const struct bj_err *err)
{
    core->records_lost++;
    core->records_write_success = 0;
    if (core->sampler->spool_fails)
        return;
    core->sampler->spool_fails = true;
    bj_host_log(&core->host, BJ_LOG_ERROR, err, "final record lost");
}

static void queue(struct bj_core *core, struct bj_slice id, uint64_t end_sec,
                  struct bj_buf *line, int made)
{
    struct bj_sampler *s = core->sampler;
    struct record *rec = made == 0 ? calloc(1, sizeof(*rec)) : NULL;
    struct bj_err err = {0};
    if (!rec) {
        bj_err_set(&err, -ENOMEM, "job %.*s", (int)id.n, id.p);
        bj_buf_free(line);
        lose(core, &err);
        return;
    }
    snprintf(rec->id, sizeof(rec->id), "%.*s", (int)id.n, id.p);
    rec->end_sec = end_sec;
    rec->queued_usec = bj_clock_boot_usec();
    rec->line = *line;
    *s->last = rec;
    s->last = &rec->next;
    s->waiting++;
}

static void drop_first(struct bj_sampler *s)
{
    struct record *rec = s->first;
    s->first = rec->next;
    if (!s->first)
        s->last = &s->first;
    s->waiting--;
    bj_buf_free(&rec->line);
    free(rec);
}

static void make_record(struct bj_core *core, const struct bj_track *t)
{
    struct bj_slice id = t->ident->f[BJ_ID_JOBID];
    struct bj_buf line = {0};
    int r = bj_final_write(core, t, &line);
    queue(core, id.n > 0 ? id : bj_slice_str(t->id), t->life.end_sec, &line, r);
}

static void make_orphans(struct bj_core *core)
{
    struct bj_account *a;
    struct bj_slice key;
    uint64_t seen;
    while ((a = bj_energy_gpus_orphan(core, &key, &seen))) {
        const uint64_t now = core->wall_usec / SECOND;
        const uint64_t end = seen > 0 && seen < now ? seen : now;
        struct bj_buf line = {0};
        if (core->spool)
            queue(core, BJ_SLICE("unseen"), end, &line,
                  bj_final_orphan(core, key, a, end, &line));
        bj_energy_gpus_forget(core, a, key);
    }
}

/* Jobs are finished when their energy has settled. */
static void finish_jobs(struct bj_core *core)
{
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (!bj_track_over(t) || t->life.recorded || !bj_energy_settled(t) ||
            bj_identity_waits(t))
            continue;
        if (core->spool && t->life.born)
            make_record(core, t);
        t->life.recorded = true;
    }
}

/* A full disk may have room later: the records wait for the next tick, in the
 * order in which the jobs ended. */
static bool may_wait(struct bj_core *core, const struct bj_err *err)
{
    struct bj_sampler *s = core->sampler;
    if (err->code == -EDQUOT || s->waiting > WAITING_MAX)
        return false;
    if (!s->spool_waits) {
        bj_host_log(&core->host, BJ_LOG_ERROR, err,
                    "final records wait to be written");
    }
    s->spool_waits = true;
    core->records_write_success = 0;
    return true;
}

static void note_written(struct bj_core *core)
{
    struct bj_sampler *s = core->sampler;
    core->records++;
    if (s->spool_waits)
        bj_host_log(&core->host, BJ_LOG_INFO, NULL,
                    "writing final records works again");
    s->spool_fails = s->spool_waits = false;
    core->records_write_success = 1;
    if (core->sender)
        bj_sender_wake(core->sender);
}

static void write_records(struct bj_core *core)
{
    struct bj_sampler *s = core->sampler;
    bool more = true;
    while (more && s->first) {
        const struct record *rec = s->first;
        struct bj_err err = {0};
        int r =
            bj_spool_put(core->spool, rec->end_sec, bj_slice_str(rec->id),
                         (struct bj_slice){rec->line.p, rec->line.len}, &err);
        pthread_mutex_lock(&core->lock);
        if (r == 0)
            note_written(core);
        else if (may_wait(core, &err))
            more = false;
        else
            lose(core, &err);
        if (more)
            drop_first(s);
        pthread_mutex_unlock(&core->lock);
    }
}

/* A directory that cannot be written is known at the start, before the first
 * job ends. */
static void try_spool(struct bj_core *core)
{
    struct bj_sampler *s = core->sampler;
    struct bj_err err = {0};
    uint64_t now = bj_clock_boot_usec();
    if (!core->spool || s->first || core->records_write_success == 1 ||
        now < s->try_usec)
        return;
    s->try_usec = now + TRY_USEC;
    int r = bj_spool_try(core->spool, &err);
    pthread_mutex_lock(&core->lock);
    bool failed = core->records_write_success == 0;
    core->records_write_success = r == 0;
    if (r < 0 && !failed) {
        bj_host_log(&core->host, BJ_LOG_ERROR, &err,
                    "final records cannot be written");
    } else if (r == 0 && failed) {
        bj_host_log(&core->host, BJ_LOG_INFO, NULL,
                    "writing final records works again");
        s->spool_fails = s->spool_waits = false;
    }
    pthread_mutex_unlock(&core->lock);
}

/* At the end: drop the records that still wait. */
static void give_up_records(struct bj_core *core)
{
    struct bj_sampler *s = core->sampler;
    if (!s->first)
        return;
    bj_host_log(&core->host, BJ_LOG_ERROR, NULL,
                "final records lost at the end: %zu", s->waiting);
    while (s->first)
        drop_first(s);
}

/* --- a tick ---------------------------------------------------------------*/

static void tick_energy(struct bj_core *core)
{
    struct bj_sampler *s = core->sampler;
    uint64_t begun = bj_clock_boot_usec();
    s->energy_err.code = 0;
    int r = bj_energy_gpus_tick(core);
    if (r < 0)
        bj_err_set(&s->energy_err, r, "ledger");
    s->energy_usec = bj_clock_boot_usec() - begun;
}

static void tick(struct bj_core *core)
{
    bj_core_read(core, false);
    if (core->energy)
        tick_energy(core);
    finish_jobs(core);
    if (core->energy)
        make_orphans(core);
    bj_core_forget_jobs(core);
}

/* Save without the lock; then, with the lock, show the saved values. */
static bool save(struct bj_worker *w)
{
    struct bj_sampler *s = (struct bj_sampler *)w->poller;
    struct bj_core *core = s->core;
    bj_worker_unlock(w);
    int r = core->energy ? bj_energy_save(core->energy, &s->energy_err) : 0;
    write_records(core);
    try_spool(core);
    bool ours = bj_worker_lock(w);
    if (!core->energy)
        return ours;
    if (r == 0)
        bj_copies_show(&core->copies);
    bj_core_run_done(core, BJ_COLLECT_ENERGY,
                     bj_clock_boot_usec() - s->energy_usec,
                     s->energy_err.code < 0, &s->energy_err);
    return ours;
}

static bool sampler_step(struct bj_worker *w)
{
    struct bj_sampler *s = (struct bj_sampler *)w->poller;
    struct bj_core *core = s->core;
    tick(core);
    const uint64_t period = core->conf->energy.period_usec;
    /* This tick was for a page: the next ones follow from it. */
    if (s->poller.due_usec == 0)
        s->poller.due_usec = core->now_usec;
    const uint64_t begun = core->now_usec;
    bool ours = save(w);
    /* A tick that took longer than the period skips the ticks it missed. */
    const uint64_t now = bj_clock_boot_usec();
    while (s->poller.due_usec <= now)
        s->poller.due_usec += period;
    s->poller.due_usec = bj_poller_aligned(&s->poller, now, s->poller.due_usec,
                                           period, now - begun);
    return ours;
}

/* A job whose record was written in the last step must not be in the saved
 * state: after a restart it would get another record. */
static bool sampler_finish(struct bj_worker *w)
{
    struct bj_core *core = ((struct bj_sampler *)w->poller)->core;
    if (core->energy)
        bj_energy_gpus_finish(core);
    return save(w);
}

static void sampler_gone(struct bj_poller *poller)
{
    free(poller);
}

/* --- start and end ------------------------------------------------------*/

static void sampler_start(struct bj_core *core)
{
    static const struct bj_poller_work work = {.step = sampler_step,
                                               .finish = sampler_finish,
                                               .gone = sampler_gone,
                                               .stop_usec = STOP_USEC};
    struct bj_sampler *s = calloc(1, sizeof(*s));
    if (!s || bj_poller_init(&s->poller, &work, "bj-sampler", &core->host,
                             &core->lock) < 0) {
        free(s);
        return;
    }
    s->core = core;
    s->last = &s->first;
    s->poller.due_usec = bj_clock_boot_usec();
    s->poller.lead = LEAD;
    core->sampler = s;
    if (bj_poller_start(&s->poller) < 0) {
        core->sampler = NULL;
        free(s);
        bj_host_log(&core->host, BJ_LOG_ERROR, NULL,
                    "cannot start the sampler thread: no energy, no final "
                    "records");
    }
}

void bj_core_sampler_ensure(struct bj_core *core)
{
    bool metered =
        core->energy && bj_energy_search(core->energy, bj_clock_boot_usec());
    metered |= core->energy && core->gpus &&
               bj_gpus_search(core->gpus, bj_clock_boot_usec());
    if (!core->sampler && (metered || core->spool))
        sampler_start(core);
}

void bj_core_sampler_refresh(struct bj_core *core, bool force)
{
    struct bj_sampler *s = core->sampler;
    if (!s || !core->energy)
        return;
    const uint64_t end = bj_clock_boot_usec() + BJ_POLLER_WAIT_USEC;
    if (bj_poller_hurry(&s->poller, core->page_usec, core->gap_usec,
                        core->conf->energy.period_usec, force))
        bj_poller_await(&s->poller, end);
}

void bj_core_sampler_expect(struct bj_core *core)
{
    struct bj_sampler *s = core->sampler;
    if (s && core->energy)
        bj_poller_page(&s->poller, core->page_usec, core->gap_usec,
                       core->conf->energy.period_usec);
}

uint64_t bj_core_sampler_waiting(const struct bj_core *core,
                                 uint64_t *ret_age_usec)
{
    const struct bj_sampler *s = core->sampler;
    *ret_age_usec = BJ_ABSENT;
    if (!s || !s->first)
        return 0;
    *ret_age_usec = bj_clock_boot_usec() - s->first->queued_usec;
    return s->waiting;
}

bool bj_core_sampler_free(struct bj_core *core)
{
    struct bj_sampler *s = core->sampler;
    if (!s)
        return true;
    bool ended = bj_poller_stop(&s->poller);
    if (ended) {
        give_up_records(core);
        core->sampler = NULL;
    } else {
        bj_host_log(&core->host, BJ_LOG_ERROR, NULL,
                    "the disk does not respond: final records and energy "
                    "of the last seconds are lost");
    }
    bj_poller_free(&s->poller);
    return ended;
}
