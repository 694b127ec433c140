/* Room for answers in memory.  Answers that no client has read yet are memory:
 * no more are made before they have gone. */
#ifndef BJ_APISERVER_ROOM_H
#define BJ_APISERVER_ROOM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bj_server;

/* The room that an answer takes while it is written: the threads share half of
 * web.max-bytes. */
size_t bj_room_bytes(const struct bj_server *s);

/* All of these with the server's lock held. */

/* Take room for one answer, if there is; give it back. */
bool bj_room_take(struct bj_server *s);
void bj_room_give(struct bj_server *s);

/* Has a request that came at since_usec (CLOCK_BOOTTIME) waited for too long?
 */
bool bj_room_late(uint64_t since_usec);

/* Wait on a condition until it has, or there may be room. */
void bj_room_wait(struct bj_server *s, pthread_cond_t *cond,
                  uint64_t since_usec);

/* Wake those that wait, if there is room. */
void bj_room_changed(struct bj_server *s);

/* Without the lock, for the second parts of endpoints, which may hold much
 * already, one of them at a time: take room, waiting for it; false: there is
 * none.  Give it back when the answer is written. */
bool bj_room_take_later(struct bj_server *s);
void bj_room_give_later(struct bj_server *s);

#endif
