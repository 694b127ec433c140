/* The next request of jobs of PBS: single ones, and random ones that are
 * submitted to a model of PBS, use some of what they got, and are submitted
 * again as the request says.  The model here shares no code with that of the
 * report (pbs_resources(7B)); OpenPBS 23.06 accepted such options. */
#include "base/buf.h"
#include "report/request/request.h"
#include "store/db.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MIB(n) ((int64_t)(n) << 20)
#define GIB(n) (MIB(n) << 10)
#define NO BJ_SQL_NULL

/* --- single requests -------------------------------------------------------
 */

static const struct {
    const char *line;
    int64_t nodes, cpus, gpus, memory; /* GiB */
    struct bj_request_need need;
    const char *options, *replaces;
    const char *select, *place; /* what PBS recorded */
} requests[] = {
    /* clang-format off */
    {"-l select=1:ncpus=8:mem=64gb -l walltime=10:00:00 job.sh", 1,8,0,64,
     {7200,GIB(6),NO,NO,2,NO,NO,NO,false,false},
     "-l select=1:ncpus=2:mem=6gb -l walltime=02:00:00", "select=1:ncpus=8:mem=64gb;walltime=10:00:00", NULL, NULL},
    {"-l select=1:ncpus=4:mpiprocs=4:ngpus=2:mem=64gb job.sh", 1,4,2,64,
     {NO,NO,NO,NO,NO,1,NO,NO,false,false},
     "-l select=1:ncpus=4:mpiprocs=4:ngpus=1:mem=64gb", "select=1:ncpus=4:mpiprocs=4:ngpus=2:mem=64gb", NULL, NULL},
    {"-l ncpus=8,mem=64gb job.sh", 1,8,0,64,
     {NO,GIB(6),NO,NO,2,NO,NO,NO,false,false},
     "-l ncpus=2 -l mem=6gb", "ncpus=8;mem=64gb", NULL, NULL},
    {"-l mem=64gb job.sh", 2,8,0,64,
     {NO,GIB(6),NO,NO,NO,NO,NO,NO,false,false},
     NULL, NULL, NULL, NULL},
    /* nothing is recorded */
    {"job.sh", 1,8,0,64,
     {97200,GIB(6),NO,NO,2,NO,NO,NO,false,false},
     "-l walltime=27:00:00", NULL, NULL, NULL},
    /* a script: its resources are what PBS recorded */
    {"job.sh", 1,8,0,64,
     {7200,GIB(6),NO,NO,2,NO,NO,NO,false,false},
     "-l select=1:ncpus=2:mem=6gb -l walltime=02:00:00", NULL, "1:ncpus=8:mem=64gb", "pack"},
    /* accounting alone */
    {NULL, 2,8,0,64,
     {NO,GIB(6),NO,NO,NO,NO,NO,NO,false,false},
     "-l select=2:ncpus=4:mem=6gb -l place=scatter:shared", NULL, "2:ncpus=4:mem=32gb", "scatter:shared"},
    /* nodes of the old syntax become chunks */
    {"-l nodes=2:ppn=4,mem=64gb -N a job.sh", 2,8,0,64,
     {NO,GIB(6),NO,NO,NO,NO,NO,NO,false,false},
     "-l select=2:ncpus=4:mem=6gb:mpiprocs=4 -l place=scatter", "nodes=2:ppn=4 mem=64gb", "2:ncpus=4:mem=33554432KB:mpiprocs=4", "scatter"},
    /* different chunks: none gets more than it had, unless memory ran out */
    {"-l select=1:ncpus=8:mem=48gb+2:ncpus=4:mem=8gb job.sh", 3,16,0,64,
     {NO,GIB(10),NO,NO,NO,NO,NO,NO,false,false},
     "-l select=1:ncpus=8:mem=10gb+2:ncpus=4:mem=8gb", "select=1:ncpus=8:mem=48gb+2:ncpus=4:mem=8gb", "1:ncpus=8:mem=48gb+2:ncpus=4:mem=8gb", "free"},
    {"-l select=1:ncpus=8:mem=48gb+2:ncpus=4:mem=8gb job.sh", 3,16,0,64,
     {NO,NO,NO,GIB(35),NO,NO,NO,NO,false,false},
     "-l select=1:ncpus=8:mem=75gb+2:ncpus=4:mem=12gb", "select=1:ncpus=8:mem=48gb+2:ncpus=4:mem=8gb", "1:ncpus=8:mem=48gb+2:ncpus=4:mem=8gb", "free"},
    /* swap is counted with memory */
    {"-l select=1:ncpus=1:mem=4gb:vmem=5gb job.sh", 1,1,0,4,
     {NO,NO,NO,GIB(6),NO,NO,NO,NO,false,false},
     "-l select=1:ncpus=1:mem=6gb:vmem=7gb", "select=1:ncpus=1:mem=4gb:vmem=5gb", "1:ncpus=1:mem=4gb:vmem=5gb", "free"},
    /* memory is a default of the queue */
    {"-l select=2:ncpus=4 job.sh", 2,8,0,8,
     {NO,NO,NO,GIB(6),NO,NO,NO,NO,false,false},
     "-l select=2:ncpus=4:mem=6gb", "select=2:ncpus=4", "2:ncpus=4", "free"},
    /* chunks on one node: each may be on another one next time, unless packed */
    {"-l select=4:ncpus=2:mem=8gb job.sh", 1,8,0,32,
     {NO,GIB(6),NO,NO,NO,NO,NO,NO,false,false},
     NULL, NULL, "4:ncpus=2:mem=8gb", "free"},
    {"-l select=4:ncpus=2:mem=8gb -l place=pack job.sh", 1,8,0,32,
     {NO,GIB(6),NO,NO,NO,NO,NO,NO,false,false},
     "-l select=4:ncpus=2:mem=1536mb", "select=4:ncpus=2:mem=8gb", "4:ncpus=2:mem=8gb", "pack"},
    /* chunks of one CPU: fewer of them, with the memory of all */
    {"-l select=8:ncpus=1:mem=3gb job.sh", 1,8,0,24,
     {NO,NO,NO,NO,3,NO,NO,NO,false,false},
     "-l select=3:ncpus=1:mem=8gb", "select=8:ncpus=1:mem=3gb", "8:ncpus=1:mem=3gb", "free"},
    {"-l select=2:ncpus=4:naccelerators=4 job.sh", 2,8,8,0,
     {NO,NO,NO,NO,NO,1,NO,NO,false,false},
     "-l select=2:ncpus=4:naccelerators=1", "select=2:ncpus=4:naccelerators=4", "2:ncpus=4:naccelerators=4", "scatter"},
    /* nodes that were not used */
    {"-l select=4:ncpus=8:mem=16gb -l place=scatter job.sh", 4,32,0,64,
     {NO,NO,NO,NO,NO,NO,3,NO,false,false},
     "-l select=3:ncpus=8:mem=16gb", "select=4:ncpus=8:mem=16gb", "4:ncpus=8:mem=16gb", "scatter"},
    /* all on one node, with as many processes and threads */
    {"-l select=4:ncpus=2:mpiprocs=2:mem=16gb job.sh", 4,8,0,64,
     {NO,NO,GIB(20),NO,NO,NO,1,NO,false,true},
     "-l select=1:ncpus=8:mpiprocs=8:mem=20gb", "select=4:ncpus=2:mpiprocs=2:mem=16gb", "4:ncpus=2:mpiprocs=2:mem=16gb", "free"},
    {"-l select=4:ncpus=2:mem=16gb job.sh", 4,8,0,64,
     {NO,NO,GIB(20),NO,NO,NO,1,NO,false,true},
     "-l select=1:ncpus=8:mem=20gb:mpiprocs=4:ompthreads=2", "select=4:ncpus=2:mem=16gb", "4:ncpus=2:mem=16gb", "free"},
    {"-l select=4:ncpus=2:mem=16gb:scratch=1gb job.sh", 4,8,0,64,
     {NO,NO,GIB(20),NO,NO,NO,1,NO,false,true},
     NULL, NULL, "4:ncpus=2:mem=16gb:scratch=1gb", "free"},
    /* less of a node of its own saves nothing */
    {"-l select=1:ncpus=8:mem=64gb job.sh", 1,8,0,64,
     {NO,GIB(6),NO,NO,2,NO,NO,NO,false,false},
     NULL, NULL, "1:ncpus=8:mem=64gb", "free:exclhost"},
    {"-l select=1:ncpus=8:ompthreads=8 job.sh", 1,8,0,0,
     {NO,NO,NO,NO,2,NO,NO,NO,false,false},
     "-l select=1:ncpus=2:ompthreads=2", "select=1:ncpus=8:ompthreads=8", "1:ncpus=8:ompthreads=8", "free"},
    {"-l select=1:ncpus=8:mpiprocs=2:ompthreads=4 job.sh", 1,8,0,0,
     {NO,NO,NO,NO,2,NO,NO,NO,false,false},
     NULL, NULL, "1:ncpus=8:mpiprocs=2:ompthreads=4", "free"},
    /* not for a shell, and Torque's nodes */
    {NULL, 1,8,0,64,
     {NO,GIB(6),NO,NO,NO,NO,NO,NO,false,false},
     NULL, NULL, "1:ncpus=8:mem=64gb:a=$(id)", "free"},
    {NULL, 1,8,0,64,
     {7200,GIB(6),NO,NO,NO,NO,NO,NO,false,false},
     "-l walltime=02:00:00", NULL, "1:ppn=8", NULL},
    /* limits of processes */
    {"-l select=1:ncpus=8:mem=64gb -l pmem=60gb a.sh", 1,8,0,64,
     {NO,GIB(6),NO,NO,2,NO,NO,NO,false,false},
     "-l select=1:ncpus=2:mem=64gb", "select=1:ncpus=8:mem=64gb", "1:ncpus=8:mem=64gb", "free"},
    /* two selects */
    {"-l select=1:ncpus=8:mem=64gb -l select=1:ncpus=4 a.sh", 1,8,0,64,
     {NO,GIB(6),NO,NO,2,NO,NO,NO,false,false},
     NULL, NULL, "1:ncpus=8:mem=64gb", "free"},
    /* clang-format on */
};

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct bj_arena arena = {0};
        struct bj_request got;
        struct bj_buf replaces = {0};
        const struct bj_request_job job = {
            .system = BJ_SLICE("pbs"),
            .submit_line = bj_slice_str(requests[i].line),
            .nodes = requests[i].nodes,
            .cpus = requests[i].cpus,
            .cpus_requested = requests[i].cpus,
            .gpus = requests[i].gpus,
            .memory = GIB(requests[i].memory),
            .select = bj_slice_str(requests[i].select),
            .place = bj_slice_str(requests[i].place)};
        bj_request_next(&job, &requests[i].need, &arena, &got);
        const char *want = requests[i].options;
        if (!bj_slice_eq(got.all, bj_slice_str(want)))
            fail_msg("%s:\n  %.*s\ninstead of\n  %s",
                     requests[i].line ? requests[i].line : "", (int)got.all.n,
                     got.all.p ? got.all.p : "", want ? want : "nothing");
        for (unsigned k = 0; want && k < BJ_REQUEST_PARTS; k++) {
            const struct bj_slice r = got.of[k].replaces;
            bj_buf_str(&replaces, r.n > 0 && replaces.len > 0 ? ";" : "");
            bj_buf_slice(&replaces, r);
        }
        if (want && !bj_slice_eq((struct bj_slice){replaces.p, replaces.len},
                                 bj_slice_str(requests[i].replaces)))
            fail_msg("%s replaces %.*s", requests[i].line, (int)replaces.len,
                     replaces.p ? replaces.p : "nothing");
        bj_buf_free(&replaces);
        bj_arena_free(&arena);
    }
}

