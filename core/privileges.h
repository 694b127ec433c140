/* Data that the process cannot read with its privileges. */
#ifndef BJ_CORE_PRIVILEGES_H
#define BJ_CORE_PRIVILEGES_H

#include "base/slice.h"
#include "core/conf.h"
#include "core/host.h"

/* Data that cannot be read, and the privilege it needs. */
struct bj_unreadable {
    const char *what, *cure;
};

enum { BJ_UNREADABLE_MAX = 4 };

/* Evaluate the text of /proc/self/status and /proc/self/mountinfo (empty when
 * unread). Fills ret, returns the number of entries. Sources: proc(5),
 * capabilities(7). */
unsigned bj_privileges_missing(const struct bj_conf *conf,
                               struct bj_slice status,
                               struct bj_slice mountinfo,
                               struct bj_unreadable ret[BJ_UNREADABLE_MAX]);

/* Read both files and log a warning for each entry. */
void bj_privileges_warn(const struct bj_conf *conf, const struct bj_host *host);

#endif
