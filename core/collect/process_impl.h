/* What process*.c share.  Only they and their tests include this. */
#ifndef BJ_CORE_COLLECT_PROCESS_IMPL_H
#define BJ_CORE_COLLECT_PROCESS_IMPL_H

#include "base/text.h"
#include "core/collect/process.h"
#include "core/collect/process_run.h"
#include "core/collect/procstat.h"

#include <sys/types.h>

enum {
    BJ_PROC_STATES = 12,
    BJ_PROC_NO_EXE = UINT16_MAX,
    BJ_PROC_NO_CPU = -1,
    BJ_PROC_FDS_UNKNOWN = -1,
    BJ_STAT_BYTES = 1024, /* 52 numbers and a name of at most 64 bytes */
};

/* Fields of /proc/PID/io, in the order of the file. */
enum bj_procio_field {
    BJ_PROCIO_RCHAR,
    BJ_PROCIO_WCHAR,
    BJ_PROCIO_SYSCR,
    BJ_PROCIO_SYSCW,
    BJ_PROCIO_READ_BYTES,
    BJ_PROCIO_WRITE_BYTES,
    BJ_PROCIO_CANCELLED,
    BJ_PROCIO_FIELDS
};

/* --- process_stat.c: parsing --- */

/* Parse /proc/PID/io: 0, or -EINVAL when one of the fields is not there. */
int bj_procio_parse(struct bj_slice text, uint64_t ret[BJ_PROCIO_FIELDS]);

/* A hash that shows whether text has changed. */
uint64_t bj_proc_hash(struct bj_slice s);

/* --- the kept state --- */

/* Whether a thread may be left alone: see process_quiet.c. */
struct bj_quiet {
    int fd;        /* kept schedstat; -1: none */
    uint32_t base; /* hash of what it said at the last read */
    uint8_t calm;  /* reads in a row without a change */
    uint8_t need;  /* unchanged reads that are required */
    uint8_t busy;  /* reads in a row with one, while on */
    bool on;       /* schedstat shows whether to read at all */
    bool ran;      /* since the read before (what a probe found) */
};

struct bj_thread {
    uint64_t ticks; /* utime + stime as counted (per-core estimate only) */
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
    bool no_user; /* it is of root, or the shell of the batch script */
    char name[BJ_LABEL_MAX + 1];
};

/* A process of the job, or one that was of it and is not reaped yet. */
struct bj_proc {
    uint64_t start_ticks; /* identifies it, with pid.  0: not read yet */
    uint64_t line;        /* hash of its stat line */
    uint64_t stack;       /* start of its stack: another one after an exec */
    uint64_t ticks;       /* utime + stime, counted so far */
    uint64_t alone_ticks; /* ... while it had one thread */
    uint64_t io[BJ_PROCIO_FIELDS];     /* counted so far */
    uint64_t io_now[BJ_PROCIO_FIELDS]; /* valid when io_fresh */
    uint64_t io_usec;                  /* when it was read; 0: never */
    uint64_t due_usec;                 /* batch: when to read it again */
    uint64_t full_usec;                /* when its stat line was read */
    struct bj_quiet quiet;
    struct bj_proc_extra *extra; /* NULL: not needed, or no memory */
    struct bj_thread *threads; /* all but the leader (all: per-core estimate) */
    struct bj_procguard *held; /* the kernel holds a read of it; NULL: no */
    uint32_t nthreads;
    uint32_t nr_threads; /* from its stat line */
    uint32_t list_no;    /* of the last list that named it */
    uint32_t comm;       /* hash of its name */
    uint32_t debt; /* index + 1 in bj_proctab.debts; 0: nothing to subtract */
    int32_t pid;   /* 0: removed */
    int32_t ppid;
    int dir, stat, io_fd, fd_dir; /* kept; -1: not */
    int32_t open_fds;
    int16_t cpu;
    uint16_t exe;   /* index in bj_jobproc.exes */
    uint8_t missed; /* lists in a row that did not name it */
    uint8_t io_reads;
    char state;
    bool batch;   /* a process of the batch system: slurmstepd */
    bool counted; /* in seen */
    bool changed; /* its stat line, since the read before */
    bool recheck; /* its parent may be another one now */
    bool io_fresh, io_known;
    bool io_due;   /* its stat line has changed since its counters were read */
    bool io_stale; /* it may have run since then */
    bool reaps_self; /* its children are not waited for (SIGCHLD ignored) */
    bool adopts;     /* it has been seen to adopt orphans */
    bool denied;     /* a fault of it has been counted */
    bool io_denied, fds_denied;
};

