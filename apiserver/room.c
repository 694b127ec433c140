#include "apiserver/room.h"

#include "apiserver/server.h"
#include "base/clock.h"

#include <time.h>

enum { PAUSE_NSEC = 2 * 1000 * 1000 };

size_t bj_room_bytes(const struct bj_server *s)
{
    const struct bj_api_conf *conf = s->site->conf;
    return conf->flight_bytes / (2 * conf->threads);
}

bool bj_room_take(struct bj_server *s)
{
    size_t made = __atomic_load_n(&s->made_bytes, __ATOMIC_RELAXED);
    if (!bj_httpd_room(s->httpd, made + bj_room_bytes(s)))
        return false;
    __atomic_add_fetch(&s->made_bytes, bj_room_bytes(s), __ATOMIC_RELAXED);
    return true;
}

void bj_room_give(struct bj_server *s)
{
    __atomic_sub_fetch(&s->made_bytes, bj_room_bytes(s), __ATOMIC_RELAXED);
}

void bj_room_pause(struct bj_server *s)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NSEC};
    pthread_mutex_unlock(&s->lock);
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&s->lock);
}

bool bj_room_take_later(struct bj_server *s)
{
    uint64_t until = bj_clock_boot_usec() + BJ_ROOM_USEC;
    bool room = false;
    pthread_mutex_lock(&s->lock);
    while (!(room = !s->writing && bj_room_take(s)) &&
           bj_clock_boot_usec() < until)
        bj_room_pause(s);
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
