/* The ledger's state file: what continues after a restart, and which files are
 * refused. */
#include "core/energy/ledger_state.h"
#include "tests/unit/lib/fail.h"
#include "tests/unit/lib/ledger_room.h"

#define HERE BJ_SLICE("0a4b9a3e-8d5c-4d0a-9d8b-2f4b8a0c7a11")
#define THERE BJ_SLICE("5e3f1c00-1b7d-4a43-8f2e-6a0d1e9c4b22")
#define ZONES BJ_SLICE("rapl package-0 12 34\nrapl dram-0 56 78\n")

static struct bj_buf save(const struct ledger_rig *r, struct bj_slice extra)
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

/* Continue r from the text, as after a restart of the process. */
static bool restart(struct ledger_rig *r, struct bj_slice text,
                    struct bj_slice boot)
{
    struct ledger_rig fresh = ledger_rig_new(0);
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

/* A ledger in which every field of the state has a value. */
static struct ledger_rig used_ledger(void)
{
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "slurm/4711#99", true);
    struct bj_account *b = open_job(&r, "odd key \xff%\n", false);
    open_job(&r, "", true);
    r.t.total_uj[BJ_ENERGY_DRAM] = 0;
    r.t.mem_bytes = 50 * GIB;
    add_node_reading(&r, 0);
    tick(&r, 0, 0, 0);
    for (uint64_t i = 1; i < 12; i++) {
        use_cpu(a, 3 * i, 4);
        use_cpu(b, i, NONE);
        bj_account_gpu(a, 1000 * i);
        r.t.total_uj[BJ_ENERGY_DRAM] += 77 * J + i;
        if (i % 3 == 0)
            add_node_reading(&r, i % 2 ? 900 * J : 100 * J);
        tick(&r, 10, 123 * J + i, 5);
        if (i == 8)
            bj_account_close(b);
    }
    return r;
}

/* A state that is saved, loaded and saved again is the same text. */
static void round_trip(void **state)
{
    (void)state;
    struct ledger_rig r = used_ledger();
    struct bj_ledger_sums before = r.s;
    struct bj_buf one = save(&r, ZONES);
    assert_true(restart(&r, slice(&one), HERE));
    assert_memory_equal(&before, &r.s, sizeof(before));
    struct bj_buf two = save(&r, ZONES);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.p, two.p, one.len);
    bj_buf_free(&one);
    bj_buf_free(&two);
    ledger_rig_free(&r);
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
        struct ledger_rig r = ledger_rig_new(0), fresh = ledger_rig_new(0);
        struct bj_buf text = save(&r, bj_slice_str(cases[i].in));
        struct bj_slice extra;
        bool same;
        assert_int_equal(
            bj_ledger_load(fresh.l, slice(&text), HERE, &extra, &same, NULL),
            0);
        assert_true(bj_slice_eq(extra, bj_slice_str(cases[i].out)));
        bj_buf_free(&text);
        ledger_rig_free(&r);
        ledger_rig_free(&fresh);
    }
}

/* Saving appends to the buffer. */
static void appended(void **state)
{
    (void)state;
    struct ledger_rig r = used_ledger(), fresh = ledger_rig_new(0);
    struct bj_buf text = {0};
    struct bj_slice extra;
    bool same;
    bj_buf_str(&text, "in front");
    bj_ledger_save(r.l, HERE, ZONES, &text);
    struct bj_slice s = {text.p + 8, text.len - 8};
    assert_int_equal(bj_ledger_load(fresh.l, s, HERE, &extra, &same, NULL), 0);
    bj_buf_free(&text);
    ledger_rig_free(&r);
    ledger_rig_free(&fresh);
}

/* --- continuing after a restart ------------------------------------------- */

/* A restart with a gap of 100 s: job A ran before and after it, B ended in it,
 * C began in it. The energy of the gap follows usage; A and C are flagged. */
static void same_boot(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "a", true),
                      *b = open_job(&r, "b", true);
    use_cpu(a, 0, 5);
    use_cpu(b, 0, 5);
    tick(&r, 0, 0, 0);
    use_cpu(a, 5, 5);
    use_cpu(b, 5, 5);
    tick(&r, 10, 1000 * J, 10);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 500 * J);
    struct bj_buf text = save(&r, ZONES);
    assert_true(restart(&r, slice(&text), HERE));
    assert_int_equal(r.s.tick_usec, 10 * SEC);
    a = open_job(&r, "a", false);
    struct bj_account *c = open_job(&r, "c", true);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 500 * J);
    use_cpu(a, 25, 5);
    use_cpu(c, 10, 5);
    tick(&r, 100, 4000 * J, 40);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 500 * J + 2000 * J);
    assert_int_equal(cpu_uj(c, BJ_USAGE), 1000 * J);
    assert_int_equal(r.s.system_uj[BJ_USAGE][BJ_ENERGY_CPU], 1000 * J);
    assert_true(bj_account_flagged(a) && bj_account_flagged(c));
    struct bj_account *d = open_job(&r, "d", true);
    use_cpu(d, 1, 1);
    tick(&r, 10, 100 * J, 1);
    assert_false(bj_account_flagged(d));
    struct bj_slice key;
    b = bj_ledger_unopened(r.l, &key);
    assert_true(b && bj_slice_eq(key, BJ_SLICE("b")));
    assert_int_equal(cpu_uj(b, BJ_USAGE), 500 * J);
    assert_false(bj_account_flagged(b));
    bj_buf_free(&text);
    ledger_rig_free(&r);
}