/* A directory of the job's cgroup.  The first one is the job's own. */
struct bj_procdir {
    char *rel; /* path below the first one; "" is itself */
    uint64_t nlink, mtime_nsec, ctime_nsec; /* when its children were listed */
    int fd, procs;                          /* kept; -1: not */
    uint32_t pids;                          /* in it, at the last reading */
    bool inner;                             /* it has children */
    bool threaded; /* its processes show in a directory above */
};

struct bj_exe {
    char *label;
    uint64_t ticks;      /* slot: of it since it got the slot; else: so far */
    uint64_t pass_ticks; /* of it in this pass */
    uint32_t hash;       /* of the label */
    uint32_t refs;       /* processes that run it */
    bool slot;
};

/* A process that has ended. */
struct bj_dead {
    uint64_t start_ticks;
    uint64_t io[BJ_PROCIO_FIELDS];
    int32_t pid, ppid;
};

/* The part of a process's I/O counters that has been counted for its
 * children. */
struct bj_debt {
    uint64_t io[BJ_PROCIO_FIELDS];
    uint64_t loose[BJ_PROCIO_FIELDS]; /* of that, the part that may be in
                                         another ancestor */
};

/* A named place; several may have one name. */
struct bj_place {
    struct bj_slice path; /* without slash at its end; "" is the root */
    size_t label;         /* index of the first one with its name */
    char *name, *text;    /* clean; what path points to */
};

struct bj_proctab {
    const struct bj_conf *conf;
    struct bj_fdpool *pool;
    int proc;    /* conf->procfs */
    int tmp_dir; /* of process tmp_pid, until the next one; -1: none */
    int32_t tmp_pid;
    uint64_t hz, now_usec;
    uint64_t left, threads_left, links_left; /* budget of this pass */
    uint64_t refused, faults;
    bool detail, percore; /* what to collect */
    bool schedstat;       /* the kernel has it */
    bool fd_size;         /* the kernel has the number of open files in
                             st_size */
    bool hidden;          /* hidepid: processes of other users are invisible */
    struct bj_place *places;
    size_t nplaces;
    struct bj_procthread *thread; /* NULL: the caller's */
    /* Scratch of one update. */
    struct bj_procguard *guard; /* of the thread that runs it; NULL: none */
    struct bj_err *err;
    int fault;
    char *buf;
    size_t cap;
    struct bj_debt *debts;
    size_t ndebts, debts_cap;
    uint64_t *links; /* hashes of open files seen, see process_place.c */
    size_t nlinks, links_cap;
};

