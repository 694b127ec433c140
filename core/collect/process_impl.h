/* Declarations shared by process*.c.  Only these files and their tests include
 * it. */
#ifndef BJ_CORE_COLLECT_PROCESS_IMPL_H
#define BJ_CORE_COLLECT_PROCESS_IMPL_H

#include "base/text.h"
#include "core/collect/process.h"
#include "core/collect/process_run.h"
#include "core/collect/procstat.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
    BJ_PROC_STATES = 12,
    BJ_PROC_NO_EXE = UINT16_MAX,
    BJ_PROC_NO_CPU = -1,
    BJ_PROC_FDS_UNKNOWN = -1,
    BJ_STAT_BYTES = 1024, /* 52 numbers and a name of at most 64 bytes */
};

/* --- state between reads --- */

/* State that decides whether a thread is read: see process_state.c. */
struct bj_quiet {
    int fd;        /* kept schedstat; -1: none */
    uint32_t base; /* hash of the text of schedstat at the last read */
    uint8_t calm;  /* reads in a row without a change */
    uint8_t need;  /* reads without a change before it is switched on */
    uint8_t busy;  /* while on: reads in a row with a change */
    bool on;       /* read the thread only after a change of schedstat */
    bool ran;      /* result of a probe: it ran since the last read */
};

struct bj_thread {
    uint64_t ticks; /* utime + stime, counted so far (per-core estimate only) */
    int32_t tid;
    int32_t fd; /* kept task/TID/stat; -1: none */
    struct bj_quiet quiet;
    char state;    /* 0: not read yet */
    bool baseless; /* ticks is not valid yet */
};

/* Values of a process that only dialects report. */
struct bj_proc_extra {
    uint64_t child_ticks, rss_pages;
    bool of_root; /* its real user is root */
    bool no_user; /* it belongs to root, or is the shell of the batch script */
    char name[BJ_LABEL_MAX + 1];
};

/* A process of the job, or one that left the job or ended and is not reaped
 * yet. */
struct bj_proc {
    uint64_t start_ticks; /* identifies it, with pid.  0: not read yet */
    uint64_t line;        /* hash of its stat line */
    uint64_t stack;       /* start of its stack; changes with an exec */
    uint64_t ticks;       /* utime + stime, counted so far */
    uint64_t alone_ticks; /* ... while it had one thread */
    uint64_t io[BJ_PROCIO_FIELDS];     /* counted so far */
    uint64_t io_now[BJ_PROCIO_FIELDS]; /* valid when io_fresh */
    uint64_t io_usec;                  /* when it was read; 0: never */
    uint64_t due_usec;                 /* batch: when to read it again */
    uint64_t full_usec;                /* when its stat line was read */
    struct bj_quiet quiet;
    struct bj_proc_extra *extra; /* NULL: not needed, or no memory */
    struct bj_thread *threads; /* all but the leader (per-core estimate: all) */
    struct bj_procguard *held; /* guard of a blocked read of it; NULL: none */
    uint32_t nthreads;
    uint32_t nr_threads; /* from its stat line */
    uint32_t list_no;    /* number of the last list that contains it */
    uint32_t comm;       /* hash of its name */
    uint32_t debt; /* index + 1 in bj_proctab.debts; 0: nothing to subtract */
    int32_t pid;   /* 0: removed */
    int32_t ppid;
    int dir, stat, io_fd, fd_dir; /* kept; -1: none */
    int32_t open_fds;
    int16_t cpu;
    uint16_t exe;   /* index in bj_jobproc.exes */
    uint8_t missed; /* number of lists in a row without it */
    uint8_t io_reads;
    char state;
    bool batch;   /* a process of the batch system: slurmstepd */
    bool counted; /* it is counted in seen */
    bool changed; /* its stat line has changed since the last read */
    bool recheck; /* its parent may have changed */
    bool io_fresh, io_known;
    bool io_due;   /* its stat line has changed since its counters were read */
    bool io_stale; /* it may have run since then */
    bool reaps_self; /* its children are not waited for (SIGCHLD ignored) */
    bool adopts;     /* it is known to adopt orphans */
    bool denied;     /* a fault of it has been counted */
    bool io_denied, fds_denied;
};

