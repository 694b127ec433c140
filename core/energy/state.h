/* The state file: where it lies, who may write it.  One process at a time: a
 * lock beside it tells. */
#ifndef BJ_CORE_ENERGY_STATE_H
#define BJ_CORE_ENERGY_STATE_H

#include "base/err.h"
#include "base/slice.h"

struct bj_state;

/* Lock the file and read it; its directory is made when only that is missing.
 * The text belongs to the state and is empty when there is no file.  -EBUSY:
 * another process has it. */
int bj_state_open(const char *path, struct bj_state **ret,
                  struct bj_slice *ret_text, struct bj_err *err);
void bj_state_free(struct bj_state *s); /* NULL is fine */

/* Of this boot; empty when the kernel does not tell. */
struct bj_slice bj_state_boot_id(const struct bj_state *s);

/* Write it anew, on the disk when the call returns 0. */
int bj_state_save(struct bj_state *s, struct bj_slice text, struct bj_err *err);

/* It cannot be used: rename it to PATH.bad.  err holds why, and gets where it
 * is now. */
void bj_state_keep_aside(struct bj_state *s, struct bj_err *err);

#endif
