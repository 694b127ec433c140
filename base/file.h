/* Reading /proc, /sys and cgroup files, and keeping some of them open. */
#ifndef BJ_BASE_FILE_H
#define BJ_BASE_FILE_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

/* Close the descriptor when the variable leaves its scope. */
void bj_close_fd(int *fd);
#define bj_autoclose __attribute__((cleanup(bj_close_fd)))

/* As bj_err_set for "what name" with code (a negative errno).  For -EACCES the
 * message says which user lacks which right on which file or directory.  need:
 * the rights that the caller uses, as for access(2); if W_OK and there is no
 * such file, a new one is meant.  name is relative to dirfd, or AT_FDCWD.
 * err may be NULL. */
int bj_file_fail(struct bj_err *err, int code, const char *what, int dirfd,
                 const char *name, int need);

/* Read a whole file, relative to dirfd (or AT_FDCWD), into buf with as few
 * read(2) as possible: one for up to 2 KiB, else until the end.  For regular
 * files, and for kernel files that the kernel writes in one piece or in records
 * below 2 KiB each (cgroup.procs, *.stat); for longer records (mountinfo) see
 * bj_file_read_all.  The slice points into buf.
 *   -ENOENT, -ENODEV, -ESRCH  the job, device or process has gone
 *   -EFBIG                    the file has cap bytes or more; nothing returned
 * err may be NULL. */
int bj_file_read(int dirfd, const char *name, char *buf, size_t cap,
                 struct bj_slice *ret, struct bj_err *err);

/* The same, but always read until the end.  For files with records longer than
 * 2 KiB: the kernel ends a read early when the next record does not fit its
 * page. */
int bj_file_read_all(int dirfd, const char *name, char *buf, size_t cap,
                     struct bj_slice *ret, struct bj_err *err);

/* The first cap bytes of a file, or all of a shorter one.  For files that other
 * programs can make long: /proc/PID/status lists all groups of the user,
 * environ has any length.  -errno as bj_file_read. */
int bj_file_read_head(int dirfd, const char *name, char *buf, size_t cap,
                      struct bj_slice *ret);

/* As bj_file_read, from an open descriptor, from its start, with pread(2). */
int bj_file_pread(int fd, char *buf, size_t cap, struct bj_slice *ret);

/* Open a directory for openat(2); -errno on failure. */
int bj_dir_open(int dirfd, const char *name);

/* Like bj_file_read, for files that other users might write: the name must not
 * be a link, the file regular, owned by root or this process's user, and not
 * writable by group or others.  Else -EPERM with a message that names the rule.
 */
int bj_file_read_trusted(int dirfd, const char *name, char *buf, size_t cap,
                         struct bj_slice *ret, struct bj_err *err);

/* Like bj_file_read_trusted, for a spool directory, open as dirfd, in which
 * programs of other users put files: where only its owner and group can write,
 * the owner of a file may be any user, and its group may write to it. */
int bj_file_read_spooled(int dirfd, const char *name, char *buf, size_t cap,
                         struct bj_slice *ret, struct bj_err *err);

/* Like bj_file_read_trusted, for files with secrets: others may not read them
 * either. */
int bj_file_read_private(int dirfd, const char *name, char *buf, size_t cap,
                         struct bj_slice *ret, struct bj_err *err);

/* Before a start: may this process use a file or directory as it will?  mode:
 * R_OK, W_OK, X_OK of access(2).  NULL and "" are fine.  Errors begin with the
 * name of the option that names it. */
int bj_file_usable(const char *option, const char *path, int mode,
                   struct bj_err *err);

/* The same for a file that the process will make: its directory counts. */
int bj_file_makeable(const char *option, const char *path, struct bj_err *err);

/* Descriptors that are kept between passes, under one limit.  Reading a kept
 * cgroup file takes an eighth of the time of opening it, and costs 4.6 KiB of
 * kernel memory.  Not thread-safe: one pool belongs to one sampler. */
struct bj_fdpool {
    unsigned max;     /* most descriptors kept at a time */
    unsigned used;    /* kept now */
    unsigned base;    /* lowest number of kept descriptors (0: any) */
    uint64_t refused; /* descriptors beyond max */
};

/* Open name below dirfd and count it.  flags as for open(2), O_CLOEXEC is
 * added. -EMFILE at the limit (the caller then reads by name), otherwise
 * -errno. */
int bj_fdpool_open(struct bj_fdpool *pool, int dirfd, const char *name,
                   int flags);

/* Count fd, which is open, and return it, or another for the same file; or
 * close it and return -EMFILE. */
int bj_fdpool_take(struct bj_fdpool *pool, int fd);

/* Close *fd unless it is negative, uncount it and set it to -1. */
void bj_fdpool_close(struct bj_fdpool *pool, int *fd);

#endif
