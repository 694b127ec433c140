#include "core/host.h"

#include "base/clock.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    STACK_BYTES = 256 * 1024,
    REPEATS_USEC = 60 * 1000000,
    LINE_BYTES = 1400,
};

void bj_host_log(const struct bj_host *host, enum bj_log_level level,
                 const struct bj_err *err, const char *fmt, ...)
{
    char line[LINE_BYTES], text[400];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (err && n >= 0 && (size_t)n < sizeof(line))
        snprintf(line + n, sizeof(line) - (size_t)n, ": %s",
                 bj_err_text(err, text, sizeof(text)));
    host->log(host->ctx, level, line);
}

static int host_thread(void *ctx, pthread_t *ret, void *(*fn)(void *),
                       void *arg, const char *name)
{
    char cut[16]; /* the kernel's limit */
    (void)ctx;
    int r = bj_thread_create(ret, STACK_BYTES, fn, arg);
    if (r < 0)
        return r;
    snprintf(cut, sizeof(cut), "%s", name);
    pthread_setname_np(*ret, cut);
    return 0;
}

static void host_log(void *ctx, enum bj_log_level level, const char *msg)
{
    struct bj_log_repeats *f = ctx;
    uint64_t now = bj_clock_boot_usec();
    pthread_mutex_lock(&f->lock);
    bool same = f->last[0] && strncmp(f->last, msg, sizeof(f->last) - 1) == 0;
    if (same && now - f->since_usec < REPEATS_USEC) {
        f->repeats++;
    } else {
        if (f->repeats > 0)
            bj_log(f->level, NULL, "%s (repeated %" PRIu64 " times)", f->last,
                   f->repeats);
        bj_log(level, NULL, "%s", msg);
        snprintf(f->last, sizeof(f->last), "%s", msg);
        f->level = level;
        f->since_usec = now;
        f->repeats = 0;
    }
    pthread_mutex_unlock(&f->lock);
}

struct bj_host bj_host_make(struct bj_log_repeats *repeats)
{
    return (struct bj_host){repeats, host_thread, host_log,
                            bj_log_wants(BJ_LOG_DEBUG)};
}
