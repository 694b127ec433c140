#include "apiserver/frame/settings.h"

#include "apiserver/frame/faculty.h"

#include <stdlib.h>

static void drop_conf(struct bj_api_conf *conf)
{
    if (__atomic_sub_fetch(&conf->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    bj_api_conf_free(conf);
    free(conf);
}

/* Settings with a reference to conf, and to prom if there is one. */
static int settings_make(struct bj_api_conf *conf, struct bj_secrets *secrets,
                         struct bj_prompool *prom, struct bj_settings **ret,
                         struct bj_err *err)
{
    struct bj_settings *s = calloc(1, sizeof(*s));
    __atomic_fetch_add(&conf->refs, 1, __ATOMIC_RELAXED);
    if (!s) {
        drop_conf(conf);
        return bj_err_set(err, -ENOMEM, "options");
    }
    s->refs = 1;
    s->conf = conf;
    s->secrets = secrets;
    s->prom = bj_prompool_ref(prom);
    int r = bj_auth_new(conf, secrets, &s->auth, err);
    if (r < 0)
        bj_settings_unref(s);
    else
        *ret = s;
    return r;
}

/* Files that are read again for each request. */
static int try_files(const struct bj_api_conf *conf, struct bj_err *err)
{
    struct bj_buf text = {0};
    int r = bj_faculty_read(conf->faculties, &text, err);
    bj_buf_free(&text);
    return r < 0 ? bj_api_conf_unread("faculty.file", err) : 0;
}

int bj_settings_new(struct bj_api_conf *conf, struct bj_secrets *secrets,
                    struct bj_settings **ret, struct bj_err *err)
{
    struct bj_settings *s;
    int r = settings_make(conf, secrets, NULL, &s, err);
    if (r < 0)
        return r;
    r = try_files(conf, err);
    if (r == 0)
        r = bj_prompool_new(&conf->prom, &s->prom, err);
    if (r < 0)
        bj_settings_unref(s);
    else
        *ret = s;
    return r;
}

int bj_settings_renew(struct bj_settings *old, struct bj_settings **ret,
                      struct bj_err *err)
{
    return settings_make(old->conf, old->secrets, old->prom, ret, err);
}

struct bj_settings *bj_settings_ref(struct bj_settings *s)
{
    __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
    return s;
}

void bj_settings_unref(struct bj_settings *s)
{
    if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    bj_auth_free(s->auth);
    bj_prompool_unref(s->prom);
    drop_conf(s->conf);
    free(s);
}

/* The cache of one thread: all threads share the configured memory. */
static uint64_t cache_bytes(const struct bj_api_worker *a,
                            const struct bj_api_conf *conf)
{
    if (a == &a->server->http_worker)
        return 64 << 10;
    uint64_t part = conf->cache_bytes / conf->threads;
    return part < 256 << 10 ? 256 << 10 : part;
}

int bj_worker_use(struct bj_api_worker *a, struct bj_settings *settings,
                  struct bj_err *err)
{
    const struct bj_api_conf *conf = settings->conf;
    struct bj_reader_options opt = {.path = conf->store,
                                    .any_filesystem = conf->any_filesystem,
                                    .cache_bytes = cache_bytes(a, conf),
                                    .query_usec = conf->query_usec};
    struct bj_reader *reader = NULL;
    struct bj_words *words = NULL;
    int r = bj_reader_new(&opt, &reader, err);
    /* Drop the cached words, because another store may use other numbers for
     * them. */
    if (r == 0)
        r = bj_words_new(&words, err);
    if (r < 0) {
        bj_reader_free(reader);
        bj_settings_unref(settings);
        return r;
    }
    bj_worker_release(a);
    a->settings = settings;
    a->conf = conf;
    a->auth = settings->auth;
    a->prom = settings->prom;
    a->reader = reader;
    a->words = words;
    return 0;
}

void bj_worker_release(struct bj_api_worker *a)
{
    bj_reader_free(a->reader);
    bj_words_free(a->words);
    bj_texts_unref(a->texts);
    bj_buf_free(&a->scratch);
    bj_settings_unref(a->settings);
    a->reader = NULL;
    a->words = NULL;
    a->texts = NULL;
    a->settings = NULL;
    a->seen = (struct bj_reader_stat){0};
}

void bj_worker_report(struct bj_api_worker *a)
{
    struct bj_reader_stat now;
    struct bj_server *s = a->server;
    bj_reader_stat(a->reader, &now);
    if (now.opened != a->seen.opened)
        __atomic_fetch_add(&s->store_opened, now.opened - a->seen.opened,
                           __ATOMIC_RELAXED);
    if (now.timeouts != a->seen.timeouts)
        __atomic_fetch_add(&s->store_timeouts, now.timeouts - a->seen.timeouts,
                           __ATOMIC_RELAXED);
    if (now.opened != a->seen.opened || now.open != a->seen.open)
        __atomic_store_n(&s->store_open, now.open, __ATOMIC_RELAXED);
    a->seen = now;
}