struct bj_jobproc {
    char *path;
    uint64_t ino; /* of path */
    bool v2, percore;
    bool exact;      /* the file system's nlink counts directories */
    bool complete;   /* the last list was complete */
    bool has_values; /* that can be published */
    bool io_known, fds_known, places_known;
    bool io_denied; /* one of them may not be read: the sum is too small */
    bool orphans;  /* a process has ended: others may have another parent now */
    unsigned held; /* processes of which the kernel holds a read */
    /* process_list.c */
    struct bj_procdir *dirs;
    size_t ndirs;
    uint64_t walk_usec, list_usec, inner_usec;
    uint32_t list_no;
    size_t alive, unread;
    uint64_t room; /* processes that the budget leaves for it now */
    /* process_table.c */
    struct bj_proc *v;
    size_t n, cap;
    uint32_t *slots; /* hash table of index + 1 in v */
    size_t nslots;
    size_t buried; /* entries of v that are to go */
    /* process_io.c: processes that ended since the totals were updated */
    struct bj_dead *dead;
    size_t ndead, dead_cap, dead_sorted;
    /* process_exe.c */
    struct bj_exe *exes;
    uint16_t *order; /* those with a slot, by label */
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

/* Whether it is a process of the job now: not one of the batch system, and
 * not moved to another cgroup. */
static inline bool bj_proc_counts(const struct bj_proc *e)
{
    return e->pid != 0 && e->start_ticks != 0 && !e->batch &&
           (e->missed < 2 || e->state == 'Z');
}

/* --- process_keep.c: faults and kept descriptors --- */

/* Count a fault; the first one of an update becomes its result.  Gone codes
 * are none.  Returns code. */
int bj_proc_fault(struct bj_proctab *t, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* The same, once in the life of a process. */
int bj_proc_fault_once(struct bj_proctab *t, struct bj_proc *e, int code,
                       const char *what);

/* Less than eighths/8 of the pool are used. */
bool bj_proc_room(const struct bj_proctab *t, unsigned eighths);

/* Keep a descriptor while there is room, so that one job's threads leave some
 * for other jobs' files.  retry: it was refused before and is not counted
 * again. */
int bj_proc_keep(struct bj_proctab *t, int dirfd, const char *name, int flags,
                 unsigned eighths, bool retry);

/* --- process_table.c: pid to process --- */

struct bj_proc *bj_proc_find(const struct bj_jobproc *p, int32_t pid);
/* Add one; NULL when memory is out.  Pointers to others become invalid. */
struct bj_proc *bj_proc_add(struct bj_jobproc *p, int32_t pid);
/* It has ended: note its I/O among those of ended processes, close and free
 * what it holds. Its place in v stays empty until bj_proc_sweep. */
void bj_proc_bury(struct bj_proctab *t, struct bj_jobproc *p,
                  struct bj_proc *e);
void bj_proc_sweep(struct bj_jobproc *p);
/* Remove all without noting their I/O. */
void bj_proc_clear(struct bj_proctab *t, struct bj_jobproc *p);

/* --- process_list.c: which processes --- */

/* Bring the list of processes up to date: entries of p->v that are listed get
 * its list_no, new ones are added.  A list younger than a second is taken as
 * it is unless force is set.  1: new list, 0: the old one; a gone code when
 * the job's directory has gone.  Other faults are counted and make the list
 * incomplete. */
int bj_proc_list(struct bj_proctab *t, struct bj_jobproc *p, bool force);
void bj_proc_list_free(struct bj_proctab *t, struct bj_jobproc *p);

/* --- process_dir.c: the /proc directory of a process --- */

/* The kept directory, or one that stays open until that of another process is
 * needed.  -errno; -ESRCH when the process has ended. */
int bj_proc_dir(struct bj_proctab *t, struct bj_proc *e);
/* The same; unless sure, it may belong to a process that got the pid since. */
int bj_proc_dir_any(struct bj_proctab *t, struct bj_proc *e, bool sure);
/* Close the directory that is open for now. */
void bj_proc_dir_done(struct bj_proctab *t);

/* --- process_table.c: processes of which the kernel holds a read --- */

/* Forget that it is held. */
void bj_proc_released(struct bj_jobproc *p, struct bj_proc *e);

/* --- process_read.c: one process --- */

/* Read it, unless it has slept since the last read. 0; -ESRCH or another
 * gone code when it has ended; a fault. */
int bj_proc_read(struct bj_proctab *t, struct bj_jobproc *p, struct bj_proc *e);
/* Only whether it still exists, as a zombie or alive. */
bool bj_proc_there(struct bj_proctab *t, struct bj_proc *e);

/* --- process_quiet.c: not reading what sleeps --- */

void bj_quiet_init(struct bj_quiet *q);
void bj_quiet_drop(struct bj_proctab *t, struct bj_quiet *q);
/* Before a read, if q is on: set q->ran.  A gone code when it has ended. */
int bj_quiet_probe(struct bj_proctab *t, struct bj_quiet *q);
/* Before a read, if q is off: switch it on when the thread has slept for
 * long enough. name is that of its schedstat below dir. */
bool bj_quiet_wants(const struct bj_proctab *t, const struct bj_quiet *q);
void bj_quiet_arm(struct bj_proctab *t, struct bj_quiet *q, int dir,
                  const char *name);
/* After a read. still: it found no change and the thread not running. */
void bj_quiet_after(struct bj_proctab *t, struct bj_quiet *q, bool still,
                    bool running);

/* --- process_state.c: threads and their states --- */

extern const struct bj_slice bj_proc_state_name[BJ_PROC_STATES]; /* sorted */
/* Index of a state letter. */
unsigned bj_proc_state(char letter);
/* Check whether the quiet threads have run; true when any has, or when not all
 * are quiet. */
bool bj_proc_threads_probe(struct bj_proctab *t, struct bj_proc *e);
/* Read all that may have run since the last read. */
void bj_proc_threads(struct bj_proctab *t, struct bj_jobproc *p,
                     struct bj_proc *e);
/* All but the leader are quiet. */
bool bj_proc_threads_quiet(const struct bj_proc *e);
void bj_proc_threads_drop(struct bj_proctab *t, struct bj_proc *e);
/* Count the time of a thread on the CPU of its field 39. */
void bj_proc_core(struct bj_jobproc *p, uint64_t cpu, uint64_t ticks);
/* Add the threads of e to states; returns their number. */
uint32_t bj_proc_add_states(const struct bj_proc *e,
                            uint32_t states[BJ_PROC_STATES]);
/* Sum up processes, threads and states. */
void bj_proc_tally(struct bj_jobproc *p);

/* --- process_exe.c: CPU time by executable --- */

/* The label of an executable, at most BJ_LABEL_MAX bytes, terminated.  Two
 * different ones have different labels. */
size_t bj_exe_label(struct bj_slice path, char dst[]);
/* Find out what e runs. */
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

/* --- process_extra.c: values of processes that only dialects report --- */

/* Its name may have changed. */
void bj_proc_extra_name(struct bj_proctab *t, struct bj_proc *e,
                        struct bj_slice comm);
/* It runs another program; whether its real user is root. */
void bj_proc_extra_user(struct bj_proctab *t, struct bj_proc *e, bool root);
/* Its stat line has changed. */
void bj_proc_extra_line(struct bj_proctab *t, struct bj_proc *e,
                        struct bj_slice line);
void bj_proc_extra_publish(const struct bj_proctab *t,
                           const struct bj_jobproc *p, struct bj_arena *arena,
                           struct bj_job *job);

/* --- process_io.c --- */

/* Read what is due and add to the job's totals. */
void bj_proc_io(struct bj_proctab *t, struct bj_jobproc *p);

/* --- process_fd.c: open files --- */

/* Whether the kernel has their number in st_size. */
bool bj_proc_fd_probe(int proc);
void bj_proc_fds(struct bj_proctab *t, struct bj_proc *e);

/* --- process_place.c: open files by named place --- */

int bj_places_parse(struct bj_proctab *t, struct bj_err *err);
void bj_places_free(struct bj_proctab *t);
void bj_proc_places(struct bj_proctab *t, struct bj_jobproc *p);

/* --- process_dents.c: entries of a directory --- */

/* Reading a directory without allocating.  Use: bj_dents_next until NULL. */
struct bj_dents {
    int fd;
    int error; /* 0 or -errno, when next gave NULL */
    long n, at;
    char buf[4096] __attribute__((aligned(8)));
};
/* As the kernel gives it (getdents64(2)). */
struct bj_dent {
    uint64_t ino;
    int64_t off;
    unsigned short reclen;
    unsigned char type; /* DT_... */
    char name[];
};
/* fd is at its start and stays the caller's. */
void bj_dents_init(struct bj_dents *d, int fd);
/* The next entry, "." and ".." left out; NULL at the end or on error. */
const struct bj_dent *bj_dents_next(struct bj_dents *d);

#endif
