/* What writing a page costs: writes a page of 512 invented jobs ROUNDS times,
 * and prints nothing.  Two runs under callgrind with different ROUNDS give the
 * instructions of one page.
 *
 * page_bench ROUNDS [openmetrics] [count]
 *
 * "count" prints the number of series and bytes of the page instead. */
#include "core/find/ident.h"
#include "standalone/page.h"

#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 512, CORES = 4, FIELDS = sizeof(struct bj_usage) / 8 };

/* Typical values: seconds with all six digits, gigabytes, small numbers. */
static void fill_usage(struct bj_usage *u, uint64_t seed)
{
    uint64_t v[FIELDS];
    for (size_t i = 0; i < FIELDS; i++)
        v[i] = (seed + i) * 2654435761u % (uint64_t)68719476736;
    memcpy(u, v, sizeof(v));
    u->cpus = 4;
    u->pids = 17;
}

static void fill_job(struct bj_job *j, struct bj_core_use *cores, uint64_t n)
{
    static const char *const numbers[CORES] = {"12", "13", "14", "15"};
    struct bj_slice f[BJ_ID_FIELDS] = {{0}};
    struct bj_conf conf = {.label_user = true, .label_account = true};
    char id[24], user[24], account[24];
    snprintf(id, sizeof(id), "%llu", 4700000ull + n);
    snprintf(user, sizeof(user), "user%03u", (unsigned)n % 97);
    snprintf(account, sizeof(account), "project%02u", (unsigned)n % 11);
    f[BJ_ID_JOBID] = bj_slice_str(id);
    f[BJ_ID_USER] = bj_slice_str(user);
    f[BJ_ID_ACCOUNT] = bj_slice_str(account);
    f[BJ_ID_UID] = BJ_SLICE("10123");
    f[BJ_ID_PARTITION] = BJ_SLICE("normal");
    f[BJ_ID_SYSTEM] = BJ_SLICE("slurm");
    f[BJ_ID_SOURCE] = BJ_SLICE("file");
    /* Fields not set here are absent, not 0. */
    bj_job_clear(j);
    j->cores = (struct bj_list){cores, CORES};
    j->ident = bj_ident_new(f, &conf);
    if (!j->ident)
        exit(1);
    fill_usage(&j->use, n);
    j->start_sec = 1700000000 + n;
    j->ident_info = 1;
    for (size_t i = 0; i < CORES; i++)
        cores[i] = (struct bj_core_use){
            {{bj_slice_str(numbers[i])}}, n * 7919 * 1000003, BJ_ABSENT};
}

static size_t count_series(const struct bj_buf *page)
{
    size_t n = 0;
    struct bj_slice rest = {page->p, page->len}, line;
    while (bj_slice_line(&rest, &line))
        n += line.n > 0 && line.p[0] != '#';
    return n;
}

int main(int argc, char **argv)
{
    static struct bj_job jobs[JOBS];
    static struct bj_core_use cores[JOBS][CORES];
    static struct bj_snap snap;
    uint64_t rounds = 1;
    enum bj_page_format format = BJ_PAGE_TEXT;
    bool count = false;
    struct bj_buf page = {0};
    struct bj_page_heads heads = {0};
    if (argc > 1 && bj_slice_u64(bj_slice_str(argv[1]), &rounds) < 0)
        return 1;
    for (int i = 2; i < argc; i++) {
        format = argv[i][0] == 'o' ? BJ_PAGE_OPENMETRICS : format;
        count = count || argv[i][0] == 'c';
    }
    bj_node_clear(&snap.node);
    bj_self_clear(&snap.self);
    snap.jobs = (struct bj_list){jobs, JOBS};
    for (size_t i = 0; i < JOBS; i++)
        fill_job(&jobs[i], cores[i], i);
    for (uint64_t i = 0; i < rounds; i++) {
        page.len = 0;
        if (bj_page_write(&snap, format, &heads, &page) < 0)
            return 1;
    }
    if (count)
        printf("%zu series, %zu bytes\n", count_series(&page), page.len);
    bj_buf_free(&page);
    bj_page_heads_free(&heads);
    for (size_t i = 0; i < JOBS; i++)
        bj_ident_unref(jobs[i].ident);
    return 0;
}
