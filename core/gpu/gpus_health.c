/* Which GPU is fit for what (docs/gpu.md, "Health"): from Xid errors, which the
 * driver reports as events and the kernel logs with the process, and from what
 * the driver says of memory. */
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/energy/ledger_state.h"
#include "core/gpu/gpus_impl.h"
#include "core/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SECOND = 1000000,
    INCIDENT_USEC = 60 * SECOND,
    /* An error of a program says nothing of the next program. */
    APPLICATION_USEC = 600 * SECOND,
    /* Errors of a shorter time, at a start, are taken for known. */
    UNWATCHED_USEC = 600 * SECOND,
    RULES_BYTES = 64 << 10,
    RECORD_BYTES = 8192, /* the longest of /dev/kmsg */
    RECORDS = 1000,      /* in a pass */
    NVML_GPU_IS_LOST = 15
};

/* --- options ---------------------------------------------------------------*/

static void read_boot(struct bj_gpus *g)
{
    char buf[sizeof(g->health.boot)];
    struct bj_slice text, word;
    if (bj_file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buf,
                     sizeof(buf), &text, NULL) == 0 &&
        bj_slice_word(&text, &word))
        snprintf(g->health.boot, sizeof(g->health.boot), "%.*s", (int)word.n,
                 word.p);
}

