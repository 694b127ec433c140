/* The ledger's state: what continues after a restart, and what is refused. */
#include "core/energy/ledger_state.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/ledger_room.h"

#define HERE BJ_SLICE("0a4b9a3e-8d5c-4d0a-9d8b-2f4b8a0c7a11")
#define THERE BJ_SLICE("5e3f1c00-1b7d-4a43-8f2e-6a0d1e9c4b22")
#define ZONES BJ_SLICE("rapl package-0 12 34\nrapl dram-0 56 78\n")

static struct bj_buf save(const struct room *r, struct bj_slice extra)
{
    struct bj_buf text = {0};
    bj_ledger_save(r->l, HERE, extra, &text);
    assert_false(text.failed);
    return text;
}

static struct bj_slice slice(const struct bj_buf *b)
{
    return (struct bj_slice){b->p, b->len};
}

/* A new process: r continues from text. */
static bool restart(struct room *r, struct bj_slice text, struct bj_slice boot)
{
    struct room fresh = room_of(0);
    struct bj_slice extra;
    struct bj_err err = {0};
    bool same;
    int code = bj_ledger_load(fresh.l, text, boot, &extra, &same, &err);
    if (code != 0)
        print_error("%s\n", err.msg);
    assert_int_equal(code, 0);
    bj_ledger_free(r->l);
    r->l = fresh.l;
    bj_ledger_sums(r->l, &r->s);
    return same;
}

/* A ledger with something in every place. */
static struct room lived(void)
{
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "slurm/4711#99", true);
    struct bj_account *b = job(&r, "odd key \xff%\n", false);
    job(&r, "", true);
    r.t.total_uj[BJ_ENERGY_DRAM] = 0;
    r.t.mem_bytes = 50 * GIB;
    node(&r, 0);
    tick(&r, 0, 0, 0);
    for (uint64_t i = 1; i < 12; i++) {
        use(a, 3 * i, 4);
        use(b, i, NONE);
        bj_account_gpu(a, 1000 * i);
        r.t.total_uj[BJ_ENERGY_DRAM] += 77 * J + i;
        if (i % 3 == 0)
            node(&r, i % 2 ? 900 * J : 100 * J);
        tick(&r, 10, 123 * J + i, 5);
        if (i == 8)
            bj_account_close(b);
    }
    return r;
}

/* Saved, loaded and saved again it is the same text. */
static void round_trip(void **state)
{
    (void)state;
    struct room r = lived();
    struct bj_ledger_sums before = r.s;
    struct bj_buf one = save(&r, ZONES);
    assert_true(restart(&r, slice(&one), HERE));
    assert_memory_equal(&before, &r.s, sizeof(before));
    struct bj_buf two = save(&r, ZONES);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.p, two.p, one.len);
    bj_buf_free(&one);
    bj_buf_free(&two);
    leave(&r);
}

