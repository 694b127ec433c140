/* The state file.  A lock file next to it excludes a second process. */
#ifndef BJ_CORE_ENERGY_STATE_H
#define BJ_CORE_ENERGY_STATE_H

#include "base/err.h"
#include "base/slice.h"

struct bj_state;

/* Lock the file and read it; its directory is created if only that is missing.
 * The text belongs to the state; it is empty without a file.  -EBUSY: another
 * process has the lock. */
int bj_state_open(const char *path, struct bj_state **ret,
                  struct bj_slice *ret_text, struct bj_err *err);
void bj_state_free(struct bj_state *s); /* NULL is fine */

/* The id of this boot; empty if the kernel has none. */
struct bj_slice bj_state_boot_id(const struct bj_state *s);

/* When the file was saved that bj_state_open read, in seconds since 1970; 0:
 * there was none. */
uint64_t bj_state_saved_sec(const struct bj_state *s);

/* Replace the file.  sync: it is on the disk when the call returns 0; else only
 * an end of the process cannot lose it. */
int bj_state_save(struct bj_state *s, struct bj_slice text, bool sync,
                  struct bj_err *err);

/* Rename an unusable file to PATH.bad.  err has the reason; the new name is
 * appended to it. */
void bj_state_keep_aside(struct bj_state *s, struct bj_err *err);

#endif
