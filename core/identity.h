/* The identity of a job: the fields in its path, and those found by the
 * resolver. Internal to the core. */
#ifndef BJ_CORE_IDENTITY_H
#define BJ_CORE_IDENTITY_H

#include "core/find/ident.h"
#include "core/find/layout.h"

struct bj_core;
struct bj_track;
struct bj_identity; /* of one job; core/identity.c */

/* Set the identity of t: t->identity from the fields of its path, t->ident
 * unknown.  -ENOMEM. */
int bj_identity_new(struct bj_track *t, const struct bj_path_match *m);
void bj_identity_free(struct bj_track *t); /* also after a failed new */

/* Add the fields in the path of another directory of t. */
void bj_identity_learn(struct bj_track *t, const struct bj_path_match *m);

/* The uid in its path; empty: the path has none. */
struct bj_slice bj_identity_path_uid(const struct bj_track *t);

/* The processes of t have changed: take the resolver's result, and if it lacks
 * fields, ask again, the first times at once. */
void bj_identity_changed(struct bj_track *t);
/* Request the identity of a young job again if that is due.  True: it is still
 * incomplete, so call again soon. */
bool bj_identity_hurry(struct bj_track *t);

/* t has ended: does its final record wait for the resolver? */
bool bj_identity_waits(const struct bj_track *t);

/* Submit requests for new jobs to the resolver, and take its results. */
void bj_core_identify(struct bj_core *core);

#endif
