/* Mails: message format, addresses, templates, times; which user gets which
 * mail, and that no mail is sent twice. */
#include "tests/unit/statsdb/report_jobs.h"

#include "base/stamp.h"
#include "mail/address.h"
#include "mail/digest.h"
#include "mail/message.h"
#include "mail/mime.h"
#include "mail/sent.h"
#include "mail/service.h"
#include "report/form/html.h"
#include "report/job/job.h"
#include "statsdb/tables/mail_choice.h"
#include "tests/unit/lib/testclock.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* --- the format ------------------------------------------------------------
 */

static void header_is(const char *text, const char *want)
{
    struct bj_buf b = {0};
    bj_mail_header(&b, "Subject", bj_slice_str(text));
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p, want);
    bj_buf_free(&b);
}

static void test_header(void **state)
{
    (void)state;
    header_is("Job 1: done", "Subject: Job 1: done\n");
    header_is("a\r\nBcc: x@example.org", "Subject: a??Bcc: x@example.org\n");
    header_is("\xc3\xa4", "Subject: =?utf-8?B?w6Q=?=\n");
    header_is("=?utf-8?Q?x?=", "Subject: =?utf-8?B?PT91dGYtOD9RP3g/PQ==?=\n");
    /* 42 bytes would end within a character. */
    header_is("01234567890123456789012345678901234567890\xc3\xa4",
              "Subject: =?utf-8?B?"
              "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTA=?=\n"
              " =?utf-8?B?w6Q=?=\n");
}

static void test_quoted(void **state)
{
    struct bj_buf b = {0};
    (void)state;
    bj_mail_quoted(&b, BJ_SLICE("a=b \n.\nFrom x\n\xff\n"));
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p, "a=3Db=20\n=2E\n=46rom x\n=FF\n");
    b.len = 0;
    char line[201];
    memset(line, 'x', 200);
    bj_mail_quoted(&b, (struct bj_slice){line, 200});
    assert_int_equal(b.len, 200 + 2 * 2 + 1);
    assert_memory_equal(b.p + 75, "=\n", 2);
    bj_buf_free(&b);
}