static void extra_lines(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {{"", ""},
                 {"a\nb\n", "a\nb\n"},
                 {"a\nb", "a\nb\n"},
                 {"sum 0123456789abcdef\n", "sum 0123456789abcdef\n"},
                 {"\n\n", "\n\n"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct room r = room_of(0), fresh = room_of(0);
        struct bj_buf text = save(&r, bj_slice_str(cases[i].in));
        struct bj_slice extra;
        bool same;
        assert_int_equal(
            bj_ledger_load(fresh.l, slice(&text), HERE, &extra, &same, NULL),
            0);
        assert_true(bj_slice_eq(extra, bj_slice_str(cases[i].out)));
        bj_buf_free(&text);
        leave(&r);
        leave(&fresh);
    }
}

/* The state goes behind what the buffer has. */
static void appended(void **state)
{
    (void)state;
    struct room r = lived(), fresh = room_of(0);
    struct bj_buf text = {0};
    struct bj_slice extra;
    bool same;
    bj_buf_str(&text, "in front");
    bj_ledger_save(r.l, HERE, ZONES, &text);
    struct bj_slice s = {text.p + 8, text.len - 8};
    assert_int_equal(bj_ledger_load(fresh.l, s, HERE, &extra, &same, NULL), 0);
    bj_buf_free(&text);
    leave(&r);
    leave(&fresh);
}

/* --- going on ------------------------------------------------------------- */

/* A gap of 100 s: A was there before and after, B ended in it, C began in it.
 * Its energy follows use; A and C are flagged. */
static void same_boot(void **state)
{
    (void)state;
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "a", true), *b = job(&r, "b", true);
    use(a, 0, 5);
    use(b, 0, 5);
    tick(&r, 0, 0, 0);
    use(a, 5, 5);
    use(b, 5, 5);
    tick(&r, 10, 1000 * J, 10);
    assert_int_equal(cpu(a, BJ_USAGE), 500 * J);
    struct bj_buf text = save(&r, ZONES);
    assert_true(restart(&r, slice(&text), HERE));
    assert_int_equal(r.s.tick_usec, 10 * SEC);
    a = job(&r, "a", false);
    struct bj_account *c = job(&r, "c", true);
    assert_int_equal(cpu(a, BJ_USAGE), 500 * J);
    use(a, 25, 5);
    use(c, 10, 5);
    tick(&r, 100, 4000 * J, 40);
    assert_int_equal(cpu(a, BJ_USAGE), 500 * J + 2000 * J);
    assert_int_equal(cpu(c, BJ_USAGE), 1000 * J);
    assert_int_equal(r.s.system_uj[BJ_USAGE][BJ_ENERGY_CPU], 1000 * J);
    assert_true(bj_account_flagged(a) && bj_account_flagged(c));
    struct bj_account *d = job(&r, "d", true);
    use(d, 1, 1);
    tick(&r, 10, 100 * J, 1);
    assert_false(bj_account_flagged(d));
    struct bj_slice key;
    b = bj_ledger_asleep(r.l, &key);
    assert_true(b && bj_slice_eq(key, BJ_SLICE("b")));
    assert_int_equal(cpu(b, BJ_USAGE), 500 * J);
    assert_false(bj_account_flagged(b));
    bj_buf_free(&text);
    leave(&r);
}

/* An account that is not opened keeps its energy until the caller has made the
 * record of its job and drops it, however long that takes. */
static void sleepers(void **state)
{
    (void)state;
    struct room r = lived();
    struct bj_buf text = save(&r, ZONES);
    struct bj_slice key;
    restart(&r, slice(&text), HERE);
    uint64_t had = r.s.taken_uj[BJ_ENERGY_CPU];
    tick(&r, 500, 0, 0);
    for (int i = 0; i < 4; i++)
        tick(&r, 10, 10 * J, 1);
    struct bj_account *a = bj_ledger_asleep(r.l, &key);
    assert_non_null(a);
    for (; a; a = bj_ledger_asleep(r.l, &key))
        bj_ledger_drop(r.l, a);
    tick(&r, 10, 10 * J, 1);
    for (int p = 0; p < BJ_POLICIES; p++)
        assert_int_equal(r.s.dropped_uj[p][BJ_ENERGY_CPU] +
                             r.s.system_uj[p][BJ_ENERGY_CPU] +
                             r.s.unallocated_uj[p][BJ_ENERGY_CPU] +
                             r.s.pending_uj[BJ_ENERGY_CPU],
                         had + 50 * J);
    bj_buf_free(&text);
    leave(&r);
}

/* Opened late it still has what it had, but not the usage of all that time in
 * one window. */