/* --- random jobs -----------------------------------------------------------
 */

enum { JOBS = 10000, KINDS = 3, CHUNKS = 32 };

struct kind {
    int count, cpus, mpi, threads, gpus; /* 0: not requested */
    long long mem, swap;                 /* MiB */
};

struct random_job {
    struct kind kind[KINDS];
    int kinds, chunks, nodes, node[CHUNKS]; /* where each chunk is */
    const char *place;
    char select[400], line[500];
    int64_t cpus, gpus, memory; /* MiB */
    int64_t peak[CHUNKS];       /* of each chunk, MiB */
};

static int between(int a, int b)
{
    return a + rand() % (b - a + 1);
}

static bool chance(int percent)
{
    return between(1, 100) <= percent;
}

static void make_job(struct random_job *j)
{
    static const char *const places[] = {"free", "pack", "scatter",
                                         "scatter:excl", "free:shared"};
    size_t n = 0;
    memset(j, 0, sizeof(*j));
    j->kinds = chance(75) ? 1 : between(2, KINDS);
    j->place = places[between(0, 4)];
    const bool mem = chance(90), gpus = chance(25);
    for (int i = 0; i < j->kinds; i++) {
        struct kind *k = &j->kind[i];
        k->count = chance(50) ? 1 : between(1, 8);
        k->cpus = chance(30) ? 1 : between(1, 32);
        k->mpi = chance(40) ? (chance(50) ? k->cpus : 1) : 0;
        k->threads = chance(15) ? (chance(50) ? k->cpus : 1) : 0;
        k->gpus = gpus ? between(1, 4) : 0;
        k->mem = mem ? between(1, 200) * 512 : 0;
        k->swap = mem && chance(10) ? k->mem + 1024 : 0;
        n += (size_t)snprintf(j->select + n, sizeof(j->select) - n,
                              "%s%d:ncpus=%d", i > 0 ? "+" : "", k->count,
                              k->cpus);
        const struct {
            const char *name, *unit;
            long long v;
        } more[] = {{"mpiprocs", "", k->mpi},
                    {"ompthreads", "", k->threads},
                    {"ngpus", "", k->gpus},
                    {"mem", "mb", k->mem},
                    {"vmem", "mb", k->swap}};
        for (int m = 0; m < 5; m++)
            if (more[m].v > 0)
                n += (size_t)snprintf(j->select + n, sizeof(j->select) - n,
                                      ":%s=%lld%s", more[m].name, more[m].v,
                                      more[m].unit);
        for (int c = 0; c < k->count; c++, j->chunks++) {
            j->cpus += k->cpus;
            j->gpus += k->gpus;
            j->memory += k->mem;
            if (j->chunks > 0)
                j->node[j->chunks] = j->node[j->chunks - 1] +
                                     (strcmp(j->place, "pack") != 0 &&
                                      (j->place[0] == 's' || chance(50)));
            /* A chunk that is alone on its node is limited by its own. */
            j->peak[j->chunks] = k->mem * between(1, 95) / 100;
        }
    }
    j->nodes = j->node[j->chunks - 1] + 1;
    if (chance(50))
        snprintf(j->line, sizeof(j->line), "-N x -l select=%s -l place=%s a.sh",
                 j->select, j->place);
    else if (chance(50))
        snprintf(j->line, sizeof(j->line), "a.sh");
}

