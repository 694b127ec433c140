/* The thread that reads the processes of jobs.
 *
 * The kernel may block a read of /proc/PID for as long as the process waits for
 * a file system that does not respond: io and, in some versions, stat, exe and
 * fd while the process starts a program (exec_update_lock, cred_guard_mutex
 * before Linux 5.11), cmdline while its pages are read, exe before Linux 4.1.
 * So a separate thread reads these files.  If one read is blocked, or uses a
 * CPU, for too long, the thread is abandoned and replaced; it may wait for a
 * CPU for any time.  It ends when the kernel returns, without accessing shared
 * data.  (kernel fs/proc/base.c; fs/exec.c, exec_mmap) */
#ifndef BJ_CORE_COLLECT_PROCESS_RUN_H
#define BJ_CORE_COLLECT_PROCESS_RUN_H

#include "core/host.h"

#include <stdbool.h>

struct bj_procthread;
/* The state of a read that may block in the kernel, shared by the thread
 * and its owner. */
struct bj_procguard;

/* host's ctx must live until bj_procthread_free.  NULL: out of memory. */
struct bj_procthread *bj_procthread_new(const struct bj_host *host);
/* NULL is fine. */
void bj_procthread_free(struct bj_procthread *r);

/* Call fn(ctx, guard) in the thread and wait until it returns: 0.  -ETIMEDOUT:
 * a read takes too long, and fn will not continue; *whose is the
 * argument of its bj_procguard_enter, *held its guard (the caller frees it), or
 * NULL if too many reads are blocked.  -EBUSY: such a read still blocks the
 * thread; another -errno: no thread could be started. */
int bj_procthread_call(struct bj_procthread *r,
                       void (*fn)(void *ctx, struct bj_procguard *g), void *ctx,
                       void **whose, struct bj_procguard **held);

/* Call these before and after a read that may block, in the thread; g may be
 * NULL.  enter returns g for leave.  Between them the thread may use only its
 * own stack: once it is abandoned, the owner may have freed everything else.
 * leave does not return in an abandoned thread; it closes the descriptor fd
 * (-1: none), all else that only the thread owns is lost. */
struct bj_procguard *bj_procguard_enter(struct bj_procguard *g, void *whose);
void bj_procguard_leave(struct bj_procguard *g, int fd);

/* Has the blocked read returned? */
bool bj_procguard_over(const struct bj_procguard *g);
/* NULL is fine. */
void bj_procguard_free(struct bj_procguard *g);

#endif
