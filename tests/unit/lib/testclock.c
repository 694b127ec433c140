#include "tests/unit/lib/testclock.h"

#include "base/clock.h"
#include "base/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka.h needs the headers above. */
#include <cmocka.h>
#include <errno.h>
#include <time.h>

enum {
    SECOND = 1000000,
    TICK = 1000, /* how late, in real time, a wait notices a set clock */
    PATIENCE = 20 * SECOND,
    THREADS = 64,
};

enum { BOOT, AWAKE, WALL, CLOCKS };

static const clockid_t ids[CLOCKS] = {CLOCK_BOOTTIME, CLOCK_MONOTONIC,
                                      CLOCK_REALTIME};

/* Each clock shows base + the real clock while it runs, base while it is
 * stopped; unsigned arithmetic may wrap. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool stopped;
static uint64_t base[CLOCKS];
static struct {
    bool waiting;
    uint64_t until_usec;
} waits[THREADS];

static uint64_t real(int c)
{
    struct timespec t = {0};
    clock_gettime(ids[c], &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t shown(int c)
{
    return stopped ? base[c] : base[c] + real(c);
}

static uint64_t now(int c)
{
    pthread_mutex_lock(&lock);
    uint64_t usec = shown(c);
    pthread_mutex_unlock(&lock);
    return usec;
}

uint64_t bj_clock_boot_usec(void)
{
    return now(BOOT);
}

uint64_t bj_clock_awake_usec(void)
{
    return now(AWAKE);
}

uint64_t bj_clock_wall_usec(void)
{
    return now(WALL);
}

static int wait_begins(uint64_t until_usec)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < THREADS && waits[i].waiting)
        i++;
    if (i < THREADS) {
        waits[i].waiting = true;
        waits[i].until_usec = until_usec;
    }
    pthread_mutex_unlock(&lock);
    return i;
}

static void wait_ends(int i)
{
    pthread_mutex_lock(&lock);
    if (i < THREADS)
        waits[i].waiting = false;
    pthread_mutex_unlock(&lock);
}

/* Waits in short steps, so that it notices when the clock is set.  Each step
 * ends like a spurious wakeup: the caller checks its condition, which may have
 * become true while this thread waited for the mutex. */
bool bj_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
                   uint64_t when_usec)
{
    int slot = wait_begins(when_usec);
    uint64_t boot = now(BOOT);
    if (when_usec == UINT64_MAX) {
        pthread_cond_wait(cond, mutex);
    } else if (boot < when_usec) {
        uint64_t end = when_usec - boot < TICK ? when_usec - boot : TICK;
        end += real(AWAKE);
        struct timespec ts = {(time_t)(end / SECOND),
                              (long)(end % SECOND) * 1000};
        pthread_cond_timedwait(cond, mutex, &ts);
    }
    wait_ends(slot);
    return boot < when_usec;
}

static void stop(void)
{
    for (int c = 0; !stopped && c < CLOCKS; c++)
        base[c] += real(c);
    stopped = true;
}

void testclock_stop(void)
{
    pthread_mutex_lock(&lock);
    stop();
    pthread_mutex_unlock(&lock);
}

void testclock_set(uint64_t boot_usec, uint64_t wall_usec)
{
    pthread_mutex_lock(&lock);
    stop();
    base[AWAKE] += boot_usec - base[BOOT];
    base[BOOT] = boot_usec;
    base[WALL] = wall_usec;
    pthread_mutex_unlock(&lock);
}

static void forward(uint64_t usec, uint64_t awake_usec)
{
    pthread_mutex_lock(&lock);
    base[BOOT] += usec;
    base[AWAKE] += awake_usec;
    base[WALL] += usec;
    pthread_mutex_unlock(&lock);
}

void testclock_advance(uint64_t usec)
{
    forward(usec, usec);
}

void testclock_suspend(uint64_t usec)
{
    forward(usec, 0);
}

void testclock_set_wall(uint64_t wall_usec)
{
    pthread_mutex_lock(&lock);
    base[WALL] += wall_usec - shown(WALL);
    pthread_mutex_unlock(&lock);
}

static unsigned waiting(uint64_t *earliest)
{
    unsigned n = 0;
    pthread_mutex_lock(&lock);
    uint64_t boot = shown(BOOT);
    *earliest = UINT64_MAX;
    for (int i = 0; i < THREADS; i++)
        if (waits[i].waiting && waits[i].until_usec > boot) {
            n++;
            if (waits[i].until_usec < *earliest)
                *earliest = waits[i].until_usec;
        }
    pthread_mutex_unlock(&lock);
    return n;
}

void testclock_await(unsigned n)
{
    uint64_t earliest, end = real(AWAKE) + PATIENCE;
    while (waiting(&earliest) < n) {
        if (real(AWAKE) > end)
            fail_msg("fewer than %u threads wait", n);
        nanosleep(&(struct timespec){0, TICK * 100}, NULL);
    }
}

uint64_t testclock_deadline(void)
{
    uint64_t earliest;
    waiting(&earliest);
    return earliest;
}

void testclock_run(void)
{
    pthread_mutex_lock(&lock);
    stopped = false;
    for (int c = 0; c < CLOCKS; c++)
        base[c] = 0;
    pthread_mutex_unlock(&lock);
}