/* A directory of the job's cgroup.  The first entry is that of the job
 * itself. */
struct bj_procdir {
    char *rel; /* path below the first one; "": the first one */
    uint64_t nlink, mtime_nsec, ctime_nsec; /* when its children were listed */
    int fd, procs;                          /* kept; -1: none */
    uint32_t pids; /* number of pids in it, at the last read */
    bool inner;    /* it has subdirectories */
    bool threaded; /* its processes are listed in a directory above */
};

struct bj_exe {
    char *label;
    uint64_t ticks;      /* since it got the slot, else since the start */
    uint64_t pass_ticks; /* in this pass */
    uint32_t hash;       /* of the label */
    uint32_t refs;       /* processes that run it */
    bool slot;
};

/* A process that has ended. */
struct bj_ended {
    uint64_t start_ticks;
    uint64_t io[BJ_PROCIO_FIELDS];
    int32_t pid, ppid;
};

/* The part of a process's I/O counters that has been counted for its
 * children. */
struct bj_debt {
    uint64_t io[BJ_PROCIO_FIELDS];
    uint64_t loose[BJ_PROCIO_FIELDS]; /* the part of io that another ancestor's
                                         counters may include */
};

/* A named place; several may have one name. */
struct bj_place {
    struct bj_slice path; /* without a final slash; "": the root directory */
    size_t label;         /* index of the first place with this name */
    char *name, *text;    /* name: clean; text: the memory of path */
};

struct bj_proctab {
    const struct bj_conf *conf;
    struct bj_fdpool *pool;
    int proc;    /* conf->procfs */
    int tmp_dir; /* of process tmp_pid; closed for the next process; -1: none */
    int32_t tmp_pid;
    uint64_t hz, now_usec, io_usec;
    uint64_t left, threads_left, links_left; /* budget of this pass */
    uint64_t refused, faults;
    bool detail, percore; /* what to collect */
    bool schedstat;       /* the kernel has it */
    bool fd_size;         /* the kernel has the number of open files in
                             st_size */
    bool hidden;          /* hidepid: processes of other users are invisible */
    struct bj_place *places;
    size_t nplaces;
    struct bj_procthread *thread; /* NULL: the caller's thread */
    /* Used during one update. */
    struct bj_procguard *guard; /* of the thread of the update; NULL: none */
    struct bj_err *err;
    int fault;
    char *buf;
    size_t cap;
    struct bj_debt *debts;
    size_t ndebts, debts_cap;
    uint64_t *links; /* hashes of open files seen, see process_detail.c */
    size_t nlinks, links_cap;
};

struct bj_jobproc {
    char *path;
    uint64_t ino; /* of path */
    bool v2, percore;
    bool exact;      /* the file system's nlink counts directories */
    bool complete;   /* the last list was complete */
    bool has_values; /* there are values to publish */
    bool io_known, fds_known, places_known;
    bool io_denied; /* some counters may not be read: the sum is too small */
    bool orphans;   /* a process has ended: parents may have changed */
    unsigned held;  /* processes with a read that is blocked in the kernel */
    /* process_list.c */
    struct bj_procdir *dirs;
    size_t ndirs;
    uint64_t walk_usec, list_usec, inner_usec;
    uint32_t list_no;
    size_t alive, unread;
    uint64_t room; /* processes that the budget allows now */
    /* process_list.c */
    struct bj_proc *v;
    size_t n, cap;
    uint32_t *slots; /* hash table of index + 1 in v */
    size_t nslots;
    size_t removed; /* entries of v to remove */
    /* process_read.c: processes that ended since the totals were updated */
    struct bj_ended *ended;
    size_t nended, ended_cap, ended_sorted;
    /* process_detail.c */
    struct bj_exe *exes;
    uint16_t *order; /* executables with a slot, sorted by label */
    uint16_t nexes, norder;
    uint64_t unslotted_ticks, other_usec;
    /* totals and levels */
    uint64_t seen, oldest_ticks, start_sec;
    uint64_t io[BJ_PROCIO_FIELDS];
    uint64_t processes, threads, open_fds;
    uint32_t states_seen; /* bit s: state s has occurred */
    uint32_t states[BJ_PROC_STATES];
    uint64_t *cores; /* ticks by CPU */
    uint32_t ncores;
    uint64_t *places; /* by place */
    uint64_t places_usec, places_set;
};

