/* Lists of resources and hosts as schedulers write them, and states as users
 * write them. */
#include "sched/hostlist.h"
#include "sched/state.h"
#include "sched/tres.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A copy in memory of exactly its size, to be freed with free(*mem). */
static struct bj_slice exact(const char *text, char **mem)
{
    const size_t n = strlen(text);
    *mem = malloc(n ? n : 1);
    memcpy(*mem, text, n);
    return (struct bj_slice){*mem, n};
}

/* --- resources ------------------------------------------------------------*/

static const char *const type_names[BJ_TRES_TYPES] = {
    [BJ_TRES_OTHER] = "other",     [BJ_TRES_CPU] = "cpu",
    [BJ_TRES_MEM] = "mem",         [BJ_TRES_NODE] = "node",
    [BJ_TRES_BILLING] = "billing", [BJ_TRES_ENERGY] = "energy",
    [BJ_TRES_GRES] = "gres",       [BJ_TRES_LICENSE] = "license",
    [BJ_TRES_FS] = "fs",           [BJ_TRES_BB] = "bb",
    [BJ_TRES_VMEM] = "vmem",       [BJ_TRES_PAGES] = "pages",
    [BJ_TRES_IC] = "ic",
};

/* "type name model count;" for each entry. */
static void print(const struct bj_tres_list *list, char *buf, size_t cap)
{
    size_t n = 0;
    buf[0] = '\0';
    for (unsigned i = 0; i < list->n; i++) {
        const struct bj_tres *t = &list->v[i];
        n += (size_t)snprintf(
            buf + n, cap - n, "%s %.*s %.*s %llu;", type_names[t->type],
            (int)t->name.n, t->name.n ? t->name.p : "", (int)t->model.n,
            t->model.n ? t->model.p : "", (unsigned long long)t->count);
    }
}

static const struct {
    const char *text;
    enum bj_tres_kind kind;
    unsigned bad;
    const char *want;
} lists[] = {
    {"", BJ_TRES_REQUESTED, 0, ""},
    {"cpu=4,mem=250.5G,node=1,billing=4", BJ_TRES_REQUESTED, 0,
     "cpu   4;mem   268972326912;node   1;billing   4;"},
    {"billing=1,cpu=1,gres/gpu:tesla=1,gres/gpu=1,mem=256M,node=1",
     BJ_TRES_REQUESTED, 0,
     "billing   1;cpu   1;gres gpu tesla 1;gres gpu  1;mem   268435456;"
     "node   1;"},
    {"mem=16000", BJ_TRES_REQUESTED, 0, "mem   16777216000;"}, /* MiB */
    {"license/matlab@server=3,fs/lustre=7,ic/ofed=1,bb/dw=10",
     BJ_TRES_REQUESTED, 0,
     "license matlab@server  3;fs lustre  7;ic ofed  1;bb dw  10;"},
    {"gres/gpu:a100:x=2,gres/mps=100,gres/=1", BJ_TRES_REQUESTED, 0,
     "gres gpu a100:x 2;gres mps  100;gres   1;"},
    {"energy=1.5K", BJ_TRES_REQUESTED, 0, "energy   1500;"},
    {"cpu=00:00:07,energy=0,fs/disk=27910,mem=106680320,pages=0,"
     "vmem=106688512",
     BJ_TRES_USED, 0,
     "cpu   7000000;energy   0;fs disk  27910;mem   106680320;pages   0;"
     "vmem   106688512;"},
    {"mem=104180K", BJ_TRES_USED, 0, "mem   106680320;"},
    {"cpu=1-00:00:00", BJ_TRES_USED, 0, "cpu   86400000000;"},
    /* Slurm's database */
    {"1=4,2=256512,3=0,4=1,5=4,6=10,7=11,8=12,1001=2", BJ_TRES_REQUESTED, 0,
     "cpu   4;mem   268972326912;energy   0;node   1;billing   4;fs disk  10;"
     "vmem   11;pages   12;other 1001  2;"},
    /* Slurm's numbers for an unknown value */
    {"cpu=1,energy=18446744073709551614,mem=1M", BJ_TRES_REQUESTED, 0,
     "cpu   1;mem   1048576;"},
    {"energy=4294967294", BJ_TRES_REQUESTED, 0, ""},
    /* unknown and damaged */
    {"quux=3", BJ_TRES_REQUESTED, 0, "other quux  3;"},
    {"quux/a:b=3", BJ_TRES_REQUESTED, 0, "other quux/a:b  3;"},
    {"cpu", BJ_TRES_REQUESTED, 1, ""},
    {"cpu=", BJ_TRES_REQUESTED, 1, ""},
    {"=4", BJ_TRES_REQUESTED, 1, ""},
    {",,", BJ_TRES_REQUESTED, 2, ""},
    {"cpu=4,mem=lots,node=1", BJ_TRES_REQUESTED, 1, "cpu   4;node   1;"},
    {"cpu=4,node01,node=1,", BJ_TRES_REQUESTED, 1, "cpu   4;node   1;"},
    {"cpu=-1", BJ_TRES_REQUESTED, 1, ""},
    {"cpu=99999999999999999999", BJ_TRES_REQUESTED, 1, ""},
    {"/=1", BJ_TRES_REQUESTED, 0, "other /  1;"},
    {"/a=1", BJ_TRES_REQUESTED, 0, "other /a  1;"},
    {"cpu=1=2", BJ_TRES_REQUESTED, 1, ""},
};

