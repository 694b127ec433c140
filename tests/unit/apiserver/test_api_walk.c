/* A list that takes too long ends at its time limit, with a cursor.  The pages
 * of all cursors together are the whole list, even if each page ends after the
 * minimum of rows.  Plain SQL gives the expected rows. */
#include "tests/unit/apiserver/test_api_rig.h"

#include "base/json.h"
#include "tests/unit/lib/rounds.h"

enum { JOBS = 4500, PAGES = 4000, WHEN = 1700000000 };

static struct rig rig;
static bool no_time;

void __real_bj_reader_walk(struct bj_reader *r, bool ascending, unsigned part);
void __wrap_bj_reader_walk(struct bj_reader *r, bool ascending, unsigned part);
void __wrap_bj_reader_walk(struct bj_reader *r, bool ascending, unsigned part)
{
    __real_bj_reader_walk(r, ascending, no_time ? 0 : part);
}

/* --- a store ---------------------------------------------------------------
 */

static void put(struct bj_upsert *u, unsigned n)
{
    static const char *const users[] = {"ada", "bob", "lead", false};
    static const char *const accounts[] = {"phys", "chem"};
    struct bj_sched_job j;
    char id[16], name[24];
    /* Seven jobs start at the same time. */
    const uint64_t at = WHEN + n / 7 * 100;
    snprintf(id, sizeof(id), "%u", n);
    if (n % 997 == 5)
        snprintf(name, sizeof(name), "rare");
    else
        snprintf(name, sizeof(name), "run-%u", n % 50);
    bj_sched_job_init(&j);
    j.batch_system = BJ_SLICE("slurm");
    j.jobid = bj_slice_str(id);
    j.user = bj_slice_str(users[n % 3]);
    j.account = bj_slice_str(accounts[n / 3 % 2]);
    j.partition = n % 1500 == 7 ? BJ_SLICE("tiny") : BJ_SLICE("long");
    j.name = bj_slice_str(name);
    j.nodelist = n % 800 == 3 ? BJ_SLICE("n1") : BJ_SLICE("n2");
    j.state = n % 2 ? BJ_STATE_COMPLETED : BJ_STATE_FAILED;
    j.submit_sec = j.start_sec = at;
    j.end_sec = at + 50;
    j.elapsed_sec = 50;
    j.cpus = j.nodes = 1;
    assert_int_equal(bj_upsert_job(u, BJ_SLICE("hal"), &j, NULL), 0);
}

static void fill(void)
{
    struct bj_store *s = store_open(&rig.f);
    struct bj_upsert *u = upsert_open(s);
    assert_int_equal(bj_upsert_begin(u, NULL), 0);
    for (unsigned n = 1; n <= JOBS; n++)
        put(u, n);
    assert_int_equal(bj_upsert_commit(u, NULL), 0);
    bj_upsert_free(u);
    bj_store_close(s);
}

/* --- requests --------------------------------------------------------------
 */

#define VISIBLE "(user = 'lead' OR account = 'phys')"

static const struct {
    const char *user, *filter;
    const char *where; /* the same in SQL, over job_v */
    bool dense;        /* pages need not be partial */
} lists[] = {
    {"boss", "name=rare", "name = 'rare'", false},
    {"boss", "name=run-4", "name LIKE '%run-4%'", true},
    {"boss", "name=nosuch", "0", true},
    {"boss", "name=RaR&state=failed", "name = 'rare' AND state = 'failed'",
     false},
    {"boss", "node=n1", "nodelist = 'n1'", false},
    {"boss", "partition=tiny", "partition = 'tiny'", false},
    {"boss", "state=running", "0", true},
    {"boss", "state=timeout", "0", false},
    {"boss", "user=ada,bob&name=rare",
     "user IN ('ada', 'bob') AND name = 'rare'", false},
    {"boss", "account=chem,phys&node=n1", "nodelist = 'n1'", false},
    {"boss", "gpu=1", "0", false},
    {"lead", "name=rare", VISIBLE " AND name = 'rare'", false},
    {"lead", "name=run-4", VISIBLE " AND name LIKE '%run-4%'", true},
    {"lead", "partition=tiny", VISIBLE " AND partition = 'tiny'", false},
    {"lead", "node=n1&mine=1", "user = 'lead' AND nodelist = 'n1'", false},
    {"ada", "node=n1", "user = 'ada' AND nodelist = 'n1'", false},
    {"ada", "name=run-4", "user = 'ada' AND name LIKE '%run-4%'", true},
    {"ada", "partition=tiny", "user = 'ada' AND partition = 'tiny'", false},
};

static char *expected(size_t list, bool ascending)
{
    struct bj_buf sql = {0};
    struct bj_store *s = store_open(&rig.f);
    bj_buf_printf(&sql,
                  "SELECT jobid FROM job_v WHERE %s ORDER BY start_sec %s, id "
                  "%s",
                  lists[list].where, ascending ? "" : "DESC",
                  ascending ? "" : "DESC");
    bj_buf_put(&sql, "", 1);
    char *text = query(s, sql.p);
    bj_buf_free(&sql);
    bj_store_close(s);
    return text;
}

struct pages {
    struct bj_buf ids;
    char next[64];
    unsigned n, partial;
    bool minimum;
};