int bj_gpus_health_open(struct bj_gpus *g, struct bj_err *err)
{
    const char *file = g->conf->gpu_xid_file, *log = g->conf->gpu_kernel_log;
    struct bj_slice text = {0};
    char *buf = NULL;
    int r = 0;
    g->health.log = -1;
    read_boot(g);
    if (file && *file) {
        buf = malloc(RULES_BYTES);
        r = buf ? bj_file_read_trusted(AT_FDCWD, file, buf, RULES_BYTES, &text,
                                       err)
                : bj_err_set(err, -ENOMEM, "Xid rules");
    }
    if (r == 0)
        r = bj_gpu_xid_rules_parse(text, &g->health.rules, err);
    free(buf);
    if (r < 0)
        return bj_err_wrap(err, r, "gpu.xid-file");
    if (!log || !*log)
        return 0;
    g->health.log = open(log, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (g->health.log < 0) {
        r = -errno;
        bj_file_fail(err, r, "open", AT_FDCWD, log, R_OK);
        return bj_err_wrap(err, r, "gpu.kernel-log");
    }
    /* From now on: what is older may be of a time before a reset.  The state
     * may say from where on (bj_gpus_log_load). */
    lseek(g->health.log, 0, SEEK_END);
    return 0;
}

void bj_gpus_health_close(struct bj_gpus *g)
{
    if (g->health.log > 0)
        close(g->health.log);
    bj_buf_free(&g->health.written);
}

/* --- Xid errors ------------------------------------------------------------*/

/* Whether a hold may be concerned by an error of a device: it is on it or on an
 * instance of it, now or until the last reading, as an error may end the job.
 */
static bool concerned(const struct bj_gpus *g, const struct bj_gpu_hold *h,
                      size_t dev)
{
    return (h->now || h->had) &&
           (h->dev == dev || g->dev[h->dev].parent == (int)dev);
}

/* The jobs that hold a device, "4711,4712", as they may be concerned. */
static void holders(const struct bj_gpus *g, size_t dev, char *ret, size_t size)
{
    size_t n = 0;
    *ret = '\0';
    for (size_t i = 0; i < g->nholds; i++) {
        const struct bj_gpu_hold *h = &g->hold[i];
        if (!concerned(g, h, dev))
            continue;
        const struct bj_slice id = h->track->ident->f[BJ_ID_JOBID];
        if (n + id.n + 2 > size)
            return;
        n += (size_t)snprintf(ret + n, size - n, "%s%.*s", n > 0 ? "," : "",
                              (int)id.n, id.p);
    }
}

void bj_gpus_fault(struct bj_gpu_fault *to, const struct bj_gpu_fault *from)
{
    if (from->state > to->state ||
        (from->state == to->state && from->by_process && !to->by_process))
        *to = *from;
}

/* Note an error for a job; t NULL: for all that may be concerned. */
static void mark(struct bj_gpus *g, size_t dev, const struct bj_track *t,
                 enum bj_gpu_state state, uint64_t xid)
{
    const struct bj_gpu_fault f = {state, xid, bj_clock_wall_usec() / SECOND,
                                   t != NULL};
    for (size_t i = 0; i < g->nholds; i++)
        if (concerned(g, &g->hold[i], dev) && (!t || g->hold[i].track == t))
            bj_gpus_fault(&g->hold[i].sums.fault, &f);
}

/* Which job: that of the process, if it still exists; else those that hold the
 * device. */
static void name_jobs(struct bj_gpus *g, size_t dev, const struct bj_track *t,
                      bool same)
{
    struct bj_gpu_health *h = &g->dev[dev].health;
    if (t) {
        const struct bj_slice id = t->ident->f[BJ_ID_JOBID];
        snprintf(h->jobs, sizeof(h->jobs), "%.*s", (int)id.n, id.p);
        h->by_process = true;
    } else if (!same || !h->by_process) {
        holders(g, dev, h->jobs, sizeof(h->jobs));
        h->by_process = false;
    }
}

/* An Xid error of a device; pid 0: the process is not known. */
static void health_take(struct bj_gpus *g, const struct bj_core *core,
                        size_t dev, uint64_t xid, uint32_t pid)
{
    struct bj_gpu_health *h = &g->dev[dev].health;
    const enum bj_gpu_state state = bj_gpu_xid_state(&g->health.rules, xid);
    /* A fault shows as several errors within seconds: one incident, named
     * after the first of the worst. */
    const bool same = h->usec != 0 && core->now_usec - h->usec < INCIDENT_USEC;
    const bool worse = state > h->state;
    const struct bj_track *t = pid ? bj_gpus_job_of(g, core, pid) : NULL;
    if (state == BJ_GPU_OK)
        return;
    mark(g, dev, t, state, xid);
    if (!same && state < h->state)
        return; /* a state that is worse stays, with its job */
    name_jobs(g, dev, t, same);
    if (same && !worse)
        return;
    if (state > BJ_GPU_APPLICATION && (!same || h->state <= BJ_GPU_APPLICATION))
        h->incidents++;
    h->state = state;
    h->xid = xid;
    h->usec = core->now_usec;
    h->wall_sec = bj_clock_wall_usec() / SECOND;
    bj_host_log(&g->host, BJ_LOG_WARN, NULL,
                "GPU %s: Xid error %llu (%s)%s%s%s", g->dev[dev].now.uuid,
                (unsigned long long)xid, bj_gpu_states[state],
                *h->jobs ? " of job " : "", h->jobs,
                !*h->jobs       ? ""
                : h->by_process ? ", whose process the kernel names"
                                : ", which held it");
}

/* New events of the driver. */
static void take_events(struct bj_gpus *g, const struct bj_core *core,
                        size_t dev)
{
    struct bj_gpu_dev *d = &g->dev[dev];
    const uint64_t count = d->now.use.xids;
    if (count == BJ_ABSENT)
        return;
    if (count - d->health.events > BJ_GPU_RECENT)
        d->health.events = count > BJ_GPU_RECENT ? count - BJ_GPU_RECENT : 0;
    for (; d->health.events < count; d->health.events++)
        health_take(g, core, dev, d->now.xid[d->health.events % BJ_GPU_RECENT],
                    0);
}

/* The device at the address "0000:65:00" of the log, without a function. */
static size_t device_at(const struct bj_gpus *g, const char *pci)
{
    const size_t n = strlen(pci);
    size_t i = 0;
    while (i < g->n &&
           (g->dev[i].now.parent >= 0 ||
            strncmp(g->dev[i].now.pci, pci, n) != 0 ||
            (g->dev[i].now.pci[n] != '.' && g->dev[i].now.pci[n] != '\0')))
        i++;
    return i;
}

/* Whether a record is new.  Count those that were overwritten before it. */
static bool log_is_new(struct bj_gpus *g, struct bj_slice record)
{
    uint64_t n;
    if (!bj_gpu_log_sequence(record, &n))
        return true;
    if (g->health.numbered && n <= g->health.sequence)
        return false;
    const uint64_t lost = g->health.numbered ? n - g->health.sequence - 1 : 0;
    if (lost > 0 && g->health.lost == 0)
        bj_host_log(&g->host, BJ_LOG_WARN, NULL,
                    "gpu.kernel-log: %llu records were overwritten before they "
                    "were read; errors of GPUs may be missing",
                    (unsigned long long)lost);
    g->health.lost += lost;
    g->health.numbered = true;
    g->health.sequence = n;
    return true;
}

/* New lines of the kernel's log; one read gives one record. */
static void read_log(struct bj_gpus *g, const struct bj_core *core)
{
    char buf[RECORD_BYTES];
    for (int i = 0; g->health.log >= 0 && i < RECORDS; i++) {
        struct bj_gpu_log_xid x;
        ssize_t n = read(g->health.log, buf, sizeof(buf));
        if (n < 0 && errno == EPIPE) /* overwritten: the next number shows it */
            continue;
        if (n <= 0)
            return;
        const struct bj_slice record = {buf, (size_t)n};
        if (!log_is_new(g, record) || !bj_gpu_log_parse(record, &x))
            continue;
        const size_t dev = device_at(g, x.pci);
        if (dev < g->n)
            health_take(g, core, dev, x.xid, x.pid);
    }
}

/* --- states ----------------------------------------------------------------*/

/* Whether all sources of bad states are known to say nothing: Xid errors leave
 * no trace that a program could read later, memory of AMD and Intel does. */
static bool would_know(const struct bj_gpu_dev *d)
{
    const struct bj_gpu_use *u = &d->now.use;
    if (u->recovery != BJ_ABSENT)
        return true;
    return d->kind == BJ_GPU_NVIDIA ? d->health.watched
                                    : u->ecc_uncorrected != BJ_ABSENT;
}

uint64_t bj_gpus_health(const struct bj_gpu_dev *d)
{
    const struct bj_gpu_use *u = &d->now.use;
    enum bj_gpu_state state = d->health.state;
    if (d->now.parent >= 0)
        return BJ_ABSENT;
    if (!d->fresh)
        return state > BJ_GPU_APPLICATION ? state : BJ_ABSENT;
    const struct {
        bool is;
        enum bj_gpu_state state;
    } reports[] = {
        {u->last_error == NVML_GPU_IS_LOST, BJ_GPU_LOST},
        {u->rows_failed == 1, BJ_GPU_DRAIN_NOW},
        {u->rows_pending == 1, BJ_GPU_DRAIN_LATER},
        {u->ecc_uncorrected != BJ_ABSENT && u->ecc_uncorrected > 0,
         BJ_GPU_DEGRADED},
        {u->recovery != BJ_ABSENT, bj_gpu_recovery_state(u->recovery)},
    };
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
        if (reports[i].is && reports[i].state > state)
            state = reports[i].state;
    return state != BJ_GPU_OK || would_know(d) ? state : BJ_ABSENT;
}

/* A device that was away, or whose energy counter began again, has been
 * reset. */
static void health_age(struct bj_gpu_dev *d, uint64_t now_usec)
{
    struct bj_gpu_health *h = &d->health;
    const bool reset = (h->since_usec != 0 && d->since_usec != h->since_usec) ||
                       d->energy.resets != h->resets;
    const bool over = h->state == BJ_GPU_APPLICATION &&
                      now_usec - h->usec >= APPLICATION_USEC;
    if (h->since_usec == 0 && d->since_usec != 0)
        h->watched |= d->since_usec < UNWATCHED_USEC;
    h->since_usec = d->since_usec;
    h->resets = d->energy.resets;
    if (reset || over)
        h->state = BJ_GPU_OK;
    h->watched |= reset;
}

/* A line for each device: UUID, state, Xid error, job, how the job was found,
 * time; "-": unknown or none. */
static void put_lines(const struct bj_gpus *g, struct bj_buf *out)
{
    bj_buf_str(out, "# gpu state xid job evidence time\n");
    for (size_t i = 0; i < g->n; i++) {
        const struct bj_gpu_dev *d = &g->dev[i];
        const struct bj_gpu_health *h = &d->health;
        if (d->now.parent >= 0 || !g->stat[d->kind].running)
            continue;
        const uint64_t state = d->present ? bj_gpus_health(d) : BJ_GPU_LOST;
        bj_buf_printf(out, "%s %s", d->now.uuid,
                      state == BJ_ABSENT ? "unknown" : bj_gpu_states[state]);
        if (h->state == BJ_GPU_OK)
            bj_buf_str(out, " - - - -\n");
        else
            bj_buf_printf(out, " %llu %s %s %llu\n", (unsigned long long)h->xid,
                          *h->jobs ? h->jobs : "-",
                          !*h->jobs       ? "-"
                          : h->by_process ? "process"
                                          : "holder",
                          (unsigned long long)h->wall_sec);
    }
}

static int write_file(const char *path, const struct bj_buf *text)
{
    char name[PATH_MAX];
    if (snprintf(name, sizeof(name), "%s~", path) >= (int)sizeof(name))
        return -ENAMETOOLONG;
    int fd =
        open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text->p, text->len);
    int r = n == (ssize_t)text->len ? 0 : n < 0 ? -errno : -ENOSPC;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(name, path) < 0)
        r = -errno;
    return r;
}

