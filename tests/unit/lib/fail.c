#include "tests/unit/lib/fail.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The real functions: those of the sanitizer if there is one, else those of the
 * C library.  dlsym(3) is not used, because it allocates memory. */
#define WEAK __attribute__((weak))
extern void *__interceptor_malloc(size_t n) WEAK;
extern void *__interceptor_calloc(size_t n, size_t size) WEAK;
extern void *__interceptor_realloc(void *p, size_t n) WEAK;
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

enum state { OFF, ARMED, ONCE, FOREVER };

/* Volatile, because compilers assume that malloc changes no variable of its
 * caller. */
static _Thread_local volatile enum state state;
static _Thread_local bool lasting;
static _Thread_local unsigned long left;
static _Thread_local bool ours, paused;

/* bj_fail_everywhere. */
static bool everywhere, everywhere_lasting, everywhere_ours;
static unsigned long everywhere_at;
static atomic_ulong everywhere_count;

/* Addresses of the program's code, set by the linker. */
extern char __executable_start, etext;

/* The sanitizers allocate before they can follow threads and addresses. */
#define UNWATCHED __attribute__((no_sanitize("address", "thread", "undefined")))

/* Does this allocation, called from the address caller, have to fail? */
UNWATCHED static bool fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (paused)
        return false;
    if ((everywhere ? everywhere_ours : ours) &&
        (at < (uintptr_t)&__executable_start || at >= (uintptr_t)&etext))
        return false;
    if (everywhere) {
        unsigned long n = everywhere_count++;
        if (everywhere_lasting ? n < everywhere_at : n != everywhere_at)
            return false;
        errno = ENOMEM;
        return true;
    }
    if (state == ARMED && left-- == 0)
        state = lasting ? FOREVER : ONCE;
    else if (state != FOREVER)
        return false;
    errno = ENOMEM;
    return true;
}

#define REAL(fn) (__interceptor_##fn ? __interceptor_##fn : __libc_##fn)
#define CALLER __builtin_return_address(0)
#define EXPORT UNWATCHED __attribute__((visibility("default")))

EXPORT void *malloc(size_t n)
{
    return fails(CALLER) ? NULL : REAL(malloc)(n);
}

EXPORT void *calloc(size_t n, size_t size)
{
    return fails(CALLER) ? NULL : REAL(calloc)(n, size);
}

EXPORT void *realloc(void *p, size_t n)
{
    return fails(CALLER) ? NULL : REAL(realloc)(p, n);
}

/* The reallocarray of the C library and of the sanitizers does not call the
 * realloc above. */
EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return fails(CALLER) ? NULL : REAL(realloc)(p, bytes);
}

static char *copy(const char *s, size_t n)
{
    char *p = REAL(malloc)(n + 1);
    if (p) {
        memcpy(p, s, n);
        p[n] = '\0';
    }
    return p;
}

EXPORT char *strdup(const char *s)
{
    return fails(CALLER) ? NULL : copy(s, strlen(s));
}

EXPORT char *strndup(const char *s, size_t n)
{
    return fails(CALLER) ? NULL : copy(s, strnlen(s, n));
}

static void arm(unsigned long n, bool forever)
{
    left = n;
    lasting = forever;
    state = ARMED;
}

void bj_fail_after(unsigned long n)
{
    arm(n, false);
}

void bj_fail_from(unsigned long n)
{
    arm(n, true);
}

void bj_fail_own_code(bool only)
{
    ours = only;
}

bool bj_fail_stop(void)
{
    bool failed = state == ONCE || state == FOREVER;
    state = OFF;
    return failed;
}

bool bj_fail_works(void)
{
    bj_fail_after(0);
    void *volatile p = malloc(1);
    bool works = bj_fail_stop() && !p;
    free(p);
    return works;
}

void bj_fail_pause(bool on)
{
    paused = on;
}

void bj_fail_everywhere(unsigned long n, bool forever)
{
    everywhere_at = n;
    everywhere_lasting = forever;
    everywhere_ours = ours;
    everywhere = true;
}

unsigned long bj_fail_count(void)
{
    return everywhere_count;
}

unsigned long bj_fail_each(int (*run)(void *arg), void *arg)
{
    unsigned long n = 0;
    for (int forever = 0; forever < 2; forever++)
        for (n = 0;; n++) {
            arm(n, forever);
            int r = run(arg);
            bool failed = bj_fail_stop();
            assert_int_equal(r, failed ? -ENOMEM : 0);
            if (!failed)
                break;
        }
    return n;
}
