/* Common parts of the programs: log options, a file of options in addition to
 * the command line, --help and --version. */
#ifndef BJ_BASE_PROGRAM_H
#define BJ_BASE_PROGRAM_H

#include "base/opt.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_program {
    char *log_level, *log_format;
    /* only on the command line */
    char *file;
    bool version;
    char *help; /* "short", "all"; NULL: not given */
};

/* Their option table; use with a struct bj_program as base. */
extern const struct bj_opt bj_program_opts[];

/* Fill the structures of n sets, including p's own, from all sources: presets,
 * then the YAML file of --config.file, then the command line.  With --help or
 * --version the file is not read.  The previous content of the sets is freed;
 * zeroed structures are fine.  Returns 0, or -errno with a message that names
 * the option, or file and line.  Call bj_opt_free for the sets in any case. */
int bj_program_load(struct bj_program *p, const struct bj_optset *sets,
                    size_t n, int argc, char **argv, struct bj_err *err);

/* Remove --online behind the command check-config (argv[1]): was it there? */
bool bj_program_online(int *argc, char **argv);

/* Print what --help or --version asks for to standard output: help appends the
 * text, all of the options or the short one.  False: neither was requested. */
bool bj_program_print(const struct bj_program *p, const char *name,
                      void (*help)(bool all, struct bj_buf *out));

/* Set up the log from the options (base/log.h). */
void bj_program_log(const struct bj_program *p);

/* Calls for the start of a daemon with one main thread: */

/* Return blocks of this size and more to the kernel when they are freed;
 * otherwise malloc learns to keep them. */
void bj_program_malloc(size_t big_bytes);

/* Raise the limit of open files to its maximum. */
void bj_program_files(void);

/* --- the main thread of a daemon that polls descriptors ------------------- */

struct bj_main {
    int signals;        /* a descriptor to poll for input */
    bool stopping;      /* SIGTERM or SIGINT has arrived */
    uint64_t stop_usec; /* end then, whatever is in progress; boot clock */
    uint64_t watchdog_usec, watchdog_interval; /* next message; 0: none */
};

/* Deliver SIGTERM, SIGINT and SIGHUP through m->signals (signalfd(2)) from now
 * on, and ignore SIGPIPE.  0 or -errno. */
int bj_main_begin(struct bj_main *m, struct bj_err *err);

/* Report to systemd that the daemon serves now, and start its watchdog. */
void bj_main_ready(struct bj_main *m);

/* Read the signals that have arrived.  The first SIGTERM or SIGINT is logged
 * and reported to systemd, and the daemon has farewell_usec to finish; the
 * second one ends that time.  True: SIGHUP has arrived. */
bool bj_main_signals(struct bj_main *m, uint64_t now_usec,
                     uint64_t farewell_usec);

/* Report to the watchdog when it is due.  The earlier of next_usec, the next
 * message and the end, as time for poll(2) in milliseconds; -1: no limit. */
int bj_main_wait(struct bj_main *m, uint64_t next_usec, uint64_t now_usec);

void bj_main_end(struct bj_main *m);

/* --- messages to systemd (sd_notify(3), "Notes": one datagram to the socket in
 * NOTIFY_SOCKET) */

/* Send state ("READY=1"). 0, also without NOTIFY_SOCKET, or -errno. */
int bj_notify(const char *state, struct bj_err *err);

/* Half of the watchdog's interval, from WATCHDOG_USEC if WATCHDOG_PID is unset
 * or this process. 0: no watchdog. */
uint64_t bj_notify_interval(void);

/* Return unused parts of the heap to the kernel: identifying many new jobs
 * leaves holes between blocks that stay.  Also drop pages of code and constants
 * of the program and its libraries, unless under a debugger, whose breakpoints
 * are in such pages.  The kernel reads pages in use from the page cache again;
 * pages that only the dynamic linker, the start and the user database needed
 * are saved: about 1.4 MiB for the libraries of GnuTLS, 7 MiB for those of
 * libcurl.  Other threads may run. */
void bj_trim(void);

#endif
