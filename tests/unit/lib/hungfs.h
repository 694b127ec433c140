/* A file system that does not respond: FUSE, served by a child process. */
#ifndef BJ_TESTS_UNIT_LIB_HUNGFS_H
#define BJ_TESTS_UNIT_LIB_HUNGFS_H

#include <sys/types.h>

struct hungfs {
    char dir[64];
    pid_t server;
    int waits; /* one byte for each request that is not answered */
};

/* Mount it in a mount name space of this process.  0, or -errno where this is
 * not possible.  Its files are "0" to "9", of 4096 bytes.  They can be read,
 * but no write to them returns. */
int hungfs_start(struct hungfs *fs);
/* All calls that it held fail. */
void hungfs_stop(struct hungfs *fs);

#endif
