#include "base/program.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/slice.h"
#include "base/version.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define AT(member) offsetof(struct bj_program, member)

const struct bj_opt bj_program_opts[] = {
    {.name = "log.level",
     .kind = BJ_OPT_STR,
     .off = AT(log_level),
     .preset = "info",
     .help = "Least severe level of the lines to log.",
     .more = "Set it to debug to find out why a job is not found.",
     .choices = "debug|info|warn|error"},
    {.name = "log.format",
     .kind = BJ_OPT_STR,
     .off = AT(log_format),
     .preset = "logfmt",
     .help = "Format of log lines.",
     .more = "Lines go to standard error. Set it to json when a log collector "
             "parses them.",
     .choices = "logfmt|json"},
    {.name = "config.file",
     .kind = BJ_OPT_STR,
     .off = AT(file),
     .arg = "FILE",
     .help =
         "YAML file with the same options. The command line takes precedence.",
     .more = "Nested keys are joined by dots."},
    {.name = "version",
     .kind = BJ_OPT_BOOL,
     .off = AT(version),
     .preset = "false",
     .help = "Print the version and exit. Short form: -V."},
    {.name = "help",
     .kind = BJ_OPT_STR,
     .off = AT(help),
     .choices = "short|all",
     .bare = "short",
     .help = "Print the options and exit; all: with those rarely needed. Short "
             "form: -h."},
    {.name = NULL},
};

static int program_read_file(const struct bj_program *p,
                             const struct bj_optset *sets, size_t n,
                             const char *path, struct bj_err *err)
{
    if (access(path, R_OK) < 0)
        return bj_file_fail(err, -errno, "config.file:", AT_FDCWD, path, R_OK);
    int r = bj_opt_yaml(sets, n, path, err);
    if (r == 0 && (p->file || p->help || p->version))
        r = bj_err_set(
            err, -EINVAL,
            "%s: config.file, help and version are valid only on the "
            "command line",
            path);
    return r;
}

/* All sources in turn; path may be NULL. */
static int apply(const struct bj_program *p, const struct bj_optset *sets,
                 size_t n, const char *path, int argc, char **argv,
                 struct bj_err *err)
{
    int r = 0;
    for (size_t i = 0; i < n; i++)
        bj_opt_free(&sets[i]);
    for (size_t i = 0; i < n && r == 0; i++)
        r = bj_opt_presets(&sets[i], err);
    if (r == 0 && path)
        r = program_read_file(p, sets, n, path, err);
    if (r == 0)
        r = bj_opt_argv(sets, n, argc, argv, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = bj_opt_finish(&sets[i], err);
    return r;
}

int bj_program_load(struct bj_program *p, const struct bj_optset *sets,
                    size_t n, int argc, char **argv, struct bj_err *err)
{
    /* The first round finds the name of the file. */
    int r = apply(p, sets, n, NULL, argc, argv, err);
    if (r < 0 || p->help || p->version || !p->file)
        return r;
    char *path = p->file;
    p->file = NULL;
    r = apply(p, sets, n, path, argc, argv, err);
    free(path);
    return r;
}

bool bj_program_online(int *argc, char **argv)
{
    int n = 0;
    for (int i = 0; i < *argc; i++)
        if (i < 2 || strcmp(argv[i], "--online") != 0)
            argv[n++] = argv[i];
    bool found = n < *argc;
    *argc = n;
    return found;
}

bool bj_program_print(const struct bj_program *p, const char *name,
                      void (*help)(bool all, struct bj_buf *out))
{
    struct bj_buf out = {0};
    if (p->help)
        help(strcmp(p->help, "all") == 0, &out);
    else if (p->version)
        bj_buf_printf(&out, "%s %s (%s)\n", name, bj_version, bj_revision);
    else
        return false;
    fwrite(out.p, 1, out.len, stdout);
    bj_buf_free(&out);
    return true;
}

void bj_program_log(const struct bj_program *p)
{
    enum bj_log_level level = BJ_LOG_INFO;
    enum bj_log_format format = BJ_LOG_LOGFMT;
    bj_log_level_parse(p->log_level, &level);
    bj_log_format_parse(p->log_format, &format);
    bj_log_setup(level, format);
}

void bj_program_malloc(size_t big_bytes)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, (int)big_bytes);
    mallopt(M_TRIM_THRESHOLD, (int)big_bytes);
}

void bj_program_files(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == l.rlim_max)
        return;
    l.rlim_cur = l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
}

/* --- messages to systemd ---------------------------------------------------*/