static void test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct bj_tres_list list;
        char have[600], *mem;
        const struct bj_slice s = exact(lists[i].text, &mem);
        const unsigned bad = bj_tres_parse(s, lists[i].kind, &list);
        print(&list, have, sizeof(have));
        assert_string_equal(have, lists[i].want);
        if (bad != lists[i].bad)
            print_message("'%s': %u bad\n", lists[i].text, bad);
        assert_int_equal(bad, lists[i].bad);
        free(mem);
    }
}

/* More entries than fit: the first ones are kept. */
static void test_many(void **state)
{
    (void)state;
    char text[2000] = "";
    size_t n = 0;
    for (int i = 0; i < 100; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "license/l%d=%d,", i,
                              i);
    struct bj_tres_list *list = malloc(sizeof(*list));
    assert_int_equal(
        bj_tres_parse((struct bj_slice){text, n}, BJ_TRES_REQUESTED, list), 0);
    assert_int_equal(list->n, BJ_TRES_MAX);
    assert_int_equal(list->v[BJ_TRES_MAX - 1].count, BJ_TRES_MAX - 1);
    free(list);
}

static void test_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t gpus;
        const char *model;
    } t[] = {
        {"cpu=4,gres/gpu:a100=2,gres/gpu=2", 2, "a100"},
        {"gres/gpu=2,gres/gpu:a100=2", 2, "a100"},
        {"gres/gpu:a100=2,gres/gpu:v100=3,gres/gpu=5", 5, "a100"},
        {"gres/gpu:a100=2,gres/gpu:v100=3", 5, "a100"}, /* only typed */
        {"gres/gpu=4", 4, ""},
        {"gres/mps=100,gres/gpumem=80G,gres/shard=4", 0, ""},
        {"cpu=4", 0, ""},
        {"gres/gpu:1g.10gb=1", 1, "1g.10gb"}, /* a slice of a GPU */
    };
    for (size_t i = 0; i < COUNT(t); i++) {
        struct bj_tres_list list;
        struct bj_slice model = {NULL, 0};
        bj_tres_parse(bj_slice_str(t[i].text), BJ_TRES_REQUESTED, &list);
        assert_int_equal(
            bj_tres_sum(&list, BJ_TRES_GRES, BJ_SLICE("gpu"), &model),
            t[i].gpus);
        assert_true(bj_slice_eq(model, bj_slice_str(t[i].model)));
        assert_int_equal(
            bj_tres_sum(&list, BJ_TRES_GRES, BJ_SLICE("gpu"), NULL), t[i].gpus);
    }
    struct bj_tres_list list;
    bj_tres_parse(BJ_SLICE("cpu=4"), BJ_TRES_REQUESTED, &list);
    assert_int_equal(bj_tres_get(&list, BJ_TRES_CPU), 4);
    assert_true(bj_tres_get(&list, BJ_TRES_MEM) == BJ_ABSENT);
}

static void test_used(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t mem, vmem, disk;
    } t[] = {
        {"cpu=00:00:07,energy=0,fs/disk=27910,mem=106680320,pages=0,"
         "vmem=106688512",
         106680320, 106688512, 27910},
        {"mem=16K", 16384, BJ_ABSENT, BJ_ABSENT},
        {"energy=0,fs/disk=4005", BJ_ABSENT, BJ_ABSENT, 4005},
        {"fs/lustre=3,memory=4,vm=5", BJ_ABSENT, BJ_ABSENT, BJ_ABSENT},
        {"mem=,vmem=x,fs/disk", BJ_ABSENT, BJ_ABSENT, BJ_ABSENT},
        {"mem=node01,vmem=18446744073709551614", BJ_ABSENT, BJ_ABSENT,
         BJ_ABSENT},
        {",,,mem=5,", 5, BJ_ABSENT, BJ_ABSENT},
        {"", BJ_ABSENT, BJ_ABSENT, BJ_ABSENT},
    };
    for (size_t i = 0; i < COUNT(t); i++) {
        struct bj_tres_used used;
        char *mem;
        bj_tres_used(exact(t[i].text, &mem), &used);
        free(mem);
        assert_true(used.mem_bytes == t[i].mem);
        assert_true(used.vmem_bytes == t[i].vmem);
        assert_true(used.disk_bytes == t[i].disk);
    }
}