/* An account that is not opened again keeps its energy until the caller drops
 * it, however long that takes. */
static void unopened_accounts(void **state)
{
    (void)state;
    struct ledger_rig r = used_ledger();
    struct bj_buf text = save(&r, ZONES);
    struct bj_slice key;
    restart(&r, slice(&text), HERE);
    uint64_t had = r.s.taken_uj[BJ_ENERGY_CPU];
    tick(&r, 500, 0, 0);
    for (int i = 0; i < 4; i++)
        tick(&r, 10, 10 * J, 1);
    struct bj_account *a = bj_ledger_unopened(r.l, &key);
    assert_non_null(a);
    for (; a; a = bj_ledger_unopened(r.l, &key))
        bj_ledger_drop(r.l, a);
    tick(&r, 10, 10 * J, 1);
    for (int p = 0; p < BJ_POLICIES; p++)
        assert_int_equal(r.s.dropped_uj[p][BJ_ENERGY_CPU] +
                             r.s.system_uj[p][BJ_ENERGY_CPU] +
                             r.s.unallocated_uj[p][BJ_ENERGY_CPU] +
                             r.s.pending_uj[BJ_ENERGY_CPU],
                         had + 50 * J);
    bj_buf_free(&text);
    ledger_rig_free(&r);
}

/* An account that is opened late has its earlier energy; the usage of the whole
 * time does not count in one window. */
static void opened_late(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "a", true);
    tick(&r, 0, 0, 0);
    use_cpu(a, 5, 5);
    tick(&r, 10, 1000 * J, 5);
    struct bj_buf text = save(&r, ZONES);
    restart(&r, slice(&text), HERE);
    tick(&r, 500, 100 * J, 600);
    a = open_job(&r, "a", false);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 1000 * J);
    use_cpu(a, 505, 5);
    tick(&r, 10, 100 * J, 2);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 1000 * J);
    use_cpu(a, 506, 5);
    tick(&r, 10, 100 * J, 2);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 1050 * J);
    assert_true(bj_account_flagged(a));
    bj_buf_free(&text);
    ledger_rig_free(&r);
}

/* After a reboot only the learnt idle power continues. */
static void other_boot(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
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
    assert_null(bj_ledger_unopened(r.l, &key));
    tick(&r, 10, 0, 0);
    tick(&r, 10, 1500 * J, 9);
    assert_int_equal(r.s.idle_uw, 110 * J);
    assert_int_equal(r.s.unallocated_uj[BJ_HYBRID][BJ_ENERGY_CPU], 1100 * J);
    bj_buf_free(&text);
    ledger_rig_free(&r);
}

/* The node had half the size in the open window: shares of that size are
 * dropped. */
static void resized(void **state)
{
    (void)state;
    struct ledger_rig r = ledger_rig_new(0);
    struct bj_account *a = open_job(&r, "a", true);
    add_node_reading(&r, 0);
    tick(&r, 0, 0, 0);
    use_cpu(a, 5, 10);
    tick(&r, 10, 1000 * J, 5);
    struct bj_buf text = save(&r, ZONES);
    struct bj_ledger_conf conf = {.cpus = 20, .mem_bytes = 100 * GIB};
    struct bj_slice extra;
    bool same;
    bj_ledger_free(r.l);
    r.l = bj_ledger_new(&conf);
    assert_int_equal(
        bj_ledger_load(r.l, slice(&text), HERE, &extra, &same, NULL), 0);
    a = open_job(&r, "a", false);
    use_cpu(a, 5, 10);
    add_node_reading(&r, 3000 * J);
    tick(&r, 10, 1000 * J, 0);
    assert_int_equal(cpu_uj(a, BJ_USAGE), 2000 * J);
    assert_int_equal(cpu_uj(a, BJ_RESERVATION), 500 * J);
    bj_buf_free(&text);
    ledger_rig_free(&r);
}

/* --- refused files -------------------------------------------------------- */

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
    struct ledger_rig r = ledger_rig_new(0);
    char *copy = malloc(n + 1); /* so that a read past its end is detected */
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
    ledger_rig_free(&r);
}

