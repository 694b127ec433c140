/* What the exporter cannot see with the rights that it has. */
#ifndef BJ_STANDALONE_SIGHT_H
#define BJ_STANDALONE_SIGHT_H

#include "base/slice.h"
#include "core/conf.h"

/* A shortcoming: what is missing, and what would help. */
struct bj_blindness {
    const char *what, *cure;
};

enum { BJ_BLINDNESS_MAX = 4 };

/* Judge from the text of /proc/self/status and /proc/self/mountinfo (empty when
 * unread).  Fills ret and returns how many there are.  Sources: proc(5),
 * capabilities(7). */
unsigned bj_sight_judge(const struct bj_conf *conf, struct bj_slice status,
                        struct bj_slice mountinfo,
                        struct bj_blindness ret[BJ_BLINDNESS_MAX]);

/* Read both files and log a warning for each shortcoming. */
void bj_sight_warn(const struct bj_conf *conf);

#endif
