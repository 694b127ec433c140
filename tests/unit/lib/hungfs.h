/* A file system that does not respond: FUSE, served by a child process. */
#ifndef BJ_TESTS_UNIT_LIB_HUNGFS_H
#define BJ_TESTS_UNIT_LIB_HUNGFS_H

#include <sys/types.h>

struct hungfs {
    char dir[64];
    pid_t server;
    int blocked_fd; /* one byte for each request that is not answered */
};

/* Mount it in a private mount namespace of this process.  Returns 0, or -errno
 * if this is not possible.  Its files are "0" to "9", of 4096 bytes.  Reads
 * work, but writes never return. */
int hungfs_start(struct hungfs *fs);
/* Unmount it; all blocked calls fail. */
void hungfs_stop(struct hungfs *fs);

#endif
