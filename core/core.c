/* Creates a core, runs passes, frees it. */
#include "core/core.h"

#include "base/fetch.h"
#include "base/text.h"
#include "core/cluster/cluster.h"
#include "core/emissions.h"
#include "core/energy/energy.h"
#include "core/explain.h"
#include "core/gpu/gpus.h"
#include "core/internal.h"
#include "core/peaks.h"
#include "core/poller.h"
#include "core/privileges.h"
#include "core/sender.h"
#include "core/spool.h"
#include "core/watcher.h"

#include <stdlib.h>
#include <sys/resource.h>

enum { RECORD_BYTES = 2560 }; /* approximate size of a final record */

int bj_core_check(const struct bj_conf *conf, struct bj_err *err)
{
    const struct bj_sender_conf *s = &conf->sender;
    if (bj_is_set(s->url) && !bj_is_set(conf->energy.spool_dir))
        return bj_err_set(err, -EINVAL,
                          "record.url: set record.dir, where records wait "
                          "until they are sent");
    if (bj_is_set(s->token_file) && !s->allow_http && bj_fetch_is_clear(s->url))
        return bj_err_set(err, -EINVAL,
                          "record.url: the token of record.token-file would "
                          "pass the network unencrypted; use https, or set "
                          "record.allow-http");
    return 0;
}

/* Start the spool of final records and their sender. */
static int start_records(struct bj_core *core, struct bj_err *err)
{
    const struct bj_conf *conf = core->conf;
    const char *dir = conf->energy.spool_dir;
    uint64_t files = conf->energy.spool_bytes / RECORD_BYTES;
    int r = bj_core_check(conf, err);
    if (r < 0 || !bj_is_set(dir))
        return r;
    r = bj_spool_new(dir, files, conf->energy.spool_bytes, &core->spool, err);
    return r < 0 || !bj_is_set(conf->sender.url)
               ? r
               : bj_sender_new(&conf->sender, dir, &core->host, &core->sender,
                               err);
}

static int start_parts(struct bj_core *core, struct bj_err *err)
{
    const struct bj_conf *conf = core->conf;
    int r = bj_layouts_new(conf, &core->layouts, err);
    if (r < 0)
        return r;
    if (bj_cgroup_reader_init(&core->reader, conf, &core->hiers, &core->pool) <
        0)
        return bj_err_set(err, -ENOMEM, "core");
    const struct bj_slice unknown[BJ_ID_FIELDS] = {{0}};
    core->unknown = bj_ident_new(unknown, conf);
    if (!core->unknown)
        return bj_err_set(err, -ENOMEM, "core");
    core->reader.needed = bj_core_controllers(core);
    if (conf->collect[BJ_COLLECT_PROCESS] ||
        conf->collect[BJ_COLLECT_PERCORE]) {
        r = bj_proctab_new(conf, &core->host, &core->pool, &core->proctab, err);
        if (r < 0)
            return r;
    }
    if (conf->collect[BJ_COLLECT_NODE] &&
        bj_node_new(conf, &core->pool, &core->node) < 0)
        return bj_err_set(err, -ENOMEM, "core");
    if (conf->collect[BJ_COLLECT_ENERGY]) {
        r = bj_energy_new(conf, &core->host, &core->copies, &core->energy, err);
        if (r < 0)
            return r;
    }
    if (conf->collect[BJ_COLLECT_EMISSIONS]) {
        r = bj_emissions_new(conf, &core->host, &core->emissions, err);
        if (r < 0)
            return r;
    }
    if (conf->collect[BJ_COLLECT_GPU]) {
        r = bj_gpus_new(conf, &core->host, &core->copies, &core->gpus, err);
        if (r < 0)
            return r;
    }
    if (conf->collect[BJ_COLLECT_CLUSTER]) {
        r = bj_cluster_new(&conf->scheduler, &core->host, &core->scheduler,
                           err);
        if (r < 0)
            return r;
    }
    r = start_records(core, err);
    if (r < 0)
        return r;
    return bj_resolver_new(conf, &core->host, &core->resolver, err);
}

/* The number of descriptors that may be kept.  The process needs some for
 * itself; a descriptor that the kernel refuses would count as an error. */
static uint64_t keepable(uint64_t wanted)
{
    enum { RESERVE = 256 };
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == RLIM_INFINITY)
        return wanted;
    uint64_t most =
        l.rlim_cur > 2 * RESERVE ? l.rlim_cur - RESERVE : l.rlim_cur / 2;
    return wanted < most ? wanted : most;
}

static void take_conf(struct bj_core *core, const struct bj_conf *conf)
{
    core->own_conf = *conf;
    core->conf = &core->own_conf;
    for (int i = 0; i < BJ_COLLECTORS; i++)
        core->own_conf.collect[i] =
            bj_conf_collects(conf, (enum bj_collector_id)i);
    core->pool.max = (unsigned)keepable(conf->max_files);
    core->pool.base = (unsigned)conf->fd_base;
    if (conf->cluster)
        bj_text_clean(bj_slice_str(conf->cluster), core->cluster,
                      BJ_LABEL_MAX + 1);
}

