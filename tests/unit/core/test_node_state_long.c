/* The long and compact words of a node's state in sinfo, compared with the
 * output of Slurm's own library for 901 combinations of base states and flags.
 */
#include "base/err.h"
#include "sched/sinfo.h"
#include "tests/unit/sched/test_sched.h"

#include <ctype.h>

static void check_word(struct bj_slice line, struct bj_slice got,
                       struct bj_slice want)
{
    bool same = got.n == want.n;
    for (size_t i = 0; same && i < got.n; i++)
        same = got.p[i] == tolower((unsigned char)want.p[i]);
    if (!same)
        fail_msg("%.*s: got %.*s", (int)line.n, line.p, (int)got.n, got.p);
}

static void check_line(struct bj_slice line)
{
    char text[BJ_NODE_LONG_BYTES];
    struct bj_slice complete, word, compact = line;
    assert_true(bj_slice_field(&compact, '|', &complete));
    assert_true(bj_slice_field(&compact, '|', &word));
    const struct bj_slurm_node_state s = bj_node_state_parse(complete, 0, 4);
    assert_int_equal(s.unknown, 0);
    check_word(line, bj_node_state_long(s, text), word);
    check_word(line, bj_node_state_compact(s, text), compact);
}

static void same_as_slurm(void **state)
{
    struct bj_slice all = load("tests/fixtures/cluster/node-states.txt");
    struct bj_slice rest = all, line;
    unsigned n = 0;
    (void)state;
    while (bj_slice_line(&rest, &line))
        if (line.n > 0 && line.p[0] != '#') {
            check_line(line);
            n++;
        }
    assert_int_equal(n, 901);
    free((void *)(uintptr_t)all.p);
}

/* Combinations of flags fit into the buffer, also with an invalid base
 * state. */
static void fits_into_the_buffer(void **state)
{
    char text[BJ_NODE_LONG_BYTES];
    (void)state;
    for (unsigned base = 0; base <= BJ_NODE_BASES; base++)
        for (uint32_t f = 0; f < 1u << BJ_NODE_FLAGS; f += 9973) {
            const struct bj_slurm_node_state s = {
                .base = (enum bj_node_base)base, .flags = f};
            assert_in_range(bj_node_state_long(s, text).n, 1, sizeof(text) - 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_slurm),
        cmocka_unit_test(fits_into_the_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