/* Replace the file when a state has changed. */
static void health_write(struct bj_gpus *g)
{
    struct bj_buf text = {0};
    struct bj_err err = {0};
    put_lines(g, &text);
    const bool same = !text.failed && g->health.written.len == text.len &&
                      memcmp(g->health.written.p, text.p, text.len) == 0;
    int r =
        same || text.failed ? 0 : write_file(g->conf->gpu_health_file, &text);
    if (r < 0 && r != g->health.fault)
        bj_host_log(&g->host, BJ_LOG_WARN,
                    (bj_err_set(&err, r, "%s", g->conf->gpu_health_file), &err),
                    "gpu.health-file: not written");
    g->health.fault = r;
    if (r == 0 && !same && !text.failed) {
        bj_buf_free(&g->health.written);
        g->health.written = text;
        return;
    }
    bj_buf_free(&text);
}

/* --- over a restart --------------------------------------------------------*/

void bj_gpus_health_save(const struct bj_gpus *g, struct bj_buf *out)
{
    const uint64_t now = bj_clock_boot_usec();
    if (!*g->health.boot)
        return;
    if (g->health.numbered)
        bj_buf_printf(out, "gpu-log %s %llu\n", g->health.boot,
                      (unsigned long long)g->health.sequence);
    for (size_t i = 0; i < g->n; i++) {
        const struct bj_gpu_health *h = &g->dev[i].health;
        if ((!h->watched && h->state == BJ_GPU_OK && h->incidents == 0) ||
            strpbrk(g->dev[i].now.uuid, " \t\n"))
            continue;
        bj_buf_printf(out, "gpu-health %s %s", g->dev[i].now.uuid,
                      g->health.boot);
        const uint64_t v[] = {now,          h->watched,   h->state,
                              h->xid,       h->usec,      h->wall_sec,
                              h->incidents, h->by_process};
        for (size_t k = 0; k < sizeof(v) / sizeof(v[0]); k++)
            bj_buf_printf(out, " %llu", (unsigned long long)v[k]);
        bj_buf_put(out, " ", 1);
        bj_state_word(out, bj_slice_str(*h->jobs ? h->jobs : "-"));
        bj_buf_put(out, "\n", 1);
    }
}