static void take_page(struct pages *p, unsigned limit)
{
    struct bj_arena arena = {0};
    const struct bj_json *doc = NULL;
    struct bj_err err = {0};
    unsigned rows = 0;
    const char *body = strstr(rig.response, "\r\n\r\n") + 4;
    if (bj_json_parse(&arena, bj_slice_str(body), "answer", NULL, &doc, &err))
        fail_msg("%s: %s", err.msg, body);
    BJ_JSON_EACH(row, bj_json_get(doc, "data"))
    {
        bj_buf_slice(&p->ids, bj_json_text(bj_json_get(row, "jobid")));
        bj_buf_str(&p->ids, "\n");
        rows++;
    }
    struct bj_slice next = bj_json_text(bj_json_path(doc, "meta.next"));
    bool partial = strstr(rig.response, "\"partial\":true") != NULL;
    /* A page that is not full is partial or the last. */
    assert_true(rows == limit || partial || next.n == 0);
    assert_true(!partial || next.n > 0);
    snprintf(p->next, sizeof(p->next), "%.*s", (int)next.n,
             next.p ? next.p : "");
    p->partial += partial;
    p->n++;
    bj_arena_free(&arena);
}

static void read_pages(struct pages *p, size_t list, bool ascending,
                       unsigned limit)
{
    char path[300];
    *p = (struct pages){0};
    do {
        snprintf(path, sizeof(path),
                 "/api/v1/jobs?from=%d&to=%d&fields=jobid&limit=%u&order=%s&%s"
                 "&cursor=%s",
                 WHEN, WHEN + JOBS * 100, limit, ascending ? "asc" : "desc",
                 lists[list].filter, p->next);
        unsigned status = rig_request(&rig, lists[list].user, path, NULL);
        if (status != 200)
            fail_msg("%s: %s", path, rig.response);
        take_page(p, limit);
        assert_true(p->n < PAGES);
    } while (p->next[0]);
    bj_buf_put(&p->ids, "", 1);
}

static unsigned check(size_t list, bool ascending, unsigned limit)
{
    struct pages p;
    read_pages(&p, list, ascending, limit);
    char *want = expected(list, ascending);
    if (strcmp(p.ids.p, want) != 0)
        fail_msg("%s requests %s: %s, not %s", lists[list].user,
                 lists[list].filter, p.ids.p, want);
    free(want);
    bj_buf_free(&p.ids);
    return p.partial;
}

/* --- tests -----------------------------------------------------------------
 */

static void test_without_time(void **state)
{
    (void)state;
    no_time = true;
    for (size_t i = 0; i < COUNT(lists); i++)
        for (unsigned k = 0; k < 4; k++) {
            const unsigned few = lists[i].dense ? bj_rounds(3, 40) : 3;
            unsigned partial = check(i, k & 1, k & 2 ? few : 100);
            assert_true(partial > 0 || lists[i].dense || k & 2);
        }
}

static void test_with_time(void **state)
{
    (void)state;
    no_time = false;
    for (size_t i = 0; i < COUNT(lists); i++)
        assert_int_equal(check(i, i & 1, 500), 0);
}

static bool contains(const char *text)
{
    return strstr(rig.response, text) != NULL;
}

/* A total whose count ended early is reported as a minimum. */
static void test_total(void **state)
{
    const char path[] =
        "/api/v1/jobs?from=1700000000&to=1800000000&fields=jobid&"
        "total=1&limit=1&name=run-4";
    (void)state;
    no_time = false;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_request(&rig, i ? "lead" : "boss", path, NULL),
                         200);
        struct bj_store *s = store_open(&rig.f);
        char want[64];
        snprintf(want, sizeof(want),
                 "\"total\":%lld,\"total_is_minimum\":false",
                 (long long)number(s, i ? "SELECT count(*) FROM job_v WHERE "
                                          "name LIKE '%run-4%' AND " VISIBLE
                                        : "SELECT count(*) FROM job_v WHERE "
                                          "name LIKE '%run-4%'"));
        bj_store_close(s);
        assert_true(contains(want));
    }
    no_time = true;
    assert_int_equal(rig_request(&rig, "boss", path, NULL), 200);
    assert_true(contains("\"total_is_minimum\":true"));
}

/* The SimPod API, which cannot mark a list as partial, returns an error; the
 * web page shows that the list is partial. */
static void test_others(void **state)
{
    static const char body[] =
        "{\"targets\":[{\"target\":\"jobs\",\"payload\":{\"name\":\"rare\","
        "\"limit\":\"100\"}}],\"range\":{\"from\":\"2023-01-01T00:00:00Z\","
        "\"to\":\"2030-01-01T00:00:00Z\"}}";
    static const char page[] = "/jobs?from=2023-11-01&to=2030-01-01&name=rare";
    (void)state;
    no_time = true;
    assert_int_equal(rig_request(&rig, "boss", "/api/simpod/query", body), 503);
    assert_true(contains("narrow from and to"));
    assert_int_equal(rig_request(&rig, "boss", page, NULL), 200);
    assert_true(contains("No jobs found so far.") || contains(">rare<"));
    assert_true(contains("The search took too long") &&
                contains(">Continue</a>"));
    no_time = false;
    assert_int_equal(rig_request(&rig, "boss", "/api/simpod/query", body), 200);
    assert_int_equal(rig_request(&rig, "boss", page, NULL), 200);
    assert_false(contains("The search took too long"));
}

static int enter(void **state)
{
    (void)state;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    bj_db_own_threads();
    fixture_open(&rig.f);
    fill();
    rig_open(&rig, "--query.timeout=600s");
    return 0;
}

static int leave(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_time),
        cmocka_unit_test(test_with_time),
        cmocka_unit_test(test_total),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