/* Read "-l select=..." as PBS does; sizes in KiB. */
static int read_select(const char *p, struct kind *to)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    int n = 0;
    for (;; p++, n++) {
        assert_true(n < KINDS);
        struct kind *k = &to[n];
        memset(k, 0, sizeof(*k));
        k->count = 1;
        while (*p && *p != '+' && *p != ' ') {
            char name[20], *end;
            long long v = strtoll(p, &end, 10);
            if (end != p) {
                k->count = (int)v;
            } else {
                const size_t n_name = strspn(p, letters);
                assert_true(n_name < sizeof(name) && p[n_name] == '=');
                memcpy(name, p, n_name);
                name[n_name] = '\0';
                v = strtoll(p + n_name + 1, &end, 10);
                v <<= *end == 'g' ? 20 : *end == 'm' ? 10 : 0;
                end += strspn(end, letters);
                const struct {
                    const char *name;
                    int *to;
                    long long *size;
                } all[] = {{"ncpus", &k->cpus, NULL},
                           {"mpiprocs", &k->mpi, NULL},
                           {"ompthreads", &k->threads, NULL},
                           {"ngpus", &k->gpus, NULL},
                           {"mem", NULL, &k->mem},
                           {"vmem", NULL, &k->swap}};
                bool known = false;
                for (int i = 0; i < 6; i++)
                    if (strcmp(name, all[i].name) == 0) {
                        known = true;
                        if (all[i].to)
                            *all[i].to = (int)v;
                        else
                            *all[i].size = v;
                    }
                assert_true(known);
            }
            p = end;
            if (*p == ':')
                p++;
        }
        if (*p != '+')
            return n + 1;
    }
}

