#include "tests/unit/lib/fakecollectd.h"

#include "base/buf.h"

#include <collectd/core/daemon/configfile.h>
#include <collectd/core/daemon/utils_complain.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bj_double bj_double;

/* --- for tests ------------------------------------------------------ */

static void put_text(char *dst, const char *src)
{
    snprintf(dst, DATA_MAX_NAME_LEN, "%s", src);
}

void bj_double_clear(void)
{
    for (size_t i = 0; i < bj_double.nlines; i++)
        free(bj_double.lines[i]);
    free(bj_double.lines);
    free(bj_double.times);
    bj_double.lines = NULL;
    bj_double.times = NULL;
    bj_double.nlines = 0;
    bj_double.unknown = bj_double.duplicates = 0;
    bj_double.log[0] = '\0';
}

void bj_double_reset(void)
{
    bj_double_clear();
    for (size_t i = 0; i < bj_double.nsets; i++)
        free(bj_double.sets[i].ds);
    free(bj_double.sets);
    bj_double = (struct bj_double){.now = TIME_T_TO_CDTIME_T(1000)};
}

size_t bj_double_count(const char *line)
{
    size_t n = 0;
    for (size_t i = 0; i < bj_double.nlines; i++)
        n += strcmp(bj_double.lines[i], line) == 0;
    return n;
}

const char *bj_double_find(const char *start)
{
    for (size_t i = 0; i < bj_double.nlines; i++)
        if (strncmp(bj_double.lines[i], start, strlen(start)) == 0)
            return bj_double.lines[i];
    return NULL;
}

/* --- registration -------------------------------------------------------- */

int plugin_register_complex_config(const char *type,
                                   int (*callback)(oconfig_item_t *))
{
    put_text(bj_double.config_name, type);
    bj_double.config = callback;
    return 0;
}

int plugin_register_init(const char *name, plugin_init_cb callback)
{
    put_text(bj_double.init_name, name);
    bj_double.init = callback;
    return 0;
}

int plugin_register_shutdown(const char *name, plugin_shutdown_cb callback)
{
    put_text(bj_double.shutdown_name, name);
    bj_double.shutdown = callback;
    return 0;
}

int plugin_register_complex_read(const char *group, const char *name,
                                 plugin_read_cb callback, cdtime_t interval,
                                 user_data_t const *user_data)
{
    /* The daemon owns the user data from here on, even when it refuses it. */
    if (bj_double.fail_read && user_data && user_data->free_func)
        user_data->free_func(user_data->data);
    if (bj_double.fail_read)
        return bj_double.fail_read;
    put_text(bj_double.read_group, group);
    put_text(bj_double.read_name, name);
    bj_double.read = callback;
    bj_double.read_interval = interval;
    bj_double.readers++;
    return 0;
}

int plugin_thread_create(pthread_t *thread, void *(*start_routine)(void *),
                         void *arg, char const *name)
{
    (void)name;
    if (bj_double.fail_thread)
        return bj_double.fail_thread;
    bj_double.threads++;
    return pthread_create(thread, NULL, start_routine, arg);
}

/* --- data sets ----------------------------------------------------------- */

const data_set_t *plugin_get_ds(const char *name)
{
    for (size_t i = 0; i < bj_double.nsets; i++)
        if (strcmp(bj_double.sets[i].type, name) == 0)
            return &bj_double.sets[i];
    return NULL;
}

static void *grown(void *p, size_t n, size_t size)
{
    p = reallocarray(p, n, size);
    if (!p)
        abort();
    return p;
}

static void add_set(const data_set_t *ds)
{
    bj_double.sets =
        grown(bj_double.sets, bj_double.nsets + 1, sizeof(*bj_double.sets));
    data_set_t *set = &bj_double.sets[bj_double.nsets++];
    *set = *ds;
    set->ds = grown(NULL, ds->ds_num, sizeof(*set->ds));
    memcpy(set->ds, ds->ds, ds->ds_num * sizeof(*set->ds));
}

int plugin_register_data_set(const data_set_t *ds)
{
    add_set(ds);
    bj_double.sets_registered++;
    return 0;
}

void bj_double_site_type(const char *name, int type, size_t ds_num)
{
    data_source_t sources[2] = {{"value", type, 0, NAN},
                                {"more", type, 0, NAN}};
    data_set_t set = {.ds_num = ds_num, .ds = sources};
    put_text(set.type, name);
    add_set(&set);
}

