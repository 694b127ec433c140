/* Writing a file so that readers see either the old or the new content. */
#ifndef BJ_BASE_SAVE_H
#define BJ_BASE_SAVE_H

#include "base/err.h"
#include "base/slice.h"

#include <sys/types.h>

enum {
    BJ_SAVE_SYNC = 1, /* on the disk, with its name, when the call returns */
    BJ_SAVE_NEW = 2,  /* do not replace a file of that name: -EEXIST */
};

/* Write data into a new file beside path (its name begins with '.') and rename
 * it: the file at path, or a symbolic link there, is replaced.  The file
 * belongs to this process's user and has exactly that mode, whatever the umask.
 * On failure (-errno, with a message that names path) nothing has changed and
 * no temporary file remains; but if only the last step of BJ_SAVE_SYNC fails,
 * the new content is in place and may not survive a crash.  err may be NULL. */
int bj_save(const char *path, struct bj_slice data, mode_t mode, unsigned flags,
            struct bj_err *err);

/* The same, below an open directory (or AT_FDCWD). */
int bj_save_at(int dirfd, const char *path, struct bj_slice data, mode_t mode,
               unsigned flags, struct bj_err *err);

#endif