static int64_t round_up(int64_t mib)
{
    return bj_request_memory(MIB(mib), 20);
}

/* The wishes of the report, from what the job used. */
static struct bj_request_need make_need(const struct random_job *j,
                                        int64_t *ret_cpus, int64_t *ret_gpus,
                                        bool *ret_oom)
{
    struct bj_request_need need = {NO, NO, NO, NO,    NO,
                                   NO, NO, NO, false, false};
    int64_t node[CHUNKS] = {0}, most = 0;
    for (int i = 0; i < j->chunks; i++) {
        node[j->node[i]] += j->peak[i];
        if (node[j->node[i]] > most)
            most = node[j->node[i]];
    }
    *ret_oom = j->memory > 0 && chance(15);
    if (*ret_oom)
        need.more = bj_request_round_memory(MIB(j->memory) / j->nodes / 2 * 3);
    else if (j->memory > 0 && chance(70))
        need.memory = round_up(most);
    *ret_cpus = between(1, (int)j->cpus);
    if (!*ret_oom && j->nodes == 1 && chance(60))
        need.cpus = *ret_cpus;
    const struct kind *k = &j->kind[0];
    *ret_gpus = k->gpus > 0 ? between(1, k->gpus) : 0;
    if (!*ret_oom && *ret_gpus > 0 && *ret_gpus < k->gpus && j->kinds == 1)
        need.gpus = *ret_gpus;
    return need;
}

