/* Values in slurmrestd's format.  Private to sched/. */
#ifndef BJ_SCHED_SLURMREST_VALUE_H
#define BJ_SCHED_SLURMREST_VALUE_H

#include "base/arena.h"
#include "base/json.h"
#include "sched/job.h"

/* All: 0, or -errno when v has a wrong type; a value that is null, not set or
 * missing leaves *to unchanged.  Joined lists are in the arena; all other text
 * is in the tree. */
int bj_rest_text(const struct bj_json *v, struct bj_arena *a, void *to);

/* A text, or the texts of a list joined by '+': states, flags. */
int bj_rest_words(const struct bj_json *v, struct bj_arena *a, void *to);

int bj_rest_number(const struct bj_json *v, struct bj_arena *a, void *to);
int bj_rest_time(const struct bj_json *v, struct bj_arena *a, void *to);
int bj_rest_minutes(const struct bj_json *v, struct bj_arena *a, void *to);

/* {"seconds","microseconds"} */
int bj_rest_usec(const struct bj_json *v, struct bj_arena *a, void *to);

/* Joules; 0 means not measured, and is absent. */
int bj_rest_energy(const struct bj_json *v, struct bj_arena *a, void *to);

/* {"return_code","signal":{"id" or "signal_id"}} into two adjacent members. */
int bj_rest_exit(const struct bj_json *v, struct bj_arena *a, void *to);

/* [{"type","name","count"}] with memory in MiB into a struct bj_tres_list. */
int bj_rest_tres(const struct bj_json *v, struct bj_arena *a, void *to);

/* The same as the text of sacct into a struct bj_slice, in a's memory:
 * "billing=1,cpu=1,mem=400M,node=1", sorted. */
int bj_rest_tres_text(const struct bj_json *v, struct bj_arena *a, void *to);

/* An element of a document's "errors": keep the first one's text,
 * "Failure to query nodes: Access/permission denied".  That nothing
 * was found is in the list too, and is not an error. */
enum { BJ_REST_ERROR = 200 };
void bj_rest_error(const struct bj_json *v, char text[static BJ_REST_ERROR]);

/* The amount of a resource in a usage list, and the node beside it in a list of
 * maxima (ret_node may be NULL); BJ_ABSENT: not in the list. */
uint64_t bj_rest_used(const struct bj_json *list, const char *type,
                      const char *name, struct bj_slice *ret_node);

#endif
