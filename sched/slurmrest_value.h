/* Values as slurmrestd writes them: inside of sched/slurmrest. */
#ifndef BJ_SCHED_SLURMREST_VALUE_H
#define BJ_SCHED_SLURMREST_VALUE_H

#include "base/arena.h"
#include "base/json.h"
#include "sched/job.h"

/* All: 0, or -errno when v is there and is no such thing; what is null, not
 * set or not there leaves *to alone.  Text of lists is put together in the
 * arena; all other text lies in the tree. */
int bj_rest_text(const struct bj_json *v, struct bj_arena *a, void *to);

/* A text, or the texts of a list with '+' between: states, flags. */
int bj_rest_words(const struct bj_json *v, struct bj_arena *a, void *to);

int bj_rest_number(const struct bj_json *v, struct bj_arena *a, void *to);
int bj_rest_time(const struct bj_json *v, struct bj_arena *a, void *to);
int bj_rest_minutes(const struct bj_json *v, struct bj_arena *a, void *to);

/* {"seconds","microseconds"} */
int bj_rest_usec(const struct bj_json *v, struct bj_arena *a, void *to);

/* Joules; 0 says that nothing was measured, and is absent. */
int bj_rest_energy(const struct bj_json *v, struct bj_arena *a, void *to);

/* {"return_code","signal":{"id" or "signal_id"}} into two neighbours. */
int bj_rest_exit(const struct bj_json *v, struct bj_arena *a, void *to);

/* [{"type","name","count"}] with memory in MiB into a struct bj_tres_list. */
int bj_rest_tres(const struct bj_json *v, struct bj_arena *a, void *to);

/* An element of a document's "errors": the first one's text is kept.  That
 * nothing was found comes as one, too, and is none. */
enum { BJ_REST_ERROR = 200 };
void bj_rest_error(const struct bj_json *v, char text[static BJ_REST_ERROR]);

/* What a list of usage says of a resource, with the node that a list of the
 * largest has beside it (ret_node may be NULL); BJ_ABSENT when nothing. */
uint64_t bj_rest_used(const struct bj_json *list, const char *type,
                      const char *name, struct bj_slice *ret_node);

#endif
