#include "base/web.h"

#include "base/tls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHECK_USEC = 1000 * 1000 };

static struct bj_web_stamp stamp_of(const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) < 0)
        return (struct bj_web_stamp){0};
    return (struct bj_web_stamp){
        (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
        (uint64_t)st.st_dev, (uint64_t)st.st_ino, (uint64_t)st.st_size};
}

static void stamp_files(const struct bj_web *w,
                        struct bj_web_stamp ret[BJ_WEB_FILES])
{
    const struct bj_tls_conf *t = &w->conf.tls;
    const char *file[BJ_WEB_FILES] = {w->path, t->cert.file, t->key.file,
                                      t->client_ca.file};
    for (int i = 0; i < BJ_WEB_FILES; i++)
        ret[i] = stamp_of(file[i]);
}

static bool web_same(const struct bj_web_stamp *a, const struct bj_web_stamp *b)
{
    for (int i = 0; i < BJ_WEB_FILES; i++)
        if (a[i].nsec != b[i].nsec || a[i].dev != b[i].dev ||
            a[i].ino != b[i].ino || a[i].size != b[i].size)
            return false;
    return true;
}

static int web_load(struct bj_web *w, const char *option, const char *path,
                    struct bj_err *err)
{
    struct bj_err why = {0};
    char text[240];
    w->path = strdup(path);
    if (!w->path)
        return bj_err_set(err, -ENOMEM, "%s", path);
    /* Stamps are taken before the files are read: a change in between counts as
     * another change. */
    struct bj_web_stamp own = stamp_of(path);
    int r = bj_web_conf_read(&w->conf, path, &why);
    stamp_files(w, w->stamp);
    w->stamp[0] = own;
    if (r == 0 && w->conf.tls.given)
        r = bj_tls_new(&w->conf.tls, &w->tls, &why);
    if (r == 0)
        return 0;
    return bj_err_say(err, r == -ENOMEM ? r : -EINVAL, "%s: %s", option,
                      bj_err_text(&why, text, sizeof(text)));
}

int bj_web_new(const char *option, const char *path, struct bj_web **ret,
               struct bj_err *err)
{
    struct bj_web *w = calloc(1, sizeof(*w));
    if (!w)
        return bj_err_set(err, -ENOMEM, "%s", option);
    w->refs = 1;
    int r = path && path[0] ? web_load(w, option, path, err) : 0;
    if (r < 0)
        bj_web_unref(w);
    else
        *ret = w;
    return r;
}

struct bj_web *bj_web_ref(struct bj_web *w)
{
    __atomic_fetch_add(&w->refs, 1, __ATOMIC_RELAXED);
    return w;
}

void bj_web_unref(struct bj_web *w)
{
    if (!w || __atomic_sub_fetch(&w->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    bj_tls_unref(w->tls);
    bj_web_conf_free(&w->conf);
    free(w->path);
    free(w);
}

bool bj_web_changed(const struct bj_web *w, struct bj_web_watch *watch,
                    uint64_t now_usec)
{
    struct bj_web_stamp now[BJ_WEB_FILES];
    if (!w->path || now_usec < watch->next_usec)
        return false;
    watch->next_usec = now_usec + CHECK_USEC;
    stamp_files(w, now);
    if (web_same(now, w->stamp) || web_same(now, watch->tried))
        return false;
    memcpy(watch->tried, now, sizeof(now));
    return true;
}

uint64_t bj_bucket_take(struct bj_bucket *b, uint64_t interval_usec,
                        uint64_t burst, uint64_t now_usec)
{
    uint64_t full = b->full_usec > now_usec ? b->full_usec : now_usec;
    uint64_t room = interval_usec * burst, need = full - now_usec;
    if (need + interval_usec > room)
        return need + interval_usec - room;
    b->full_usec = full + interval_usec;
    return 0;
}
