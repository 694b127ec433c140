/* Rules: a file is refused with a message that begins with its name, or judging
 * jobs with it gives valid numbers, and the same ones twice.  Input that begins
 * with 'r' is also read as a single row. */
#include "statsdb/derive/rule_impl.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

static void facts(double *fact, unsigned seed)
{
    static const double values[] = {0, 1, -1, 15, 100, 1e300, 0.5, 7200};
    for (int i = 0; i < BJ_FACT_COUNT; i++) {
        unsigned n = (seed = seed * 1103515245 + 12345) >> 16;
        fact[i] = n % 9 == 8 ? (double)NAN : values[n % 8];
    }
}

static void row(struct bj_slice in)
{
    const struct bj_threshold set[] = {{BJ_SLICE("t"), 7}};
    struct bj_rule_row r;
    struct bj_err err = {0};
    double fact[BJ_FACT_COUNT], a, b;
    int e = bj_rule_row(in, set, 1, &r, &err);
    MUST(e == 0 || (e == -EINVAL && err.msg[0]));
    for (unsigned i = 0; e == 0 && i < 10; i++) {
        facts(fact, i);
        MUST(!bj_rule_row_holds(&r, fact, &a, &b) || (!isnan(a) && !isnan(b)));
    }
}

static void judge(const struct bj_rules *r, unsigned seed)
{
    double fact[BJ_FACT_COUNT];
    struct bj_rule_match a[BJ_RULES_MAX], b[BJ_RULES_MAX];
    facts(fact, seed);
    const struct bj_rule_job job = {BJ_SLICE("c"), BJ_SLICE("p"),
                                    BJ_SLICE("q")};
    struct bj_rule_facts of[BJ_RULE_WINDOWS + 1] = {{0, fact, NULL}};
    uint32_t windows[BJ_RULE_WINDOWS];
    unsigned kinds = bj_rules_windows(r, windows);
    for (unsigned i = 0; i < kinds; i++)
        of[i + 1] = (struct bj_rule_facts){windows[i], fact, NULL};
    size_t n = bj_rules_judge(r, &job, of, kinds + 1, a, BJ_RULES_MAX);
    MUST(n == 0 || bj_rules_at(r, n - 1));
    MUST(n == bj_rules_judge(r, &job, of, kinds + 1, b, BJ_RULES_MAX));
    for (size_t i = 0; i < n; i++) {
        MUST(a[i].rule == b[i].rule && a[i].rule->enabled);
        MUST(!isnan(a[i].value) && !isnan(a[i].threshold));
        for (size_t k = 0; k < i; k++)
            MUST(strcmp(a[i].rule->name, a[k].rule->name) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    struct bj_slice in = fuzz_exact(data, size, &mem);
    struct bj_rules *r = NULL;
    struct bj_err err = {0};
    if (size > 0 && data[0] == 'r')
        row((struct bj_slice){in.p + 1, in.n - 1});
    int e = bj_rules_text("f", in, &r, &err);
    MUST(e == 0 || (e == -EINVAL && err.code == e && err.msg[0] == 'f'));
    for (unsigned i = 0; e == 0 && i < 8; i++)
        judge(r, i);
    const struct bj_rule *rule;
    for (size_t i = 0; e == 0 && (rule = bj_rules_at(r, i)); i++) {
        MUST(rule->rows > 0 && rule->rows <= BJ_RULE_ROWS && rule->text[0]);
        MUST(rule->name[0] && rule->condition[0]);
    }
    bj_rules_free(r);
    free(mem);
    return 0;
}