static void test_address(void **state)
{
    static const char *const good[] = {"a@b.c", "anna.b+c@example.org",
                                       "o'neil@x-y.org", "root@localhost"};
    static const char *const bad[] = {
        "",        "a",        "a@",      "@b",      "-a@b",    "a@b.",
        "a@.b",    "a@-b",     "a..b@c",  ".a@b",    "a.@b",    "a@b@c",
        "a b@c.d", "a\n@b.c",  "a@b\n",   "<a@b>",   "a@b,c@d", "a\"@b",
        "a@b..c",  "a@b-.org", "a@b_c.d", "a(b)@c.d"};
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(bj_mail_address_is(bj_slice_str(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (bj_mail_address_is(bj_slice_str(bad[i])))
            fail_msg("'%s' is an address", bad[i]);
}

static void address_of(struct bj_mail_addresses *a, const char *user,
                       const char *want)
{
    char got[BJ_MAIL_ADDRESS_MAX];
    OK(bj_mail_address(a, bj_slice_str(user), NULL, got, &err));
    assert_string_equal(got, want);
}

static void test_addresses(void **state)
{
    char path[] = "/tmp/bj-mail-XXXXXX";
    static const char text[] =
        "# exceptions\nbob  robert@example.com\n\neve -\n";
    int fd = mkstemp(path);
    (void)state;
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    struct bj_mail_conf c = {.address = (char[]){"{user}@example.org"},
                             .address_file = path};
    struct bj_mail_addresses *a = NULL;
    OK(bj_mail_addresses_check_conf(&c, &err));
    OK(bj_mail_addresses_new(&c, &a, &err));
    address_of(a, "anna", "anna@example.org");
    address_of(a, "bob", "robert@example.com");
    address_of(a, "eve", "");
    address_of(a, "a b", "");
    address_of(a, "x,y", "");
    address_of(a, "anna@evil.org\nBcc: z", "");
    bj_mail_addresses_free(a);
    char *words[] = {(char[]){"/bin/echo"}, (char[]){"-n"}};
    c = (struct bj_mail_conf){.address_command = {words, 2}};
    OK(bj_mail_addresses_new(&c, &a, &err));
    address_of(a, "anna@x.org", "anna@x.org");
    address_of(a, "anna", "");
    bj_mail_addresses_free(a);
    assert_int_equal(bj_mail_addresses_check("f", BJ_SLICE("a\n"), &err),
                     -EINVAL);
    assert_string_equal(err.msg,
                        "f, line 1: expected 'USER ADDRESS' or 'USER -'");
    unlink(path);
}

static void template_error_is(const char *text, bool html, const char *want)
{
    struct bj_err e = {0};
    assert_int_equal(bj_mail_template_check(
                         "t", bj_slice_str(text),
                         html ? BJ_MAIL_OF_JOB : BJ_MAIL_DIGEST, html, &e),
                     want ? -EINVAL : 0);
    assert_string_equal(e.msg, want ? want : "");
}

static void test_templates(void **state)
{
    (void)state;
    template_error_is("<b>{ {{ report }}{{job}}{{stop}}", true, NULL);
    template_error_is("a\n{{reprot}}", true,
                      "t, line 2: unknown placeholder reprot");
    template_error_is("{{report}}\n{{stop", true,
                      "t, line 2: }} is missing after {{stop");
    template_error_is("{{report}}", true, "t: {{stop}} is missing");
    template_error_is("{{report}}{{stop}}", false,
                      "t, line 1: expected 'Subject: TEXT' and an empty line");
    template_error_is("Subject: {{job}}\n\n{{report}}{{stop}}", false,
                      "t, line 1: this mail has no placeholder job");
}

/* --- times -----------------------------------------------------------------
 */

static int64_t utc(const char *text)
{
    int64_t sec = 0;
    assert_int_equal(bj_stamp_sec(bj_slice_str(text), BJ_STAMP_BARE_UTC, &sec),
                     0);
    return sec;
}

static void test_schedule(void **state)
{
    struct bj_mail_conf c = {.quiet_hours = (char[]){"22:00-06:30"},
                             .digest_time = (char[]){"08:00"}};
    struct bj_mail_schedule s;
    int64_t since, until;
    (void)state;
    OK(bj_mail_schedule(&c, &s, &err));
    assert_true(bj_mail_is_quiet(&s, utc("2026-11-23T22:00")));
    assert_true(bj_mail_is_quiet(&s, utc("2026-11-23T06:29")));
    assert_false(bj_mail_is_quiet(&s, utc("2026-11-23T06:30")));
    assert_false(bj_mail_is_quiet(&s, utc("2026-11-23T21:59")));
    /* 2026-11-23 is a Monday. */
    assert_int_equal(
        bj_mail_digest_due(&s, false, utc("2026-11-24T07:59"), &since, &until),
        utc("2026-11-23T08:00"));
    assert_int_equal(since, utc("2026-11-22"));
    assert_int_equal(until, utc("2026-11-23"));
    assert_int_equal(
        bj_mail_digest_due(&s, true, utc("2026-11-23T07:59"), &since, &until),
        utc("2026-11-16T08:00"));
    assert_int_equal(
        bj_mail_digest_due(&s, true, utc("2026-11-29T12:00"), &since, &until),
        utc("2026-11-23T08:00"));
    assert_int_equal(since, utc("2026-11-16"));
    assert_int_equal(until, utc("2026-11-23"));
    static const char *const wrong[] = {
        "22", "22:00", "22:00-", "24:00-06:00", "22:00-06:60", "06:00-06:00"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[16];
        snprintf(text, sizeof(text), "%s", wrong[i]);
        c.quiet_hours = text;
        assert_int_equal(bj_mail_schedule(&c, &s, &err), -EINVAL);
    }
}

/* --- which mails are sent ------------------------------------------------- */

enum { NOW = T0 + 5 * 86400 };

struct post {
    struct derive_rig w;
    char dir[64];
    struct bj_mail_conf conf;
    struct bj_mail_service *service;
    atomic_bool stop;
};

static void post_open(struct post *p, const char *choice)
{
    memset(p, 0, sizeof(*p));
    derive_rig_open(&p->w);
    snprintf(p->dir, sizeof(p->dir), "/tmp/bj-mails-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    p->conf = (struct bj_mail_conf){.send = strdup("directory"),
                                    .choice = strdup(choice),
                                    .from = strdup("batch@example.org"),
                                    .reply_to = strdup("help@example.org"),
                                    .address = strdup("{user}@example.org"),
                                    .directory = p->dir,
                                    .delay_usec = 600000000,
                                    .max_age_usec = 86400000000,
                                    .per_user = 10,
                                    .per_day = 100,
                                    .digest_time = strdup("08:00")};
    testclock_set(UINT64_C(1000000000), (uint64_t)(NOW - 7200) * 1000000);
}

static void start(struct post *p)
{
    bj_mail_service_free(p->service);
    OK(bj_mail_service_new(&p->conf, p->w.s, &p->stop, NULL, false, &p->service,
                           &err));
}

/* Send all due mails; returns their number and deletes their files. */
static unsigned mails(struct post *p)
{
    DIR *d = opendir(p->dir);
    struct dirent *e;
    unsigned n = 0;
    OK(bj_mail_service_round(p->service, &err));
    while ((e = readdir(d)))
        if (e->d_name[0] != '.') {
            char path[400];
            snprintf(path, sizeof(path), "%s/%s", p->dir, e->d_name);
            unlink(path);
            n++;
        }
    closedir(d);
    return n;
}

static void post_close(struct post *p)
{
    bj_mail_service_free(p->service);
    testclock_run();
    free(p->conf.send);
    free(p->conf.choice);
    free(p->conf.from);
    free(p->conf.reply_to);
    free(p->conf.address);
    free(p->conf.digest_time);
    assert_int_equal(rmdir(p->dir), 0);
    derive_rig_close(&p->w);
}

/* Store a job of anna that ended then and used a tenth of its memory. */
static void ended(struct post *p, const char *id, int64_t end)
{
    struct bj_sched_job j;
    plain_job(&j, id, end - T0 - 3600);
    j.mem_allocated_bytes = GIB(64);
    put_job(&p->w, &j);
    put_measured(&p->w, &j, "n1", 13700, 4.6, "");
    derive_all(&p->w);
}

static void choose(struct post *p, const char *choice, int64_t at)
{
    OK(bj_mail_choice_write(p->w.s, BJ_SLICE("anna"), bj_slice_str(choice), at,
                            &err));
}

static void advance(int64_t sec)
{
    testclock_advance((uint64_t)sec * 1000000);
}

static void test_one_mail_for_a_job(void **state)
{
    struct post p;
    (void)state;
    post_open(&p, "advice");
    ended(&p, "1", NOW - 9000); /* before mails were switched on */
    start(&p);
    ended(&p, "2", NOW - 7000);
    ended(&p, "3", NOW - 86400 * 3); /* history, imported later */
    advance(7200);
    assert_int_equal(mails(&p), 1);
    assert_int_equal(mails(&p), 0);
    start(&p);
    assert_int_equal(mails(&p), 0);
    /* A later import changes the job. */
    OK(bj_db_exec(bj_store_db(p.w.s), "UPDATE job SET cpus = 5", &err));
    assert_int_equal(mails(&p), 0);
    expect(p.w.s, "SELECT count(*) FROM mail_todo", "0\n");
    post_close(&p);
}

static void test_a_job_that_was_seen_running(void **state)
{
    struct post p;
    struct bj_sched_job j;
    (void)state;
    post_open(&p, "all");
    start(&p);
    plain_job(&j, "1", NOW - T0 - 7300);
    j.state = BJ_STATE_RUNNING;
    j.end_sec = BJ_ABSENT;
    put_job(&p.w, &j);
    advance(7200);
    assert_int_equal(mails(&p), 0);
    j.state = BJ_STATE_COMPLETED;
    j.end_sec = NOW - 700;
    put_job(&p.w, &j);
    assert_int_equal(mails(&p), 0); /* not derived yet */
    derive_all(&p.w);
    assert_int_equal(mails(&p), 1);
    post_close(&p);
}

static void test_choices(void **state)
{
    struct post p;
    (void)state;
    post_open(&p, "off");
    start(&p);
    ended(&p, "1", NOW - 7000);
    advance(7200);
    assert_int_equal(mails(&p), 0);
    ended(&p, "2", NOW - 1000);
    choose(&p, "advice", NOW - 900);
    assert_int_equal(mails(&p), 0); /* ended before the choice */
    ended(&p, "3", NOW - 800);
    assert_int_equal(mails(&p), 1);
    choose(&p, "off", NOW - 750);
    ended(&p, "4", NOW - 700);
    assert_int_equal(mails(&p), 0);
    assert_int_equal(bj_mail_choice_write(p.w.s, BJ_SLICE("anna"),
                                          BJ_SLICE("never"), 1, &err),
                     -EINVAL);
    choose(&p, "", NOW - 740);
    struct bj_mail_choice c;
    OK(bj_mail_choice_read(bj_store_db(p.w.s), BJ_SLICE("anna"), &c, &err));
    assert_string_equal(c.choice, "");
    post_close(&p);
}

static void test_good_jobs_get_no_advice(void **state)
{
    struct post p;
    struct bj_sched_job j;
    (void)state;
    post_open(&p, "advice");
    start(&p);
    plain_job(&j, "1", NOW - T0 - 10600);
    put_job(&p.w, &j);
    put_measured(&p.w, &j, "n1", 13700, 7, "");
    derive_all(&p.w);
    advance(7200);
    assert_int_equal(mails(&p), 0);
    post_close(&p);
}

/* A mail does not call a job good whose use of GPUs nobody measured. */
static void test_unknown_is_not_good(void **state)
{
    struct post p;
    struct bj_sched_job j;
    struct bj_report r;
    struct bj_buf out = {0};
    (void)state;
    post_open(&p, "all");
    plain_job(&j, "1", NOW - T0 - 10600);
    j.gpus = 2;
    put_job(&p.w, &j);
    put_measured(&p.w, &j, "n1", 13700, 7, "");
    derive_all(&p.w);
    assert_int_equal(bj_report_read(bj_store_db(p.w.s),
                                    number(p.w.s, "SELECT id FROM job"), &r,
                                    &err),
                     1);
    struct bj_doc d = {.created_sec = 0};
    bj_report_document(&r, &d);
    bj_doc_html(&d, &out);
    bj_doc_free(&d);
    bj_buf_put(&out, "", 1);
    assert_non_null(strstr(out.p, "<h2 class=\"unknown\"><bdi>Its known use "
                                  "needs no change. Not known: GPU time."));
    assert_null(strstr(out.p, "GPU time</th>"));
    assert_non_null(strstr(out.p, "CPU time</th>"));
    bj_buf_free(&out);
    bj_report_free(&r);
    post_close(&p);
}

static void test_an_array_is_one_mail(void **state)
{
    struct post p;
    struct bj_sched_job j;
    char id[8];
    (void)state;
    post_open(&p, "all");
    start(&p);
    for (unsigned i = 0; i < 6; i++) {
        snprintf(id, sizeof(id), "%u", 100 + i);
        plain_job(&j, id, NOW - T0 - 10500);
        j.array_job = 100;
        j.array_task = i;
        if (i == 5) {
            j.state = BJ_STATE_RUNNING;
            j.end_sec = BJ_ABSENT;
        }
        put_job(&p.w, &j);
    }
    derive_all(&p.w);
    advance(7200);
    assert_int_equal(mails(&p), 0);
    j.state = BJ_STATE_COMPLETED;
    j.end_sec = NOW - 700;
    put_job(&p.w, &j);
    derive_all(&p.w);
    assert_int_equal(mails(&p), 1);
    post_close(&p);
}

/* Of tasks that end in the same second the mail shows the one with the highest
 * number, as the report does, also if it was imported first. */
static void test_tasks_that_end_together(void **state)
{
    struct post p;
    struct bj_sched_job j;
    struct bj_arena arena = {0};
    struct bj_mail_job *job;
    char id[8];
    (void)state;
    post_open(&p, "all");
    start(&p);
    for (unsigned i = 3; i-- > 0;) {
        snprintf(id, sizeof(id), "%u", 100 + i);
        plain_job(&j, id, NOW - T0 - 10500);
        j.array_job = 100;
        j.array_task = i;
        put_job(&p.w, &j);
    }
    derive_all(&p.w);
    OK(bj_mail_collect(p.w.s, &err));
    assert_int_equal(bj_mail_jobs(p.w.s, 0, NOW, &arena, &job, &err), 1);
    assert_int_equal(job->job,
                     number(p.w.s, "SELECT id FROM job WHERE array_task = 2"));
    bj_arena_free(&arena);
    post_close(&p);
}

static void test_limits(void **state)
{
    struct post p;
    char id[8];
    (void)state;
    post_open(&p, "advice");
    p.conf.per_user = 3;
    start(&p);
    for (int i = 0; i < 5; i++) {
        snprintf(id, sizeof(id), "%d", i + 1);
        ended(&p, id, NOW - 7000 + i);
    }
    advance(7200);
    assert_int_equal(mails(&p), 3);
    advance(80000);
    assert_int_equal(mails(&p), 0); /* the others are never sent */
    /* Mails above the limit of all users wait. */
    p.conf.per_user = 10;
    p.conf.per_day = 4;
    ended(&p, "6", NOW + 70000);
    ended(&p, "7", NOW + 70001);
    assert_int_equal(mails(&p), 1);
    advance(7000);
    assert_int_equal(mails(&p), 1);
    post_close(&p);
}

static void test_quiet_hours(void **state)
{
    struct post p;
    (void)state;
    post_open(&p, "advice");
    p.conf.quiet_hours = (char[]){"22:00-06:00"};
    start(&p); /* at 22:00 */
    ended(&p, "1", NOW - 7000);
    advance(7200);
    assert_int_equal(mails(&p), 0);
    advance(6 * 3600);
    assert_int_equal(mails(&p), 1);
    post_close(&p);
}

static void test_a_failing_server(void **state)
{
    struct post p;
    char other[80];
    (void)state;
    post_open(&p, "advice");
    start(&p);
    ended(&p, "1", NOW - 7000);
    advance(7200);
    snprintf(other, sizeof(other), "%s/none", p.dir);
    p.conf.directory = other;
    assert_int_equal(mails(&p), 0);
    expect(p.w.s, "SELECT state, tries FROM mail_sent", "waiting|1\n");
    p.conf.directory = p.dir;
    assert_int_equal(mails(&p), 0); /* too early to try again */
    advance(90);
    assert_int_equal(mails(&p), 1);
    expect(p.w.s, "SELECT state, tries, error FROM mail_sent", "sent|2|\n");
    post_close(&p);
}

static void test_killed_while_sending(void **state)
{
    struct post p;
    (void)state;
    post_open(&p, "advice");
    start(&p);
    ended(&p, "1", NOW - 7000);
    advance(7200);
    struct bj_arena arena = {0};
    struct bj_mail_job *job;
    const struct bj_mail_caps caps = {10, 10};
    while (bj_mail_collect(p.w.s, &err) > 0)
        ;
    assert_int_equal(bj_mail_jobs(p.w.s, 0, NOW, &arena, &job, &err), 1);
    assert_int_equal(
        bj_mail_claim(p.w.s, job->key, job->user, &caps, NOW, &err),
        BJ_MAIL_CLAIMED);
    bj_arena_free(&arena);
    start(&p);
    assert_int_equal(mails(&p), 0);
    expect(p.w.s, "SELECT state, error FROM mail_sent",
           "failed|the program ended while it was sent\n");
    post_close(&p);
}

static void test_digests(void **state)
{
    struct post p;
    (void)state;
    post_open(&p, "weekly"); /* NOW is a Tuesday, 00:00 */
    start(&p);
    ended(&p, "1", NOW - 3600);
    advance(7200);
    assert_int_equal(mails(&p), 0);
    choose(&p, "daily", NOW);
    advance(8 * 3600);
    assert_int_equal(mails(&p), 1);
    assert_int_equal(mails(&p), 0);
    choose(&p, "", NOW);
    advance(6 * 86400); /* the next Monday, 08:00 */
    assert_int_equal(mails(&p), 1);
    advance(60);
    start(&p);
    assert_int_equal(mails(&p), 0);
    expect(p.w.s, "SELECT key FROM mail_sent ORDER BY at",
           "day:2025-11-24:anna\nweek:2025-11-24:anna\n");
    post_close(&p);
}

static void test_off(void **state)
{
    struct post p;
    (void)state;
    post_open(&p, "advice");
    start(&p);
    free(p.conf.send);
    p.conf.send = strdup("off");
    start(&p);
    assert_null(p.service);
    expect(p.w.s, "SELECT count(*) FROM mail_state", "0\n");
    post_close(&p);
}

/* --- the message -----------------------------------------------------------
 */

static void test_hostile_names(void **state)
{
    struct bj_report r = {.interactive = false};
    struct bj_mail_conf c = {.from = (char[]){"a@b.c"},
                             .reply_to = (char[]){"a@b.c"},
                             .url = (char[]){"https://x/"}};
    struct bj_mail_templates *t = NULL;
    struct bj_buf out = {0};
    (void)state;
    r.job[BJ_REPORT_DISPLAY_ID] = (struct bj_job_value){
        .known = true, .text = BJ_SLICE("1\nBcc: evil@example.org")};
    r.job[BJ_REPORT_NAME] = (struct bj_job_value){
        .known = true,
        .text = BJ_SLICE("<script>\n.\r\n--=_alternative\n\xff")};
    r.verdict.level = BJ_SLICE("good");
    r.verdict.wrong = BJ_SLICE("x\r\n\r\nbody");
    OK(bj_mail_templates_new(NULL, &t, &err));
    OK(bj_mail_of_job(
        &(struct bj_mail_writer){&c, t, NULL},
        &(struct bj_mail_for){BJ_SLICE("anna"), "anna@b.c", BJ_SLICE("k"), T0},
        &r, &out, &err));
    bj_buf_put(&out, "", 1);
    assert_non_null(strstr(out.p, "Subject: Job 1?Bcc: evil@example.org"));
    assert_null(strstr(out.p, "\nBcc"));
    assert_null(strstr(strstr(out.p, "text/html"), "<script"));
    assert_null(strstr(out.p, "\r"));
    assert_null(strstr(out.p, "\n.\n"));
    assert_non_null(strstr(out.p, "Date: Thu, 20 Nov 2025 00:00:00 +0000\n"));
    bj_buf_free(&out);
    bj_mail_templates_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_quoted),
        cmocka_unit_test(test_address),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_templates),
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_one_mail_for_a_job),
        cmocka_unit_test(test_a_job_that_was_seen_running),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_good_jobs_get_no_advice),
        cmocka_unit_test(test_unknown_is_not_good),
        cmocka_unit_test(test_an_array_is_one_mail),
        cmocka_unit_test(test_tasks_that_end_together),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_quiet_hours),
        cmocka_unit_test(test_a_failing_server),
        cmocka_unit_test(test_killed_while_sending),
        cmocka_unit_test(test_digests),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_hostile_names),
    };
    return cmocka_run_group_tests_name("mail", tests, NULL, NULL);
}