/* --- hosts ----------------------------------------------------------------*/

static const struct {
    const char *text;
    enum bj_hosts_grammar grammar;
    int status;
    const char *want; /* all names, with "*slots" where those are not 1 */
} hosts[] = {
    {"n1", BJ_HOSTS_SLURM, 0, "n1"},
    {"n[1-3,5],gpu-[001-004]-ib,a[1-2]b[3-4]", BJ_HOSTS_SLURM, 0,
     "n1 n2 n3 n5 gpu-001-ib gpu-002-ib gpu-003-ib gpu-004-ib a1b3 a1b4 a2b3 "
     "a2b4"},
    {"n[08-11]", BJ_HOSTS_SLURM, 0, "n08 n09 n10 n11"},
    {"n[8-11]", BJ_HOSTS_SLURM, 0, "n8 n9 n10 n11"},
    {"n[098-101,7]", BJ_HOSTS_SLURM, 0, "n098 n099 n100 n101 n7"},
    {"n[0]", BJ_HOSTS_SLURM, 0, "n0"},
    {"n[000]", BJ_HOSTS_SLURM, 0, "n000"},
    {"a,b.example.org,c-d_e", BJ_HOSTS_SLURM, 0, "a b.example.org c-d_e"},
    {"[1-2]", BJ_HOSTS_SLURM, 0, "1 2"},
    {"r[1-2][1-2]", BJ_HOSTS_SLURM, 0, "r11 r12 r21 r22"},
    {"r[1-2]c[01-02,9]n[3]", BJ_HOSTS_SLURM, 0,
     "r1c01n3 r1c02n3 r1c9n3 r2c01n3 r2c02n3 r2c9n3"},
    {"n[1,1]", BJ_HOSTS_SLURM, 0, "n1 n1"},
    {"", BJ_HOSTS_SLURM, 0, ""},
    {"None assigned", BJ_HOSTS_SLURM, 0, ""},
    {"(null)", BJ_HOSTS_SLURM, 0, ""},
    {"n[1-2", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n1-2]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[1-[2-3]]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[1-]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[-1]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[1,]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[,1]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[3-1]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[a-b]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[1-2-3]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n1,", BJ_HOSTS_SLURM, -EINVAL, ""},
    {",n1", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n1,,n2", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n 1", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n\n1", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[1-2]]", BJ_HOSTS_SLURM, -EINVAL, ""},
    {"n[9999999999999999999]", BJ_HOSTS_SLURM, -E2BIG, ""},
    {"n[1-9999999999999999999]", BJ_HOSTS_SLURM, -E2BIG, ""},
    {"[0-999999999][0-999999999][0-9]", BJ_HOSTS_SLURM, -E2BIG, ""},
    {"[1][1][1][1][1][1][1][1][1]", BJ_HOSTS_SLURM, -E2BIG, ""},
    {"n1/0*4+n2/1", BJ_HOSTS_PBS, 0, "n1*4 n2"},
    {"n1/0+n1/1", BJ_HOSTS_PBS, 0, "n1 n1"},
    {"n1/0-3+n2/0,2-3+n3/3-0+n4/0-x", BJ_HOSTS_PBS, 0, "n1*4 n2*3 n3 n4"},
    {"(n1:ncpus=4:ngpus=1:mem=4194304kb)+(n2:ncpus=1)", BJ_HOSTS_PBS, 0,
     "n1 n2"},
    {"(n1[0]:ncpus=4+n1[1]:ncpus=2)", BJ_HOSTS_PBS, 0, "n1 n1"},
    {"(n1:ncpus=4+n1b:ncpus=2)+(n2:ncpus=1)", BJ_HOSTS_PBS, 0, "n1 n1b n2"},
    {"n1", BJ_HOSTS_PBS, 0, "n1"},
    {"+", BJ_HOSTS_PBS, 0, ""},
    {"n1/0*x", BJ_HOSTS_PBS, -EINVAL, ""},
    {"/0*4", BJ_HOSTS_PBS, -EINVAL, ""},
    {"4*hostA hostB", BJ_HOSTS_LSF, 0, "hostA*4 hostB"},
    {"4*hostA:2*hostB", BJ_HOSTS_LSF, 0, "hostA*4 hostB*2"},
    {"hostA hostA hostB", BJ_HOSTS_LSF, 0, "hostA hostA hostB"},
    {"1node 2*2node", BJ_HOSTS_LSF, 0, "1node 2node*2"},
    {"-", BJ_HOSTS_LSF, 0, ""},
    {"4*", BJ_HOSTS_LSF, -EINVAL, ""},
};

