/* The site's factor file in a feed: when it is read. */
#include "base/file.h"
#include "carbon/factor_file.h"
#include "carbon/feed_priv.h"

#include <fcntl.h>
#include <stdlib.h>

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_json(const char *path)
{
    size_t n = strlen(path);
    return n >= 5 && strcmp(path + n - 5, ".json") == 0;
}

static int read_file(struct bj_carbon_feed *feed, size_t i, uint64_t now_sec,
                     struct bj_points *ret, struct bj_err *err)
{
    const char *path = feed->conf->file;
    size_t cap = feed->plan.v[i].provider->max_bytes;
    char *buf = malloc(cap);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "%s", path);
    struct bj_slice text;
    int r = bj_file_read_trusted(AT_FDCWD, path, buf, cap, &text, err);
    struct bj_factor_rows want = {feed->plan.v[i].zone, now_sec};
    if (r == 0)
        r = (is_json(path) ? bj_factor_file_json
                           : bj_factor_file_csv)(text, path, &want, ret, err);
    free(buf);
    return r;
}

static void replace(struct bj_carbon_feed *feed, size_t i,
                    struct bj_points points)
{
    pthread_mutex_lock(&feed->lock);
    struct bj_points old = feed->points[i];
    feed->points[i] = points;
    pthread_mutex_unlock(&feed->lock);
    bj_points_free(&old);
}

/* After a malformed file the factors of the last valid one stay. */
static enum bj_carbon_fault read_again(struct bj_carbon_feed *feed, size_t i,
                                       struct bj_carbon_now now,
                                       struct bj_err *err)
{
    struct bj_points points = {0};
    struct stat *st = &feed->slot[i].file;
    int r = read_file(feed, i, now.wall_sec, &points, err);
    if (r == 0) {
        replace(feed, i, points);
        return BJ_CARBON_OK;
    }
    if (r == -EINVAL || r == -EFBIG)
        return BJ_CARBON_CONTENT;
    *st = (struct stat){0}; /* the content may be good: try again */
    return BJ_CARBON_LOCAL;
}

/* The factors of a deleted file are removed. */
static enum bj_carbon_fault missing(struct bj_carbon_feed *feed, size_t i,
                                    int code, struct bj_err *err)
{
    bj_err_set(err, code, "%s", feed->conf->file);
    if (code == -ENOENT)
        replace(feed, i, (struct bj_points){0});
    feed->slot[i].file = (struct stat){0};
    return BJ_CARBON_LOCAL;
}

static enum bj_carbon_fault check_current(const struct bj_carbon_feed *feed,
                                          size_t i, uint64_t now_sec,
                                          struct bj_err *err)
{
    const char *path = feed->conf->file;
    if (bj_carbon_feed_holds(feed, i, now_sec))
        return BJ_CARBON_OK;
    bj_err_set(err, -ESTALE, "%s: no current factor for zone %s", path,
               feed->plan.v[i].zone);
    return BJ_CARBON_EMPTY;
}

enum bj_carbon_fault bj_carbon_feed_check_file(struct bj_carbon_feed *feed,
                                               size_t i,
                                               struct bj_carbon_now now,
                                               bool *ret_news,
                                               struct bj_err *err)
{
    enum bj_carbon_fault before = feed->slot[i].status.fault, f = before;
    struct stat st;
    *ret_news = true;
    if (stat(feed->conf->file, &st) < 0)
        return missing(feed, i, -errno, err);
    bool same = same_file(&st, &feed->slot[i].file);
    if (!same) {
        feed->slot[i].file = st;
        f = read_again(feed, i, now, err);
    }
    if (f == BJ_CARBON_OK || (same && f == BJ_CARBON_EMPTY))
        f = check_current(feed, i, now.wall_sec, err);
    *ret_news = !same || f != before;
    return f;
}
