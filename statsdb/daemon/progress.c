#include "statsdb/daemon/progress.h"

#include "base/log.h"
#include "base/opt_value.h"

#include <stdio.h>
#include <string.h>

enum {
    COMPLETE = 1000,
    WIDTH = 30,
    REDRAW_USEC = 200000,
    LOG_USEC = 30 * 1000000
};
enum { BAR_BYTES = WIDTH + 4 };

/* Estimate the remaining time from the average speed. */
static uint64_t left_sec(const struct bj_progress *p, uint64_t took_usec)
{
    unsigned gained = p->done - p->first;
    if (p->done < p->first || gained == 0)
        return 0;
    return took_usec / gained * (1000 - p->done) / 1000000;
}

/* "[=====>    ] " */
static void put_bar(unsigned done, char bar[BAR_BYTES])
{
    unsigned full = done * WIDTH / 1000;
    *bar++ = '[';
    for (unsigned i = 0; i < WIDTH; i++)
        *bar++ = i < full ? '=' : i == full ? '>' : ' ';
    memcpy(bar, "] ", 3);
}

const char *bj_progress_text(const struct bj_progress *p, uint64_t now_usec,
                             char *buf, size_t cap)
{
    char bar[BAR_BYTES], amount[BJ_AMOUNT_MAX] = "";
    unsigned done = p->done > 1000 ? 1000 : p->done;
    uint64_t took = now_usec - p->begin_usec;
    uint64_t left = left_sec(p, took);
    put_bar(done, bar);
    if (left > 0)
        bj_duration_text(left * 1000000, amount);
    const unsigned long long speed = took ? p->lines * 1000000 / took : 0;
    if (p->terminal)
        snprintf(buf, cap, "%s%3u %%  %llu lines/s%s%s%s  %s", bar, done / 10,
                 speed, left ? "  " : "", amount, left ? " left" : "", p->name);
    else
        snprintf(buf, cap, "%s: %u %% imported, %llu lines/s%s%s%s", p->name,
                 done / 10, speed, left ? ", " : "", amount,
                 left ? " left" : "");
    return buf;
}

void bj_progress_add(struct bj_progress *p, uint64_t lines, unsigned done,
                     uint64_t now_usec)
{
    char text[160];
    const bool was_complete = p->begin_usec != 0 && p->done >= COMPLETE;
    if (was_complete && done >= COMPLETE)
        return;
    if (p->begin_usec == 0 || was_complete) {
        p->begin_usec = p->logged_usec = now_usec;
        p->first = done;
        p->lines = 0;
    }
    p->lines += lines;
    p->done = done;
    const bool completed = done >= COMPLETE && p->first < COMPLETE;
    if (!completed &&
        now_usec - p->logged_usec < (p->terminal ? REDRAW_USEC : LOG_USEC))
        return;
    p->logged_usec = now_usec;
    bj_progress_text(p, now_usec, text, sizeof(text));
    if (!p->terminal) {
        bj_log(BJ_LOG_INFO, NULL, "%s", text);
        return;
    }
    fprintf(stderr, "\r%s\033[K", text);
    p->drawn = true;
}

void bj_progress_clear(struct bj_progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}