/* --- meta data ----------------------------------------------------------- */

struct meta_data_s {
    struct bj_buf text; /* " key=value" ... */
};

meta_data_t *meta_data_create(void)
{
    bj_double.metas++;
    return grown(calloc(1, sizeof(meta_data_t)), 1, sizeof(meta_data_t));
}

void meta_data_destroy(meta_data_t *md)
{
    if (!md)
        return;
    bj_double.metas--;
    bj_buf_free(&md->text);
    free(md);
}

int meta_data_add_string(meta_data_t *md, const char *key, const char *value)
{
    bj_buf_printf(&md->text, " %s=%s", key, value);
    return 0;
}

/* --- values -------------------------------------------------------------- */

/* The identifier as the daemon writes it: "batchjob-4711/job_cpu_usec". */
static void put_identifier(struct bj_buf *b, const value_list_t *vl)
{
    bj_buf_str(b, vl->plugin);
    if (vl->plugin_instance[0])
        bj_buf_printf(b, "-%s", vl->plugin_instance);
    bj_buf_printf(b, "/%s", vl->type);
    if (vl->type_instance[0])
        bj_buf_printf(b, "-%s", vl->type_instance);
}

static void note_duplicate(struct bj_slice identifier, cdtime_t when)
{
    for (size_t i = 0; i < bj_double.nlines; i++)
        if (bj_double.times[i] == when &&
            bj_slice_starts(bj_slice_str(bj_double.lines[i]), identifier) &&
            bj_double.lines[i][identifier.n] == ' ')
            bj_double.duplicates++;
}

int plugin_dispatch_values(value_list_t const *vl)
{
    struct bj_buf b = {0};
    const data_set_t *set = plugin_get_ds(vl->type);

    if (!set || set->ds_num != vl->values_len) {
        bj_double.unknown++;
        return 0;
    }
    put_identifier(&b, vl);
    note_duplicate((struct bj_slice){b.p, b.len}, vl->time);
    if (set->ds[0].type == DS_TYPE_DERIVE)
        bj_buf_printf(&b, " derive %lld", (long long)vl->values[0].derive);
    else
        bj_buf_printf(&b, " gauge %.15g", vl->values[0].gauge);
    /* An empty object breaks the daemon's JSON: show it. */
    if (vl->meta && vl->meta->text.len == 0)
        bj_buf_str(&b, " EMPTY-META");
    if (vl->meta)
        bj_buf_put(&b, vl->meta->text.p, vl->meta->text.len);
    bj_buf_put(&b, "", 1);
    size_t n = bj_double.nlines++;
    bj_double.lines = grown(bj_double.lines, n + 1, sizeof(char *));
    bj_double.times = grown(bj_double.times, n + 1, sizeof(cdtime_t));
    bj_double.lines[n] = b.p;
    bj_double.times[n] = vl->time;
    return 0;
}

cdtime_t cdtime(void)
{
    return bj_double.now;
}

/* --- log ----------------------------------------------------------------- */

__attribute__((format(printf, 2, 0))) static void
log_line(int level, const char *format, va_list ap)
{
    static const char *const names[] = {[LOG_ERR] = "error",
                                        [LOG_WARNING] = "warning",
                                        [LOG_NOTICE] = "notice",
                                        [LOG_INFO] = "info",
                                        [LOG_DEBUG] = "debug"};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char msg[1024];

    vsnprintf(msg, sizeof(msg), format, ap);
    pthread_mutex_lock(&lock);
    size_t n = strlen(bj_double.log), room = sizeof(bj_double.log) - n;
    if (strlen(msg) + 16 < room)
        snprintf(bj_double.log + n, room, "%s %s\n", names[level], msg);
    pthread_mutex_unlock(&lock);
}

void plugin_log(int level, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    log_line(level, format, ap);
    va_end(ap);
}

/* As the daemon's, but the interval of silence never ends. */
void c_complain(int level, c_complain_t *c, const char *format, ...)
{
    va_list ap;
    if (c->interval != 0)
        return;
    c->interval = 1;
    va_start(ap, format);
    log_line(level, format, ap);
    va_end(ap);
}

void c_do_release(int level, c_complain_t *c, const char *format, ...)
{
    va_list ap;
    c->interval = 0;
    va_start(ap, format);
    log_line(level, format, ap);
    va_end(ap);
}
