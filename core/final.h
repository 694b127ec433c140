/* Final records: the totals of a job on this node when it has ended, as one
 * line of JSON (docs/records.md). */
#ifndef BJ_CORE_FINAL_H
#define BJ_CORE_FINAL_H

#include "base/buf.h"
#include "core/energy/energy.h"
#include "core/track.h"

/* Append the record of an ended job and a newline; 0 or -ENOMEM. */
int bj_final_write(const struct bj_core *core, const struct bj_track *t,
                   struct bj_buf *out);

/* The same for a job that ended while the program did not run: key is the key
 * of its track and an inode; end_sec is when it was last known to exist. */
int bj_final_orphan(const struct bj_core *core, struct bj_slice key,
                    const struct bj_account *a, uint64_t end_sec,
                    struct bj_buf *out);

#endif
