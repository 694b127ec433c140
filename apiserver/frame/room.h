/* Limits the memory for responses: when it is used up, no response is made
 * until clients have read some. */
#ifndef BJ_APISERVER_FRAME_ROOM_H
#define BJ_APISERVER_FRAME_ROOM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bj_server;

/* The bytes reserved for a response while it is written: the threads share half
 * of web.max-bytes. */
size_t bj_room_bytes(const struct bj_server *s);

/* Is there enough room for one response now?  From any thread. */
bool bj_room_is_free(const struct bj_server *s);

/* The next four functions require the server's lock. */

/* Reserve room for one response if there is enough; release that room. */
bool bj_room_take(struct bj_server *s);
void bj_room_give(struct bj_server *s);

/* Has a request that arrived at since_usec (CLOCK_BOOTTIME) waited too long? */
bool bj_room_late(uint64_t since_usec);

/* Wait on a condition until there may be room, or the request has waited too
 * long (bj_room_late). */
void bj_room_wait(struct bj_server *s, pthread_cond_t *cond,
                  uint64_t since_usec);

/* Wake waiting threads if there is room. */
void bj_room_changed(struct bj_server *s);

/* Without the lock: would a second part start at once, because a thread for
 * second parts is free? */
bool bj_room_has_waiter(struct bj_server *s);

/* For second parts of endpoints, without the lock: wait for room. They use much
 * memory already, so only one at a time writes its response. False: no room
 * became free. Release the room after the response was written. */
bool bj_room_take_later(struct bj_server *s);
void bj_room_give_later(struct bj_server *s);

#endif
