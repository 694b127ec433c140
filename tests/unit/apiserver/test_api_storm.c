/* The fuzz target of the API without libFuzzer: its seeds, unchanged and with
 * changed bytes, several requests at a time, during reloads.  Also runs under
 * the thread sanitizer. */
#include "tests/fuzz/fuzz_api.c"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

enum { SEEDS = 40, INPUT_BYTES = 4000, ROUNDS = 200 };

static struct {
    uint8_t p[INPUT_BYTES];
    size_t n;
} seed[SEEDS];
static unsigned seeds;

/* xorshift64* with a fixed seed. */
static unsigned chance(unsigned below)
{
    static uint64_t x = 88172645463325252u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    return (unsigned)((x * 2685821657736338717u >> 33) % below);
}

static void read_seeds(void)
{
    static const char dir[] = "tests/fuzz/seeds/fuzz_api";
    DIR *d = opendir(dir);
    char name[300];
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) && seeds < SEEDS;) {
        snprintf(name, sizeof(name), "%s/%s", dir, e->d_name);
        int fd = e->d_name[0] == '.' ? -1 : open(name, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, seed[seeds].p, INPUT_BYTES);
        if (fd >= 0)
            close(fd);
        if (n > 0)
            seed[seeds++].n = (size_t)n;
    }
    closedir(d);
}

/* Concatenate some seeds and change a few bytes. */
static size_t make_input(uint8_t *to)
{
    size_t n = 0;
    for (unsigned i = 1 + chance(CLIENTS); i > 0; i--) {
        unsigned k = chance(seeds);
        if (n + seed[k].n + 1 > INPUT_BYTES)
            break;
        memcpy(to + n, seed[k].p, seed[k].n);
        for (unsigned c = chance(4); c > 0; c--)
            to[n + chance((unsigned)seed[k].n)] = (uint8_t)chance(256);
        n += seed[k].n;
        to[n++] = 0xff;
    }
    return n;
}

static void test_storm(void **state)
{
    static uint8_t input[INPUT_BYTES];
    (void)state;
    read_seeds();
    assert_true(seeds > 8);
    for (unsigned i = 0; i < seeds; i++)
        LLVMFuzzerTestOneInput(seed[i].p, seed[i].n);
    for (unsigned i = 0; i < ROUNDS; i++)
        LLVMFuzzerTestOneInput(input, make_input(input));
    assert_true(rig.reloads > 10);
    assert_true(bj_server_free(&rig.server, 20));
    for (int i = 0; i < CLIENTS; i++) {
        free(rig.client[i].response);
        bj_buf_free(&rig.client[i].request);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_storm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
