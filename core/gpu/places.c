#include "core/gpu/places.h"

#include <pthread.h>
#include <stdlib.h>

struct bj_gpu_places {
    pthread_mutex_t lock;
    unsigned refs;
    struct bj_buf list;
    uint64_t number; /* of the list */
};

struct bj_gpu_places *bj_gpu_places_new(void)
{
    struct bj_gpu_places *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->refs = 1;
    return p;
}

struct bj_gpu_places *bj_gpu_places_ref(struct bj_gpu_places *p)
{
    if (!p)
        return NULL;
    pthread_mutex_lock(&p->lock);
    p->refs++;
    pthread_mutex_unlock(&p->lock);
    return p;
}

void bj_gpu_places_unref(struct bj_gpu_places *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    bool last = --p->refs == 0;
    pthread_mutex_unlock(&p->lock);
    if (!last)
        return;
    bj_buf_free(&p->list);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

uint64_t bj_gpu_places_set(struct bj_gpu_places *p, struct bj_buf *list)
{
    pthread_mutex_lock(&p->lock);
    struct bj_buf before = p->list;
    p->list = *list;
    uint64_t number = ++p->number;
    pthread_mutex_unlock(&p->lock);
    *list = (struct bj_buf){0};
    bj_buf_free(&before);
    return number;
}

bool bj_gpu_places_get(struct bj_gpu_places *p, struct bj_buf *ret,
                       uint64_t *ret_number)
{
    pthread_mutex_lock(&p->lock);
    *ret_number = p->number;
    bj_buf_put(ret, p->list.p, p->list.len);
    pthread_mutex_unlock(&p->lock);
    return !ret->failed;
}

/* Cut the text up to the next NUL; NULL: no NUL. */
static const char *places_cut(struct bj_slice *list)
{
    const char *text = list->p;
    const char *end = list->n > 0 ? memchr(text, '\0', list->n) : NULL;
    if (!end)
        return NULL;
    list->n -= (size_t)(end + 1 - text);
    list->p = end + 1;
    return text;
}

bool bj_gpu_places_next(struct bj_slice *list, uint64_t *ret_job,
                        const char **ret_dirs, unsigned max)
{
    const char *text = places_cut(list);
    unsigned n = 0;
    uint64_t job;
    if (!text || bj_slice_u64(bj_slice_str(text), &job) < 0)
        return false;
    for (unsigned i = 0; i < max; i++)
        ret_dirs[i] = NULL;
    while ((text = places_cut(list)) && *text)
        if (n < max)
            ret_dirs[n++] = text;
    *ret_job = job;
    return true;
}
