/* Room for answers in memory.  Answers that no client has read yet are memory:
 * no more are made before they have gone. */
#ifndef BJ_APISERVER_ROOM_H
#define BJ_APISERVER_ROOM_H

#include <stdbool.h>
#include <stddef.h>

struct bj_server;

enum { BJ_ROOM_USEC = 3000 * 1000 }; /* a request waits for room this long */

/* The room that an answer takes while it is written: the threads share half of
 * web.max-bytes. */
size_t bj_room_bytes(const struct bj_server *s);

/* With the server's lock held: take room for one answer, if there is; give it
 * back; and let others have the lock for a moment. */
bool bj_room_take(struct bj_server *s);
void bj_room_give(struct bj_server *s);
void bj_room_pause(struct bj_server *s);

/* Without the lock, for the second parts of endpoints, one of them at a time:
 * take room, for which it waits up to BJ_ROOM_USEC, and give it back. */
bool bj_room_take_later(struct bj_server *s);
void bj_room_give_later(struct bj_server *s);

#endif
