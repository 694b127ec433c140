/* The plugin's callbacks for collectd's daemon.
 *
 * The daemon calls config, init and shutdown from its main thread, and the
 * reader never twice at a time, so nothing here needs a lock. */
#include "collectd-plugin/config.h"
#include "collectd-plugin/dataset.h"
#include "collectd-plugin/dispatch.h"

#include <collectd/core/daemon/plugin.h>
#include <collectd/core/daemon/utils_complain.h>
#include <sys/resource.h>

#define NAME "batchjob"
#define LOG_PREFIX NAME " plugin: "

enum { TEXT_SIZE = 320 };

static struct {
    bool preset; /* conf holds at least the defaults */
    struct bj_conf conf;
    struct bj_core *core;
    struct bj_dispatch *dispatch;
    c_complain_t failing;
} plugin;

static int host_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                       void *arg, const char *name)
{
    (void)ctx;
    int r = plugin_thread_create(ret, fn, arg, name);
    return r > 0 ? -r : r;
}

static void host_log(void *ctx, enum bj_log_level level, const char *msg)
{
    static const int severity[] = {
        [BJ_LOG_ERROR] = LOG_ERR,
        [BJ_LOG_WARN] = LOG_WARNING,
        [BJ_LOG_INFO] = LOG_INFO,
        [BJ_LOG_DEBUG] = LOG_DEBUG,
    };
    (void)ctx;
    plugin_log(severity[level], LOG_PREFIX "%s", msg);
}

#if COLLECT_DEBUG
static const struct bj_host host = {NULL, host_thread, host_log, true};
#else /* collectd leaves out debug lines */
static const struct bj_host host = {NULL, host_thread, host_log, false};
#endif

static int log_error(const struct bj_err *err)
{
    char text[TEXT_SIZE];
    ERROR(LOG_PREFIX "%s", bj_err_reason(err, text, sizeof(text)));
    return -1;
}

static int need_presets(struct bj_err *err)
{
    if (plugin.preset)
        return 0;
    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(&plugin.conf, sets);
    int r = 0;
    for (int i = 0; i < BJ_CONF_SETS && r == 0; i++)
        r = bj_opt_presets(&sets[i], err);
    plugin.preset = r == 0;
    return r;
}

/* Called before the fork, when types and host name are unknown: only stores the
 * settings. */
static int on_config(oconfig_item_t *block)
{
    struct bj_err err = {0};
    if (need_presets(&err) < 0 ||
        bj_config_block(&plugin.conf, block, &err) < 0)
        return log_error(&err);
    return 0;
}

static int on_shutdown(void)
{
    bj_dispatch_free(plugin.dispatch);
    plugin.dispatch = NULL;
    bj_core_free(plugin.core);
    plugin.core = NULL;
    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(&plugin.conf, sets);
    for (int i = 0; i < BJ_CONF_SETS && plugin.preset; i++)
        bj_opt_free(&sets[i]);
    plugin.preset = false;
    return 0;
}

/* Always 0: collectd suspends a failing reader for up to a day. Broken sources
 * show in the metrics of the collectors. */
static int on_read(user_data_t *ud)
{
    struct bj_snap *snap;
    struct bj_err err = {0};
    cdtime_t now = cdtime();
    char text[TEXT_SIZE];

    (void)ud;
    int r = bj_core_pass(plugin.core, &snap, &err);
    if (r < 0) /* the core has logged it */
        return 0;
    r = bj_dispatch_snap(plugin.dispatch, snap, now, &err);
    bj_snap_unref(snap);
    if (r < 0)
        c_complain(LOG_ERR, &plugin.failing, LOG_PREFIX "%s",
                   bj_err_text(&err, text, sizeof(text)));
    else
        c_release(LOG_INFO, &plugin.failing, LOG_PREFIX "works again");
    return 0;
}

static int module_start(struct bj_err *err)
{
    struct rlimit files;
    struct bj_dataset_count types;

    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(&plugin.conf, sets);
    int r = need_presets(err);
    for (int i = 0; i < BJ_CONF_SETS && r == 0; i++)
        r = bj_opt_finish(&sets[i], err);
    if (r == 0)
        r = bj_dataset_ensure(&types, err);
    if (r < 0)
        return r;
    INFO(LOG_PREFIX "%u types from the TypesDB, %u registered by the plugin",
         types.known, types.registered);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        bj_config_bound_files(&plugin.conf, files.rlim_cur);
    plugin.dispatch = bj_dispatch_new(&plugin.conf);
    if (!plugin.dispatch)
        return bj_err_set(err, -ENOMEM, "start");
    return bj_core_new(&plugin.conf, &host, &plugin.core, err);
}

/* Called after the fork. Registers the reader last, so that a failed start
 * leaves none behind. */
static int on_init(void)
{
    struct bj_err err = {0};
    int r = module_start(&err);
    if (r == 0 &&
        plugin_register_complex_read(NAME, NAME, on_read, 0, NULL) != 0)
        r = bj_err_set(&err, -EINVAL, "reader not registered");
    if (r == 0)
        return 0;
    log_error(&err);
    on_shutdown();
    return -1;
}

__attribute__((visibility("default"))) void module_register(void)
{
    plugin_register_complex_config(NAME, on_config);
    plugin_register_init(NAME, on_init);
    plugin_register_shutdown(NAME, on_shutdown);
}
