#include "statsdb/background.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

struct bj_background {
    int (*work)(void *ctx);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool busy, stop;
    int result;
};

static void *run(void *ctx)
{
    struct bj_background *w = ctx;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (!w->busy && !w->stop)
            pthread_cond_wait(&w->changed, &w->lock);
        if (!w->busy)
            break;
        pthread_mutex_unlock(&w->lock);
        int r = w->work(w->ctx);
        pthread_mutex_lock(&w->lock);
        w->result = r;
        w->busy = false;
        pthread_cond_broadcast(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int bj_background_new(int (*work)(void *ctx), void *ctx,
                      struct bj_background **ret)
{
    struct bj_background *w = calloc(1, sizeof(*w));
    sigset_t all, was;
    if (!w)
        return -ENOMEM;
    w->work = work;
    w->ctx = ctx;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    int r = -pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    if (r < 0) {
        free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void bj_background_free(struct bj_background *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void bj_background_go(struct bj_background *w)
{
    pthread_mutex_lock(&w->lock);
    w->busy = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

int bj_background_wait(struct bj_background *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->busy)
        pthread_cond_wait(&w->changed, &w->lock);
    int r = w->result;
    w->result = 0;
    pthread_mutex_unlock(&w->lock);
    return r;
}