static void opened_late(void **state)
{
    (void)state;
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "a", true);
    tick(&r, 0, 0, 0);
    use(a, 5, 5);
    tick(&r, 10, 1000 * J, 5);
    struct bj_buf text = save(&r, ZONES);
    restart(&r, slice(&text), HERE);
    tick(&r, 500, 100 * J, 600);
    a = job(&r, "a", false);
    assert_int_equal(cpu(a, BJ_USAGE), 1000 * J);
    use(a, 505, 5);
    tick(&r, 10, 100 * J, 2);
    assert_int_equal(cpu(a, BJ_USAGE), 1000 * J);
    use(a, 506, 5);
    tick(&r, 10, 100 * J, 2);
    assert_int_equal(cpu(a, BJ_USAGE), 1050 * J);
    assert_true(bj_account_flagged(a));
    bj_buf_free(&text);
    leave(&r);
}

/* Another boot: nothing but the idle power that was learnt. */
static void other_boot(void **state)
{
    (void)state;
    struct room r = room_of(0);
    tick(&r, 0, 0, 0);
    for (int i = 0; i < 10; i++)
        tick(&r, 10, 1100 * J, 0);
    struct bj_buf text = save(&r, ZONES), unknown = {0};
    bj_ledger_save(r.l, BJ_SLICE(""), ZONES, &unknown);
    assert_false(restart(&r, slice(&unknown), BJ_SLICE("")));
    assert_false(restart(&r, slice(&text), THERE));
    bj_buf_free(&unknown);
    struct bj_ledger_sums zero = {0};
    assert_memory_equal(&r.s, &zero, sizeof(zero));
    struct bj_slice key;
    assert_null(bj_ledger_asleep(r.l, &key));
    tick(&r, 10, 0, 0);
    tick(&r, 10, 1500 * J, 9);
    assert_int_equal(r.s.idle_uw, 110 * J);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1100 * J);
    bj_buf_free(&text);
    leave(&r);
}

/* In the open window the node was half as big: shares of it are of no use. */
static void resized(void **state)
{
    (void)state;
    struct room r = room_of(0);
    struct bj_account *a = job(&r, "a", true);
    node(&r, 0);
    tick(&r, 0, 0, 0);
    use(a, 5, 10);
    tick(&r, 10, 1000 * J, 5);
    struct bj_buf text = save(&r, ZONES);
    struct bj_ledger_conf conf = {.cpus = 20, .mem_bytes = 100 * GIB};
    struct bj_slice extra;
    bool same;
    bj_ledger_free(r.l);
    r.l = bj_ledger_new(&conf);
    assert_int_equal(
        bj_ledger_load(r.l, slice(&text), HERE, &extra, &same, NULL), 0);
    a = job(&r, "a", false);
    use(a, 5, 10);
    node(&r, 3000 * J);
    tick(&r, 10, 1000 * J, 0);
    assert_int_equal(cpu(a, BJ_USAGE), 2000 * J);
    assert_int_equal(cpu(a, BJ_RESERVATION), 500 * J);
    bj_buf_free(&text);
    leave(&r);
}

/* --- what is refused ------------------------------------------------------ */

/* The number that a message begins with: "line N: ". */
static uint64_t line_of(const struct bj_err *err)
{
    struct bj_slice s = bj_slice_str(err->msg);
    uint64_t line = 0;
    assert_true(bj_slice_starts(s, BJ_SLICE("line ")));
    s.p += 5;
    s.n -= 5;
    assert_true(bj_slice_number(&s, &line) && s.n > 2 && s.p[0] == ':');
    return line;
}

static void refused(const char *text, size_t n, uint64_t lines)
{
    struct room r = room_of(0);
    char *copy = malloc(n + 1); /* so that reading past its end is seen */
    memcpy(copy, text, n);
    copy = realloc(copy, n ? n : 1);
    struct bj_slice extra = BJ_SLICE("untouched");
    struct bj_err err = {0};
    bool same = true;
    int code = bj_ledger_load(r.l, (struct bj_slice){copy, n}, HERE, &extra,
                              &same, &err);
    assert_int_equal(code, -EBADMSG);
    assert_int_equal(err.code, -EBADMSG);
    assert_true(line_of(&err) >= 1 && line_of(&err) <= lines + 1);
    assert_true(same && bj_slice_eq(extra, BJ_SLICE("untouched")));
    bj_ledger_sums(r.l, &r.s);
    struct bj_ledger_sums zero = {0};
    assert_memory_equal(&r.s, &zero, sizeof(zero));
    free(copy);
    leave(&r);
}