static void test_hosts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(hosts); i++) {
        char *mem, have[300] = "";
        const struct bj_slice s = exact(hosts[i].text, &mem);
        struct bj_hostlist l;
        struct bj_slice name;
        uint64_t n = 77, seen = 0;
        int r = bj_hostlist_count(s, hosts[i].grammar, &n);
        if (r != hosts[i].status)
            print_message("'%s': %d\n", hosts[i].text, r);
        assert_int_equal(r, hosts[i].status);
        assert_int_equal(bj_hostlist_begin(&l, s, hosts[i].grammar), r);
        size_t len = 0;
        while (r == 0 && bj_hostlist_next(&l, &name)) {
            assert_int_equal(strlen(name.p), name.n);
            len += (size_t)snprintf(have + len, sizeof(have) - len, "%s%s",
                                    seen++ ? " " : "", name.p);
            if (l.slots != 1)
                len += (size_t)snprintf(have + len, sizeof(have) - len, "*%u",
                                        (unsigned)l.slots);
        }
        assert_string_equal(have, hosts[i].want);
        assert_int_equal(n, r == 0 ? seen : 77);
        free(mem);
    }
}

/* Lists of other schedulers in Slurm's notation, as Slurm's hostlist functions
 * would write these names; hosts, slots. */
static const struct {
    const char *text;
    enum bj_hosts_grammar grammar;
    const char *want;
    uint64_t hosts, slots;
} folded[] = {
    {"n1/17*3", BJ_HOSTS_PBS, "n1", 1, 3},
    {"n1/1*4+n2/0", BJ_HOSTS_PBS, "n[1-2]", 2, 5},
    {"n2/0+n1/0+n4/0+n1/1", BJ_HOSTS_PBS, "n[1-2,4]", 3, 4},
    {"(a:ncpus=4+b:ncpus=4)", BJ_HOSTS_PBS, "a,b", 2, 2},
    {"(h[0]:ncpus=2)+(h[1]:ncpus=2)", BJ_HOSTS_PBS, "h", 1, 2},
    {"n9+n10+n11", BJ_HOSTS_PBS, "n[9-11]", 3, 3},
    {"n09+n10+n11", BJ_HOSTS_PBS, "n[09-11]", 3, 3},
    {"n099+n100", BJ_HOSTS_PBS, "n[099-100]", 2, 2},
    {"n9+n010", BJ_HOSTS_PBS, "n[9,010]", 2, 2},
    {"n1+n01", BJ_HOSTS_PBS, "n[1,01]", 2, 2},
    {"n+n1+n2+login", BJ_HOSTS_PBS, "login,n,n[1-2]", 4, 4},
    {"r1n1+r1n2+r2n1", BJ_HOSTS_PBS, "r1n[1-2],r2n1", 3, 3},
    {"n1.example.org/0+n2.example.org/0", BJ_HOSTS_PBS,
     "n1.example.org,n2.example.org", 2, 2},
    {"n1234567890123456789+n1234567890123456790", BJ_HOSTS_PBS,
     "n1234567890123456789,n1234567890123456790", 2, 2},
    {"17/0+18/0*2", BJ_HOSTS_PBS, "[17-18]", 2, 3},
    {"", BJ_HOSTS_PBS, "", 0, 0},
    {"4*hostA hostB", BJ_HOSTS_LSF, "hostA,hostB", 2, 5},
    {"2*n2:n1", BJ_HOSTS_LSF, "n[1-2]", 2, 3},
    {"n[3,1-2],n2", BJ_HOSTS_SLURM, "n[1-3]", 3, 4},
};

/* All names of a list, sorted, each once. */
static size_t names_of(struct bj_slice list, enum bj_hosts_grammar g,
                       char name[static 8][BJ_HOST_MAX + 1])
{
    struct bj_hostlist l;
    struct bj_slice s;
    size_t n = 0;
    assert_int_equal(bj_hostlist_begin(&l, list, g), 0);
    while (bj_hostlist_next(&l, &s)) {
        size_t at = 0;
        while (at < n && strcmp(name[at], s.p) < 0)
            at++;
        if (at < n && strcmp(name[at], s.p) == 0)
            continue;
        assert_true(n < 8);
        memmove(name[at + 1], name[at], (n - at) * sizeof(*name));
        memcpy(name[at], s.p, s.n + 1);
        n++;
    }
    return n;
}