int bj_notify(const char *state, struct bj_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct bj_slice path = bj_slice_str(secure_getenv("NOTIFY_SOCKET"));
    if (path.n == 0)
        return 0;
    if (path.n >= sizeof(a.sun_path) || (path.p[0] != '/' && path.p[0] != '@'))
        return bj_err_set(err, -EINVAL, "NOTIFY_SOCKET is not a path");
    memcpy(a.sun_path, path.p, path.n);
    if (path.p[0] == '@')
        a.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return bj_err_set(err, -errno, "socket for NOTIFY_SOCKET");
    socklen_t len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n);
    int r = 0;
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&a,
               len) < 0)
        r = bj_err_set(err, -errno, "send to %s", path.p);
    close(fd);
    return r;
}

uint64_t bj_notify_interval(void)
{
    struct bj_slice usec = bj_slice_str(secure_getenv("WATCHDOG_USEC"));
    struct bj_slice pid = bj_slice_str(secure_getenv("WATCHDOG_PID"));
    uint64_t v = 0, whose = (uint64_t)getpid();
    if (bj_slice_u64(usec, &v) < 0 ||
        (pid.n > 0 && bj_slice_u64(pid, &whose) < 0) ||
        whose != (uint64_t)getpid())
        return 0;
    return v / 2;
}

/* --- the main thread -------------------------------------------------------*/

int bj_main_begin(struct bj_main *m, struct bj_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    *m = (struct bj_main){.signals =
                              signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    return m->signals < 0 ? bj_err_set(err, -errno, "signalfd") : 0;
}

static void main_notify(const char *state)
{
    struct bj_err err = {0};
    if (bj_notify(state, &err) < 0)
        bj_log(BJ_LOG_WARN, &err, "cannot send '%s' to systemd", state);
}

void bj_main_ready(struct bj_main *m)
{
    m->watchdog_interval = bj_notify_interval();
    m->watchdog_usec = m->watchdog_interval ? bj_clock_boot_usec() : 0;
    main_notify("READY=1");
}

bool bj_main_signals(struct bj_main *m, uint64_t now_usec,
                     uint64_t farewell_usec)
{
    struct signalfd_siginfo info;
    bool reload = false;
    while (read(m->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            reload = true;
        } else if (m->stopping) {
            m->stop_usec = now_usec;
        } else {
            bj_log(BJ_LOG_INFO, NULL, "stopping on signal %u", info.ssi_signo);
            main_notify("STOPPING=1");
            m->stopping = true;
            m->stop_usec = now_usec + farewell_usec;
        }
    }
    return reload;
}

int bj_main_wait(struct bj_main *m, uint64_t next_usec, uint64_t now_usec)
{
    if (m->watchdog_usec && m->watchdog_usec <= now_usec) {
        main_notify("WATCHDOG=1");
        m->watchdog_usec = now_usec + m->watchdog_interval;
    }
    if (m->watchdog_usec && m->watchdog_usec < next_usec)
        next_usec = m->watchdog_usec;
    if (m->stopping && m->stop_usec < next_usec)
        next_usec = m->stop_usec;
    uint64_t ms =
        next_usec > now_usec ? (next_usec - now_usec + 999) / 1000 : 0;
    return next_usec == UINT64_MAX ? -1 : ms > INT_MAX ? INT_MAX : (int)ms;
}

void bj_main_end(struct bj_main *m)
{
    if (m->signals >= 0)
        close(m->signals);
    m->signals = -1;
}

/* --- memory ----------------------------------------------------------------*/

/* Pages of a library whose constants and code are as in its file.  Relocations
 * in code would make them differ; such libraries are rare, but recognizable. */
static bool relocates_code(const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + p->p_vaddr);
        for (; d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_TEXTREL ||
                (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
                return true;
    }
    return false;
}

static int program_forget(struct dl_phdr_info *info, size_t size, void *ctx)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    (void)ctx;
    if (relocates_code(info))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || p->p_flags & PF_W)
            continue;
        uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);
        uintptr_t to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        madvise((void *)from, to - from, MADV_DONTNEED);
    }
    return 0;
}

static bool is_traced(void)
{
    char buf[8192];
    struct bj_slice rest, line;
    if (bj_file_read(AT_FDCWD, "/proc/self/status", buf, sizeof(buf), &rest,
                     NULL) < 0)
        return true;
    while (bj_slice_line(&rest, &line))
        if (bj_slice_starts(line, BJ_SLICE("TracerPid:")))
            return !bj_slice_eq(line, BJ_SLICE("TracerPid:\t0"));
    return true;
}

void bj_trim(void)
{
    malloc_trim(0);
    if (!is_traced())
        dl_iterate_phdr(program_forget, NULL);
}