static uint64_t lines_in(const struct bj_buf *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->len; i++)
        n += b->p[i] == '\n';
    return n;
}

static void cut_anywhere(void **state)
{
    (void)state;
    struct room r = lived();
    struct bj_buf text = save(&r, ZONES);
    for (size_t n = 0; n < text.len; n++)
        refused(text.p, n, lines_in(&text));
    bj_buf_put(&text, "\n", 1);
    refused(text.p, text.len, lines_in(&text));
    bj_buf_free(&text);
    leave(&r);
}

/* Every byte: a bit of it, and what could pass for another. */
static void damaged_anywhere(void **state)
{
    (void)state;
    struct room r = lived();
    struct bj_buf text = save(&r, ZONES);
    uint64_t lines = lines_in(&text);
    for (size_t i = 0; i < text.len; i++) {
        char was = text.p[i];
        text.p[i] = (char)(was ^ 1 << i % 8);
        refused(text.p, text.len, lines + 1);
        for (const char *to = "0 \n"; *to; to++) {
            text.p[i] = *to;
            if (*to != was)
                refused(text.p, text.len, lines + 1);
        }
        text.p[i] = was;
    }
    bj_buf_free(&text);
    leave(&r);
}

static const struct {
    const char *text;
    uint64_t line;
} foreign[] = {
    {"", 1},
    {"\n", 1},
    {"batchjob-ledger 2\nboot x\n", 1},
    {"{\"energy\": 1}\n", 1},
    {"batchjob-ledger 1\n", 2},
    {"batchjob-ledger 1\nboot \nnode-cpus 1\n", 2},
    {"batchjob-ledger 1\nboot x\nnode-cpus\n", 3},
    {"batchjob-ledger 1\nboot x\nnode-cpus 1 2\n", 3},
    {"batchjob-ledger 1\nboot x\nnode-cpus -1\n", 3},
    {"batchjob-ledger 1\nboot x\nnode-cpus 18446744073709551616\n", 3},
    {"batchjob-ledger 1\nboot x\nnode-cpus 1\nnode-memory 1\nticked 2\n", 5},
};

static void foreign_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        struct room r = room_of(0);
        struct bj_slice extra;
        struct bj_err err = {0};
        bool same;
        assert_int_equal(bj_ledger_load(r.l, bj_slice_str(foreign[i].text),
                                        HERE, &extra, &same, &err),
                         -EBADMSG);
        assert_int_equal(line_of(&err), foreign[i].line);
        leave(&r);
    }
}

/* Put to for from, and the sum that belongs to the result below it. */
static struct bj_buf forged(const struct bj_buf *text, const char *from,
                            const char *to)
{
    struct bj_buf out = {0};
    char *line = memmem(text->p, text->len, from, strlen(from));
    assert_non_null(line);
    size_t at = (size_t)(line - text->p), behind = at + strlen(from);
    bj_buf_put(&out, text->p, at);
    bj_buf_str(&out, to);
    bj_buf_put(&out, text->p + behind, text->len - behind - 21);
    bj_buf_printf(&out, "sum %016llx\n",
                  (unsigned long long)bj_state_sum(slice(&out)));
    return out;
}

