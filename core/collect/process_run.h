/* The thread that reads the processes of jobs.
 *
 * The kernel may hold a read of /proc/PID for as long as the process waits for
 * a file system that does not respond: io and, in some versions, stat, exe and
 * fd while it starts a program (exec_update_lock, cred_guard_mutex before Linux
 * 5.11), cmdline while its pages are read, exe before Linux 4.1.  So no pass
 * reads them: a thread does.  If one read takes too long, the thread is given
 * up.  It ends when the kernel returns, without touching anything, and another
 * one takes its place.  (kernel fs/proc/base.c; fs/exec.c, exec_mmap) */
#ifndef BJ_CORE_COLLECT_PROCESS_RUN_H
#define BJ_CORE_COLLECT_PROCESS_RUN_H

#include "core/host.h"

#include <stdbool.h>

struct bj_procthread;
/* The state of a read that may block in the kernel, shared by the thread
 * and its owner. */
struct bj_procguard;

/* host's ctx must live until bj_procthread_free.  NULL when memory is out. */
struct bj_procthread *bj_procthread_new(const struct bj_host *host);
/* NULL is fine. */
void bj_procthread_free(struct bj_procthread *r);

/* Call fn(ctx, guard) in the thread and wait until it returns: 0.  -ETIMEDOUT:
 * the kernel holds a read, and nothing of fn runs any more; *whose is what
 * bj_procguard_enter got, *held the read (release it), or NULL when there are
 * too many of them.  -EBUSY: since then the thread has not come back; another
 * -errno: there is no thread. */
int bj_procthread_call(struct bj_procthread *r,
                       void (*fn)(void *ctx, struct bj_procguard *g), void *ctx,
                       void **whose, struct bj_procguard **held);

/* Around a call that may be held, in the thread; g: NULL is fine.  enter
 * returns g for leave.  Between them the thread may use only its own stack:
 * once given up, it must not read what the owner may have freed.  What the
 * thread owns alone is lost then, except the descriptor fd (-1: none), which is
 * closed. */
struct bj_procguard *bj_procguard_enter(struct bj_procguard *g, void *whose);
void bj_procguard_leave(struct bj_procguard *g, int fd);

/* The kernel has returned from the read that was held. */
bool bj_procguard_over(const struct bj_procguard *g);
/* NULL is fine. */
void bj_procguard_free(struct bj_procguard *g);

#endif