static uint64_t lines_in(const struct bj_buf *b)
{
    uint64_t n = 0;
    for (size_t i = 0; i < b->len; i++)
        n += b->p[i] == '\n';
    return n;
}

static void truncated_anywhere(void **state)
{
    (void)state;
    struct ledger_rig r = used_ledger();
    struct bj_buf text = save(&r, ZONES);
    for (size_t n = 0; n < text.len; n++)
        refused(text.p, n, lines_in(&text));
    bj_buf_put(&text, "\n", 1);
    refused(text.p, text.len, lines_in(&text));
    bj_buf_free(&text);
    ledger_rig_free(&r);
}

/* One flipped bit, and each of three other characters, at every byte. */
static void damaged_anywhere(void **state)
{
    (void)state;
    struct ledger_rig r = used_ledger();
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
    ledger_rig_free(&r);
}

static const struct {
    const char *text;
    uint64_t line;
} others[] = {
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

static void other_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct ledger_rig r = ledger_rig_new(0);
        struct bj_slice extra;
        struct bj_err err = {0};
        bool same;
        assert_int_equal(bj_ledger_load(r.l, bj_slice_str(others[i].text), HERE,
                                        &extra, &same, &err),
                         -EBADMSG);
        assert_int_equal(line_of(&err), others[i].line);
        ledger_rig_free(&r);
    }
}

/* The text with from replaced by to, and a correct checksum. */
static struct bj_buf forged(const struct bj_buf *text, const char *from,
                            const char *to)
{
    struct bj_buf out = {0};
    char *line = memmem(text->p, text->len, from, strlen(from));
    assert_non_null(line);
    size_t at = (size_t)(line - text->p), after = at + strlen(from);
    bj_buf_put(&out, text->p, at);
    bj_buf_str(&out, to);
    bj_buf_put(&out, text->p + after, text->len - after - 21);
    bj_buf_printf(&out, "sum %016llx\n",
                  (unsigned long long)bj_state_sum(slice(&out)));
    return out;
}

/* Texts with a correct checksum and impossible values. */
static void impossible_values(void **state)
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
    struct ledger_rig r = used_ledger();
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
    ledger_rig_free(&r);
}

/* A ledger that has had a tick loads no state. */
static void load_after_a_tick(void **state)
{
    (void)state;
    struct ledger_rig r = used_ledger();
    struct bj_buf text = save(&r, ZONES);
    struct bj_slice extra;
    bool same;
    assert_int_equal(
        bj_ledger_load(r.l, slice(&text), HERE, &extra, &same, NULL), -EBUSY);
    bj_buf_free(&text);
    ledger_rig_free(&r);
}

/* --- no memory ------------------------------------------------------------ */

static int load_and_open(void *arg)
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
    struct ledger_rig r = used_ledger();
    struct bj_buf text = save(&r, ZONES);
    assert_true(bj_fail_each(load_and_open, &text) > 10);
    bj_buf_free(&text);
    bj_ledger_free(NULL);
    ledger_rig_free(&r);
}

/* Saving without memory marks the buffer as failed, at every allocation. */
static void save_without_memory(void **state)
{
    (void)state;
    if (!bj_fail_works())
        skip();
    struct ledger_rig r = used_ledger();
    for (unsigned long i = 0; i < 8; i++) {
        struct bj_buf text = {0};
        bj_fail_from(i);
        bj_ledger_save(r.l, HERE, ZONES, &text);
        assert_true(bj_fail_stop() == text.failed);
        bj_buf_free(&text);
    }
    ledger_rig_free(&r);
}

/* A tick allocates nothing, also when it settles a window or learns. */
static void ticks_need_no_memory(void **state)
{
    (void)state;
    struct ledger_rig r = used_ledger(), empty = ledger_rig_new(0);
    tick(&empty, 0, 0, 0);
    bj_fail_from(0);
    add_node_reading(&r, 10000 * J);
    tick(&r, 10, 1000 * J, 5);
    for (int i = 0; i < 200; i++)
        tick(&empty, 10, 1000 * J, 0);
    assert_false(bj_fail_stop());
    assert_int_equal(empty.s.idle_uw, 100 * J);
    ledger_rig_free(&r);
    ledger_rig_free(&empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(extra_lines),
        cmocka_unit_test(appended),
        cmocka_unit_test(same_boot),
        cmocka_unit_test(unopened_accounts),
        cmocka_unit_test(opened_late),
        cmocka_unit_test(other_boot),
        cmocka_unit_test(resized),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(damaged_anywhere),
        cmocka_unit_test(other_texts),
        cmocka_unit_test(impossible_values),
        cmocka_unit_test(load_after_a_tick),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(save_without_memory),
        cmocka_unit_test(ticks_need_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