/* The sum is right, what is above it cannot be. */
static void unsound(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\npending ", "\npending 1"},
        {"\ntaken ", "\ntaken 1"},
        {"\nalone ", "\nalone 9"},
        {"\nnode ", "\nnode 1"},
        {"\ndeficit ", "\ndeficit 1"},
        {"\nsystem ", "\nsystem 1"},
        {"\nspan ", "\nspan 9999999999"},
        {"\nsilent ", "\nsilent 9999999999999"},
        {"\nwindow-cpu 0 ", "\nwindow-cpu 999999999999999999 "},
        {"\ntaken ", "\ntaken 99999999999"},
        {"\nidle-part-n 0", "\nidle-part-n 129"},
        {"\nidle-node-next 0", "\nidle-node-next 128"},
        {"\nidle-node 0 ", "\nidle-node 9999999999999999999 "},
        {"job slurm", "job %2slurm"},
        {"job slurm", "job %"},
        {"job slurm", "jobs lurm"},
        {"extra 39", "extra 40"},
        {"extra 39", "extra 38"},
        {"extra 39", "extra 18446744073709551615"},
    };
    struct room r = lived();
    struct bj_buf text = save(&r, ZONES), same = forged(&text, "boot", "boot");
    assert_int_equal(same.len, text.len);
    assert_memory_equal(same.p, text.p, text.len);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_buf bad = forged(&text, cases[i][0], cases[i][1]);
        refused(bad.p, bad.len, lines_in(&bad));
        bj_buf_free(&bad);
    }
    bj_buf_free(&same);
    bj_buf_free(&text);
    leave(&r);
}

/* Into a ledger that has begun. */
static void too_late(void **state)
{
    (void)state;
    struct room r = lived();
    struct bj_buf text = save(&r, ZONES);
    struct bj_slice extra;
    bool same;
    assert_int_equal(
        bj_ledger_load(r.l, slice(&text), HERE, &extra, &same, NULL), -EBUSY);
    bj_buf_free(&text);
    leave(&r);
}

/* --- no memory ------------------------------------------------------------ */

static int all_of_it(void *arg)
{
    const struct bj_buf *text = arg;
    struct bj_ledger_conf conf = {.cpus = 4};
    struct bj_ledger *l = bj_ledger_new(&conf);
    struct bj_slice extra;
    bool same;
    if (!l)
        return -ENOMEM;
    int r = bj_ledger_load(l, slice(text), HERE, &extra, &same, NULL);
    char key[] = "a";
    for (; r == 0 && key[0] < 'z'; key[0]++)
        if (!bj_ledger_open(l, bj_slice_str(key), true))
            r = -ENOMEM;
    struct bj_tick t = {.node_uj = NONE};
    bj_ledger_tick(l, &t);
    bj_ledger_free(l);
    return r;
}

static void no_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    struct room r = lived();
    struct bj_buf text = save(&r, ZONES);
    assert_true(bj_fail_each(all_of_it, &text) > 10);
    bj_buf_free(&text);
    bj_ledger_free(NULL);
    leave(&r);
}

/* A state that has no room says so, wherever that happens. */
static void save_without_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    struct room r = lived();
    for (unsigned long i = 0; i < 8; i++) {
        struct bj_buf text = {0};
        bj_fail_from(i);
        bj_ledger_save(r.l, HERE, ZONES, &text);
        assert_true(bj_fail_stop() == text.failed);
        bj_buf_free(&text);
    }
    leave(&r);
}

/* A tick allocates nothing, neither when it settles nor when it learns. */
static void ticks_need_no_memory(void **state)
{
    (void)state;
    struct room r = lived(), empty = room_of(0);
    tick(&empty, 0, 0, 0);
    bj_fail_from(0);
    node(&r, 10000 * J);
    tick(&r, 10, 1000 * J, 5);
    for (int i = 0; i < 200; i++)
        tick(&empty, 10, 1000 * J, 0);
    assert_false(bj_fail_stop());
    assert_int_equal(empty.s.idle_uw, 100 * J);
    leave(&r);
    leave(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(extra_lines),
        cmocka_unit_test(appended),
        cmocka_unit_test(same_boot),
        cmocka_unit_test(sleepers),
        cmocka_unit_test(opened_late),
        cmocka_unit_test(other_boot),
        cmocka_unit_test(resized),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(damaged_anywhere),
        cmocka_unit_test(foreign_text),
        cmocka_unit_test(unsound),
        cmocka_unit_test(too_late),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(save_without_memory),
        cmocka_unit_test(ticks_need_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