int bj_core_new(const struct bj_conf *conf, const struct bj_host *host,
                struct bj_core **ret, struct bj_err *err)
{
    struct bj_core *core = calloc(1, sizeof(*core));
    if (!core)
        return bj_err_set(err, -ENOMEM, "core");
    core->host = *host;
    core->records_write_success = BJ_ABSENT;
    take_conf(core, conf);
    pthread_mutex_init(&core->lock, NULL);
    core->self_start_sec = bj_self_start_sec();
    int r = start_parts(core, err);
    if (r < 0) {
        bj_core_free(core);
        return r;
    }
    core->peaks = bj_peaks_new(core->conf, host);
    pthread_mutex_lock(&core->lock);
    bj_core_sampler_ensure(core);
    bj_watcher_ensure(core);
    pthread_mutex_unlock(&core->lock);
    *ret = core;
    return 0;
}

void bj_core_free(struct bj_core *core)
{
    if (!core)
        return;
    bj_watcher_free(core);
    bj_peaks_finish(core);
    if (!bj_core_sampler_free(core))
        return;
    bj_core_scan_free(core);
    for (size_t k = 0; k < core->tracks.n; k++)
        bj_core_drop_track(core, core->tracks.v[k]);
    free(core->tracks.v);
    bj_energy_free(core->energy);
    bj_sender_free(core->sender);
    bj_spool_free(core->spool);
    bj_emissions_free(core->emissions);
    bj_cluster_free(core->scheduler);
    bj_gpus_free(core->gpus);
    bj_resolver_free(core->resolver);
    bj_proctab_free(core->proctab);
    bj_node_free(core->node);
    bj_layouts_free(core->layouts);
    bj_ident_unref(core->unknown);
    bj_cgroup_reader_fini(&core->reader);
    bj_hiers_free(&core->hiers);
    bj_snap_unref(core->last);
    bj_explain_free(core);
    pthread_mutex_destroy(&core->lock);
    free(core);
}

/* What other threads read at their own interval is read again as well, where
 * pages come at that interval or more rarely: the sources first, then the
 * sampler, which counts what they have read.  A page does not wait longer than
 * BJ_POLLER_WAIT_USEC for either. */
static void refresh(struct bj_core *core)
{
    const uint64_t now = bj_clock_boot_usec();
    const uint64_t gap = core->page_usec > 0 ? now - core->page_usec : 0;
    bool wait = false;
    core->page_usec = now;
    core->gap_usec = gap;
    if (gap == 0)
        return;
    if (core->energy)
        wait |= bj_energy_hurry(core->energy, now, gap);
    if (core->gpus)
        wait |= bj_gpus_hurry(core->gpus, now, gap);
    if (wait) {
        pthread_mutex_unlock(&core->lock);
        if (core->energy)
            bj_energy_await(core->energy, now + BJ_POLLER_WAIT_USEC);
        if (core->gpus)
            bj_gpus_await(core->gpus, now + BJ_POLLER_WAIT_USEC);
        pthread_mutex_lock(&core->lock);
    }
    bj_core_sampler_refresh(core, wait);
}

/* The page was made: the sources read just before the next one. */
static void expect(struct bj_core *core)
{
    const uint64_t now = core->page_usec, gap = core->gap_usec;
    if (gap == 0)
        return;
    if (core->energy)
        bj_energy_page(core->energy, now, gap);
    if (core->gpus)
        bj_gpus_page(core->gpus, now, gap);
    if (core->scheduler)
        bj_cluster_page(core->scheduler, now, gap);
    bj_core_sampler_expect(core);
}

/* Log what an administrator must know about a pass. */
static void note_pass(struct bj_core *core, int r, const struct bj_err *err)
{
    if (r == 0 && !core->introduced) {
        core->introduced = true;
        bj_explain_start(core);
        bj_privileges_warn(core->conf, &core->host);
    }
    if ((r < 0) == core->failing)
        return;
    core->failing = r < 0;
    bj_host_log(&core->host, r < 0 ? BJ_LOG_ERROR : BJ_LOG_INFO,
                r < 0 ? err : NULL,
                r < 0 ? "pass failed" : "passes work again");
}

int bj_core_pass(struct bj_core *core, struct bj_snap **ret, struct bj_err *err)
{
    pthread_mutex_lock(&core->lock);
    refresh(core);
    bj_core_read(core, true);
    bj_core_sampler_ensure(core);
    bj_watcher_ensure(core);
    bj_core_forget_jobs(core);
    int r = bj_core_publish(core, ret, err);
    expect(core);
    note_pass(core, r, err);
    pthread_mutex_unlock(&core->lock);
    return r;
}
