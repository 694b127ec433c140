#include "apiserver/frame/room.h"

#include "apiserver/frame/state.h"
#include "base/clock.h"
#include "base/wait.h"

enum { ROOM_USEC = 3000 * 1000 }; /* a request waits for room this long */

size_t bj_room_bytes(const struct bj_server *s)
{
    const struct bj_api_conf *conf = s->settings->conf;
    return conf->flight_bytes / (2 * conf->threads);
}

static bool has_room(const struct bj_server *s)
{
    size_t made = __atomic_load_n(&s->made_bytes, __ATOMIC_RELAXED);
    return bj_httpd_room(s->httpd, made + bj_room_bytes(s));
}

bool bj_room_is_free(const struct bj_server *s)
{
    return has_room(s);
}

bool bj_room_take(struct bj_server *s)
{
    bool room = has_room(s);
    if (room)
        __atomic_add_fetch(&s->made_bytes, bj_room_bytes(s), __ATOMIC_RELAXED);
    return room;
}

void bj_room_give(struct bj_server *s)
{
    __atomic_sub_fetch(&s->made_bytes, bj_room_bytes(s), __ATOMIC_RELAXED);
    bj_room_changed(s);
}

bool bj_room_late(uint64_t since_usec)
{
    return bj_clock_boot_usec() - since_usec >= ROOM_USEC;
}

void bj_room_wait(struct bj_server *s, pthread_cond_t *cond,
                  uint64_t since_usec)
{
    s->room_waiters++;
    bj_wait_until(cond, &s->lock, since_usec + ROOM_USEC);
    s->room_waiters--;
}

void bj_room_changed(struct bj_server *s)
{
    if (s->room_waiters == 0 || !has_room(s))
        return;
    pthread_cond_broadcast(&s->work_cond);
    pthread_cond_broadcast(&s->room_cond);
}

bool bj_room_has_waiter(struct bj_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool ret = !s->waiting.first && s->waiters_busy < s->waiters;
    pthread_mutex_unlock(&s->lock);
    return ret;
}

bool bj_room_take_later(struct bj_server *s)
{
    uint64_t since = bj_clock_boot_usec();
    bool room = false;
    pthread_mutex_lock(&s->lock);
    while (!(room = !s->writing && bj_room_take(s)) && !bj_room_late(since) &&
           !s->stop)
        bj_room_wait(s, &s->room_cond, since);
    s->writing = s->writing || room;
    pthread_mutex_unlock(&s->lock);
    return room;
}

void bj_room_give_later(struct bj_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->writing = false;
    bj_room_give(s);
    pthread_mutex_unlock(&s->lock);
}