/* Whether the process belongs to the job now: it is not one of the batch
 * system, and was not moved to another cgroup. */
static inline bool bj_proc_in_job(const struct bj_proc *e)
{
    return e->pid != 0 && e->start_ticks != 0 && !e->batch &&
           (e->missed < 2 || e->state == 'Z');
}

/* --- process_dir.c --- */

/* Count a fault; the first one of an update becomes its result.  Codes of
 * bj_err_gone() are not faults.  Returns code. */
int bj_proc_fault(struct bj_proctab *t, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* As bj_proc_fault, but only once in the life of a process. */
int bj_proc_fault_once(struct bj_proctab *t, struct bj_proc *e, int code,
                       const char *what);

/* Is less than eighths/8 of the pool used? */
bool bj_proc_room(const struct bj_proctab *t, unsigned eighths);

/* Open and keep a descriptor if less than eighths/8 of the pool are used, so
 * that the threads of one job leave some for the files of other jobs; else
 * -EMFILE.  retry: do not count a refusal again. */
int bj_proc_keep(struct bj_proctab *t, int dirfd, const char *name, int flags,
                 unsigned eighths, bool retry);

/* Open the /proc directory of a process: the kept descriptor, or one that stays
 * open until that of another process is needed.  -errno; -ESRCH if the process
 * has ended. */
int bj_proc_dir(struct bj_proctab *t, struct bj_proc *e);
/* As bj_proc_dir; unless sure is set, the directory may be that of a newer
 * process with the same pid. */
int bj_proc_dir_any(struct bj_proctab *t, struct bj_proc *e, bool sure);
/* Close the directory that is open temporarily. */
void bj_proc_dir_done(struct bj_proctab *t);

/* --- process_list.c --- */

struct bj_proc *bj_proc_find(const struct bj_jobproc *p, int32_t pid);
/* Remove a process that has ended: add its I/O to the list of ended processes,
 * close its descriptors and free its memory.  Its place in v stays empty until
 * bj_proc_sweep. */
void bj_proc_remove(struct bj_proctab *t, struct bj_jobproc *p,
                    struct bj_proc *e);
void bj_proc_sweep(struct bj_jobproc *p);
/* Remove all processes and discard their I/O. */
void bj_proc_clear(struct bj_proctab *t, struct bj_jobproc *p);

/* Bring the list of processes up to date: entries of p->v that are listed get
 * its list_no, new ones are added.  A list younger than a second is not read
 * again unless force is set.  Returns 1 for a new list, 0 for the old one; a
 * code of bj_err_gone() if the job's directory was removed.  Other faults are
 * counted and make the list incomplete. */
int bj_proc_list(struct bj_proctab *t, struct bj_jobproc *p, bool force);
void bj_proc_list_free(struct bj_proctab *t, struct bj_jobproc *p);

/* Its read is no longer blocked. */
void bj_proc_released(struct bj_jobproc *p, struct bj_proc *e);

/* --- process_read.c --- */

/* Read a process, unless it has slept since the last read.  0; -ESRCH or
 * another code of bj_err_gone() if it has ended; else a fault. */
int bj_proc_read(struct bj_proctab *t, struct bj_jobproc *p, struct bj_proc *e);

/* Read the counters that are due and update the job's totals. */
void bj_proc_io(struct bj_proctab *t, struct bj_jobproc *p);

/* --- process_state.c --- */

void bj_quiet_init(struct bj_quiet *q);
void bj_quiet_drop(struct bj_proctab *t, struct bj_quiet *q);
/* Before a read, if q is on: set q->ran.  A code of bj_err_gone() if the thread
 * has ended. */
int bj_quiet_probe(struct bj_proctab *t, struct bj_quiet *q);
/* Before a read, if q is off: if the thread has slept for long enough (wants),
 * open its schedstat, the file name below dir (arm). */
bool bj_quiet_wants(const struct bj_proctab *t, const struct bj_quiet *q);
void bj_quiet_arm(struct bj_proctab *t, struct bj_quiet *q, int dir,
                  const char *name);
/* After a read.  still: the read found no change, and the thread not
 * running. */
void bj_quiet_after(struct bj_proctab *t, struct bj_quiet *q, bool still,
                    bool running);

extern const struct bj_slice bj_proc_state_name[BJ_PROC_STATES]; /* sorted */
/* Index of a state letter. */
unsigned bj_proc_state(char letter);
/* Check whether the quiet threads have run.  True if any has, or if not all are
 * quiet. */
bool bj_proc_threads_probe(struct bj_proctab *t, struct bj_proc *e);
/* Read all threads that may have run since the last read. */
void bj_proc_threads(struct bj_proctab *t, struct bj_jobproc *p,
                     struct bj_proc *e);
/* Are all threads but the leader quiet? */
bool bj_proc_threads_quiet(const struct bj_proc *e);
void bj_proc_threads_drop(struct bj_proctab *t, struct bj_proc *e);
/* Add the time of a thread to the CPU in field 39 of its stat line. */
void bj_proc_core(struct bj_jobproc *p, uint64_t cpu, uint64_t ticks);
/* Add the threads of e to states; returns their number. */
uint32_t bj_proc_add_states(const struct bj_proc *e,
                            uint32_t states[BJ_PROC_STATES]);
/* Sum up processes, threads and states. */
void bj_proc_tally(struct bj_jobproc *p);

/* --- process_detail.c --- */

/* Make the label of an executable, at most BJ_LABEL_MAX bytes, terminated.
 * Different executables have different labels. */
size_t bj_exe_label(struct bj_slice path, char dst[]);
/* Determine the executable that e runs. */
void bj_proc_exe(struct bj_proctab *t, struct bj_jobproc *p, struct bj_proc *e,
                 struct bj_slice comm);
void bj_proc_exe_drop(struct bj_jobproc *p, struct bj_proc *e);
/* Add CPU time that e has used. */
void bj_proc_exe_used(struct bj_jobproc *p, const struct bj_proc *e,
                      uint64_t ticks);
/* End of a pass: assign slots and compute "(other)". */
void bj_proc_exe_settle(const struct bj_proctab *t, struct bj_jobproc *p,
                        uint64_t cgroup_cpu_usec);
void bj_proc_exe_free(struct bj_jobproc *p);

/* The name of e may have changed. */
void bj_proc_extra_name(struct bj_proctab *t, struct bj_proc *e,
                        struct bj_slice comm);
/* e runs another program; root: its real user is root. */
void bj_proc_extra_user(struct bj_proctab *t, struct bj_proc *e, bool root);
/* The stat line of e has changed. */
void bj_proc_extra_line(struct bj_proctab *t, struct bj_proc *e,
                        struct bj_slice line);
void bj_proc_extra_publish(const struct bj_proctab *t,
                           const struct bj_jobproc *p, struct bj_arena *arena,
                           struct bj_job *job);

/* Does st_size of /proc/PID/fd hold the number of open files? */
bool bj_proc_fd_probe(int proc);
void bj_proc_fds(struct bj_proctab *t, struct bj_proc *e);

int bj_places_parse(struct bj_proctab *t, struct bj_err *err);
void bj_places_free(struct bj_proctab *t);
void bj_proc_places(struct bj_proctab *t, struct bj_jobproc *p);

#endif