static void check_next(const struct random_job *j,
                       const struct bj_request_need *need, bool oom,
                       const char *options)
{
    struct kind now[KINDS];
    const int kinds = read_select(options + strlen("-l select="), now);
    int64_t cpus = 0, gpus = 0, memory = 0;
    int chunk = 0;
#define CHECK(what)                                                            \
    if (!(what))                                                               \
    fail_msg("%s\n  line %s\n  place %s\n  next %s", #what, j->line, j->place, \
             options)
    CHECK(kinds == j->kinds);
    for (int i = 0; i < kinds; i++) {
        const struct kind *was = &j->kind[i], *k = &now[i];
        cpus += k->cpus * k->count;
        gpus += k->gpus * k->count;
        memory += k->mem * k->count;
        CHECK(k->gpus <= was->gpus);
        CHECK((was->swap > 0) == (k->swap > 0));
        CHECK(k->swap == 0 ||
              k->swap >= k->mem + (was->swap - was->mem) * 1024 || !oom);
        CHECK(k->swap == 0 || k->swap >= k->mem);
        CHECK(was->mem == 0 || k->mem > 0);
        CHECK(!oom || k->mem > was->mem * 1024 || need->more == NO);
        /* On a node of its own each chunk has what it used. */
        if (j->chunks == j->nodes && k->count == was->count)
            for (int c = 0; c < was->count; c++, chunk++)
                CHECK(k->mem >= j->peak[chunk] * 1024);
    }
    if (j->nodes == 1) {
        int64_t used = 0;
        for (int i = 0; i < j->chunks; i++)
            used += j->peak[i];
        CHECK(memory >= used * 1024);
    }
    CHECK(cpus <= j->cpus && gpus <= j->gpus);
    CHECK(oom || memory <= j->memory * 1024);
    CHECK(need->cpus == NO || cpus >= need->cpus);
    CHECK(need->gpus == NO || now[0].gpus >= need->gpus);
    CHECK(cpus < j->cpus || gpus < j->gpus || memory < j->memory * 1024 || oom);
#undef CHECK
}

static void test_random(void **state)
{
    int answers = 0;
    (void)state;
    srand(1);
    for (int i = 0; i < JOBS; i++) {
        struct random_job j;
        struct bj_arena arena = {0};
        struct bj_request got;
        int64_t cpus, gpus;
        bool oom;
        make_job(&j);
        const struct bj_request_need need = make_need(&j, &cpus, &gpus, &oom);
        const struct bj_request_job job = {
            .system = BJ_SLICE("pbs"),
            .submit_line = bj_slice_str(j.line),
            .nodes = j.nodes,
            .cpus = j.cpus,
            .cpus_requested = j.cpus,
            .gpus = j.gpus,
            .memory = j.memory > 0 ? MIB(j.memory) : NO,
            .select = bj_slice_str(j.select),
            .place = bj_slice_str(j.place)};
        bj_request_next(&job, &need, &arena, &got);
        if (got.all.n > 0) {
            char text[600];
            snprintf(text, sizeof(text), "%.*s", (int)got.all.n, got.all.p);
            check_next(&j, &need, oom, text);
            /* The placement stays, from the line or with the chunks. */
            if (strncmp(j.place, "scatter", 7) == 0 && !strstr(j.line, "-l"))
                assert_non_null(strstr(text, " -l place=scatter"));
            answers++;
        }
        bj_arena_free(&arena);
    }
    assert_true(answers > JOBS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_requests),
                                       cmocka_unit_test(test_random)};
    return cmocka_run_group_tests_name("request_pbs", tests, NULL, NULL);
}
