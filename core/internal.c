/* What many files of the core call: results of the runs of a pass (names,
 * times, faults, log lines), and values of labels. */
#include "core/internal.h"

#include "base/text.h"
#include "core/cluster/cluster.h"

const char *const bj_run_names[BJ_RUNS] = {[BJ_RUN_FIND] = "find",
                                           [BJ_RUN_IDENT] = "identity",
#define NAME(id, name, ...) [BJ_COLLECT_##id] = #name,
                                           BJ_COLLECTOR_LIST(NAME)
#undef NAME
};

static void internal_log_change(struct bj_core *core, enum bj_log_level level,
                                const char *run, const struct bj_err *err)
{
    bj_host_log(&core->host, level, err,
                err ? "collector %s" : "collector %s: works again", run);
}

void bj_core_run_done(struct bj_core *core, unsigned run, uint64_t begun_usec,
                      uint64_t faults, const struct bj_err *fault)
{
    struct bj_run *r = &core->run[run];
    uint64_t now = bj_clock_boot_usec();
    bool more = r->pass == core->passes; /* a second round of one pass */
    bool failing = faults > 0 || (more && r->failing);
    r->ran = true;
    r->pass = core->passes;
    r->duration_usec = now - begun_usec + (more ? r->duration_usec : 0);
    r->errors += faults;
    if (!failing)
        r->good_usec = now;
    /* Log the first failure and the first success after it, not every pass. */
    if (failing != r->failing)
        internal_log_change(core, failing ? BJ_LOG_WARN : BJ_LOG_INFO,
                            bj_run_names[run], failing ? fault : NULL);
    r->failing = failing;
}

/* --- labels --- */

struct bj_slice bj_core_label(struct bj_arena *a, const char *s)
{
    char buf[BJ_LABEL_MAX + 1];
    size_t n = bj_text_clean(bj_slice_str(s), buf, sizeof(buf));
    return bj_arena_copy(a, (struct bj_slice){buf, n});
}

struct bj_slice bj_core_cluster(const struct bj_core *core,
                                struct bj_arena *arena)
{
    return *core->cluster || !core->scheduler
               ? bj_slice_str(core->cluster)
               : bj_cluster_name(core->scheduler, arena);
}