/* Cut a word and decode it; false: it is missing or too long. */
static bool cut_text(struct bj_slice *line, char *ret, size_t size)
{
    struct bj_slice word;
    if (!bj_slice_word(line, &word) || word.n >= size)
        return false;
    memcpy(ret, word.p, word.n);
    const int n = bj_state_unword(ret, word.n);
    if (n < 0)
        return false;
    ret[n] = '\0';
    return true;
}

static bool is_this_boot(const struct bj_gpus *g, struct bj_slice *line)
{
    struct bj_slice word;
    return bj_slice_word(line, &word) && *g->health.boot &&
           bj_slice_eq(word, bj_slice_str(g->health.boot));
}

void bj_gpus_log_load(struct bj_gpus *g, struct bj_slice line)
{
    struct bj_slice word;
    uint64_t n;
    if (!is_this_boot(g, &line) || !bj_slice_word(&line, &word) ||
        bj_slice_u64(word, &n) < 0 || g->health.log < 0)
        return;
    /* What was written since then, from the oldest record on. */
    lseek(g->health.log, 0, SEEK_SET);
    g->health.numbered = true;
    g->health.sequence = n;
}

void bj_gpus_health_load(const struct bj_gpus *g, struct bj_gpu_dev *d,
                         struct bj_slice line)
{
    enum { SAVED, WATCHED, STATE, XID, USEC, SEC, INCIDENTS, BY_PROCESS, N };
    const uint64_t now = bj_clock_boot_usec();
    uint64_t v[N];
    char jobs[sizeof(d->health.jobs)];
    struct bj_slice word;
    if (!is_this_boot(g, &line))
        return;
    for (int i = 0; i < N; i++)
        if (!bj_slice_word(&line, &word) || bj_slice_u64(word, &v[i]) < 0)
            return;
    if (v[STATE] >= BJ_GPU_STATES || v[SAVED] > now || v[USEC] > now ||
        !cut_text(&line, jobs, sizeof(jobs)))
        return;
    struct bj_gpu_health *h = &d->health;
    /* The log shows what happened between; events of the driver are lost. */
    h->watched |=
        v[WATCHED] && (g->health.log >= 0 || now - v[SAVED] < UNWATCHED_USEC);
    h->incidents += v[INCIDENTS];
    if (v[STATE] <= h->state)
        return;
    h->state = (enum bj_gpu_state)v[STATE];
    h->xid = v[XID];
    h->usec = v[USEC];
    h->wall_sec = v[SEC];
    h->by_process = v[BY_PROCESS] != 0;
    snprintf(h->jobs, sizeof(h->jobs), "%s",
             strcmp(jobs, "-") == 0 ? "" : jobs);
}

void bj_gpus_health_update(struct bj_gpus *g, const struct bj_core *core)
{
    for (size_t i = 0; i < g->n; i++)
        health_age(&g->dev[i], core->now_usec);
    read_log(g, core);
    for (size_t i = 0; i < g->n; i++)
        take_events(g, core, i);
    if (g->conf->gpu_health_file && *g->conf->gpu_health_file)
        health_write(g);
}