static void test_fold(void **state)
{
    struct bj_hostfold f = {.host = NULL};
    (void)state;
    for (size_t i = 0; i < COUNT(folded); i++) {
        static char in[9][BJ_HOST_MAX + 1], out[9][BJ_HOST_MAX + 1];
        struct bj_hosts h;
        char *mem;
        const struct bj_slice s = exact(folded[i].text, &mem);
        assert_int_equal(bj_hostfold(&f, s, folded[i].grammar, &h), 0);
        if (!bj_slice_eq(h.text, bj_slice_str(folded[i].want)))
            fail_msg("%s: %.*s", folded[i].text, (int)h.text.n, h.text.p);
        assert_int_equal(h.hosts, folded[i].hosts);
        assert_int_equal(h.slots, folded[i].slots);
        const size_t n = names_of(s, folded[i].grammar, in);
        assert_int_equal(names_of(h.text, BJ_HOSTS_SLURM, out), n);
        for (size_t k = 0; k < n; k++)
            assert_string_equal(in[k], out[k]);
        free(mem);
    }
    struct bj_hosts h = {.hosts = 7};
    assert_int_equal(bj_hostfold(&f, BJ_SLICE("/0*4"), BJ_HOSTS_PBS, &h),
                     -EINVAL);
    assert_int_equal(h.hosts, 7);
    bj_hostfold_free(&f);
}

/* Names too long for brackets are listed one by one. */
static void test_fold_long(void **state)
{
    struct bj_hostfold f = {.host = NULL};
    struct bj_hosts h;
    char text[2 * 251 + 2];
    uint64_t n;
    (void)state;
    memset(text, 'x', sizeof(text));
    text[250] = '1';
    text[251] = '+';
    text[502] = '2';
    assert_int_equal(
        bj_hostfold(&f, (struct bj_slice){text, 503}, BJ_HOSTS_PBS, &h), 0);
    assert_int_equal(h.hosts, 2);
    assert_int_equal(bj_hostlist_count(h.text, BJ_HOSTS_SLURM, &n), 0);
    assert_int_equal(n, 2);
    bj_hostfold_free(&f);
}

/* Huge lists are not expanded before they are read. */
static void test_huge(void **state)
{
    (void)state;
    uint64_t n;
    struct bj_hostlist l;
    struct bj_slice name;
    const struct bj_slice s = BJ_SLICE("a[0-999999999]b[00-99],c");
    assert_int_equal(bj_hostlist_count(s, BJ_HOSTS_SLURM, &n), 0);
    assert_true(n == 100000000001);
    assert_int_equal(bj_hostlist_begin(&l, s, BJ_HOSTS_SLURM), 0);
    for (int i = 0; i < 12345; i++)
        assert_true(bj_hostlist_next(&l, &name));
    assert_string_equal(name.p, "a123b44");
    char *text = malloc(10000);
    memset(text, 'x', 10000);
    assert_int_equal(
        bj_hostlist_count((struct bj_slice){text, 255}, BJ_HOSTS_SLURM, &n), 0);
    assert_int_equal(
        bj_hostlist_count((struct bj_slice){text, 256}, BJ_HOSTS_SLURM, &n),
        -E2BIG);
    assert_int_equal(
        bj_hostlist_count((struct bj_slice){text, 10000}, BJ_HOSTS_PBS, &n),
        -E2BIG);
    free(text);
}

static void test_states_by_users(void **state)
{
    static const struct {
        const char *text;
        enum bj_job_state want;
    } cases[] = {{"running", BJ_STATE_RUNNING},
                 {"Running", BJ_STATE_RUNNING},
                 {"OUT_OF_MEMORY", BJ_STATE_OOM},
                 {"out_of_memory", BJ_STATE_OOM},
                 {"cd", BJ_STATE_COMPLETED},
                 {"unknown", BJ_STATE_UNKNOWN},
                 {"UNKNOWN", BJ_STATE_UNKNOWN},
                 {"", BJ_STATES},
                 {"sleeping", BJ_STATES},
                 {"completedx", BJ_STATES},
                 {"CANCELLED BY 1000 AND A LOT MORE", BJ_STATES}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *mem;
        const struct bj_slice text = exact(cases[i].text, &mem);
        assert_int_equal(bj_state_from_people(text), cases[i].want);
        free(mem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_used),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_fold_long),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_states_by_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
