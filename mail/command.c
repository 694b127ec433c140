#include "mail/command.h"

#include "base/clock.h"
#include "base/log.h"
#include "mail/address.h"
#include "mail/digest.h"
#include "mail/message.h"
#include "mail/plots.h"
#include "mail/send.h"
#include "mail/sent.h"
#include "mail/service.h"
#include "report/form/text.h"
#include "report/job/job.h"
#include "report/model/catalogue.h"
#include "report/model/show.h"
#include "statsdb/job/job_name.h"
#include "statsdb/tables/mail_choice.h"
#include "statsdb/tables/site_zone.h"

#include <stdio.h>
#include <string.h>

const char bj_mail_command_help[] =
    "  mail show JOB             the mail about a job, as it would be sent\n"
    "  mail digest USER [WHICH]  the last daily or weekly digest of a user\n"
    "  mail send JOB [ADDRESS]   send that mail now, to the owner or to "
    "ADDRESS\n"
    "  mail choice USER [CHOICE] print or set what a user gets\n"
    "  mail choices              the choices of all users\n"
    "  mail log                  the last mails and their states\n"
    "  mail templates DIR        write the built-in templates\n";

static const atomic_bool never;

static int64_t wall_sec(void)
{
    return (int64_t)(bj_clock_wall_usec() / 1000000);
}

static struct bj_locals texts; /* texts of the site */
static struct bj_tz *zone;     /* the same */

static int open_store(const struct bj_statsdb_conf *c, bool write,
                      struct bj_store **ret, struct bj_err *err)
{
    int r = bj_store_open(
        &(struct bj_store_options){.path = c->path,
                                   .read_only = !write,
                                   .short_writes = write,
                                   .any_filesystem = c->any_filesystem},
        ret, err);
    if (r == 0)
        r = bj_catalogue_locals(bj_store_db(*ret), &texts, err);
    if (r == 0)
        r = bj_site_zone_read(bj_store_db(*ret), &zone, err);
    bj_locals_use(&texts);
    bj_tz_use(zone);
    return r;
}

/* --- one mail --------------------------------------------------------------
 */

/* Make the mail; to: its address, or "" for the owner's address. */
static int compose(const struct bj_statsdb_conf *c, const char *name,
                   char to[BJ_MAIL_ADDRESS_MAX], struct bj_buf *out,
                   struct bj_err *err)
{
    struct bj_store *s = NULL;
    struct bj_mail_templates *t = NULL;
    struct bj_mail_addresses *a = NULL;
    struct bj_report report = {.interactive = false};
    struct bj_mail_plots_from plots = bj_mail_plots_from_conf(c, &never);
    int64_t job = 0;
    int r = open_store(c, false, &s, err);
    if (r == 0)
        r = bj_job_name_find(bj_store_db(s), name, &job, err);
    if (r == 0)
        r = bj_report_read(bj_store_db(s), job, &report, err);
    if (r >= 0)
        r = bj_mail_templates_new(c->mail.template_dir, &t, err);
    if (r == 0)
        r = bj_mail_addresses_new(&c->mail, &a, err);
    struct bj_slice user = bj_report_text(&report, BJ_REPORT_USER);
    if (r == 0 && !to[0])
        r = bj_mail_address(a, user, &never, to, err);
    if (r == 0 && !to[0])
        r = bj_err_set(err, -EINVAL, "user '%.*s' has no address",
                       (int)(user.n < 60 ? user.n : 60), user.p);
    const struct bj_mail_for who = {
        user, to, bj_report_text(&report, BJ_REPORT_KEY), wall_sec()};
    if (r == 0)
        r = bj_mail_of_job(
            &(struct bj_mail_writer){&c->mail, t,
                                     c->mail.plots ? &plots : NULL},
            &who, &report, out, err);
    bj_report_free(&report);
    bj_mail_addresses_free(a);
    bj_mail_templates_free(t);
    bj_store_close(s);
    return r;
}

static int show(const struct bj_statsdb_conf *c, char *const *word,
                struct bj_err *err)
{
    char to[BJ_MAIL_ADDRESS_MAX] = "";
    struct bj_buf mail = {0};
    int r = compose(c, word[0], to, &mail, err);
    if (r == 0)
        fwrite(mail.p, 1, mail.len, stdout);
    bj_buf_free(&mail);
    return r;
}

/* Show the digest that was due last: "weekly" or "daily". */
static int show_digest(const struct bj_statsdb_conf *c, char *const *word,
                       struct bj_err *err)
{
    struct bj_store *s = NULL;
    struct bj_mail_templates *t = NULL;
    struct bj_mail_schedule schedule;
    struct bj_mail_digest d;
    struct bj_period period = {.groups = 0};
    struct bj_mail_plots_from plots = bj_mail_plots_from_conf(c, &never);
    struct bj_buf mail = {0};
    struct bj_slice user = bj_slice_str(word[0]);
    bool daily = word[1] && strcmp(word[1], "daily") == 0;
    if (word[1] && !daily && strcmp(word[1], "weekly") != 0)
        return bj_err_set(err, -EINVAL, "'%.20s' is not daily or weekly",
                          word[1]);
    int r = bj_mail_schedule(&c->mail, &schedule, err);
    if (r == 0)
        r = open_store(c, false, &s, err);
    if (r == 0)
        r = bj_mail_templates_new(c->mail.template_dir, &t, err);
    if (r == 0) {
        bj_mail_digest_of(&schedule, !daily, wall_sec(), &d);
        r = bj_mail_digest_read(s, user, d.since_sec, d.until_sec, &period,
                                err);
    }
    const struct bj_mail_for who = {user, c->mail.from, user, wall_sec()};
    if (r == 0)
        r = bj_mail_of_period(
            &(struct bj_mail_writer){&c->mail, t,
                                     c->mail.plots ? &plots : NULL},
            &who, &period, d.title, &mail, err);
    if (r == 0)
        fwrite(mail.p, 1, mail.len, stdout);
    bj_buf_free(&mail);
    bj_period_free(&period);
    bj_mail_templates_free(t);
    bj_store_close(s);
    return r;
}

static int send_now(const struct bj_statsdb_conf *c, char *const *word,
                    struct bj_err *err)
{
    char to[BJ_MAIL_ADDRESS_MAX] = "", name[BJ_MAIL_NAME_MAX];
    struct bj_buf mail = {0};
    if (word[1] && !bj_mail_address_is(bj_slice_str(word[1])))
        return bj_err_set(err, -EINVAL, "'%.80s' is not an address", word[1]);
    snprintf(to, sizeof(to), "%s", word[1] ? word[1] : "");
    int r = compose(c, word[0], to, &mail, err);
    bj_mail_name(bj_slice_str(word[0]), name);
    const struct bj_mail_letter letter = {to, name, {mail.p, mail.len}, &never};
    if (r == 0 && bj_mail_send(&c->mail, &letter, err) != BJ_MAIL_SENT)
        r = err->code;
    if (r == 0)
        printf("sent to %s\n", to);
    bj_buf_free(&mail);
    return r;
}

/* --- tables ----------------------------------------------------------------
 */

static int choice(const struct bj_statsdb_conf *c, char *const *word,
                  struct bj_err *err)
{
    struct bj_store *s = NULL;
    struct bj_mail_choice own;
    struct bj_slice user = bj_slice_str(word[0]);
    const char *to = word[1] && strcmp(word[1], "default") == 0 ? "" : word[1];
    int r = open_store(c, to != NULL, &s, err);
    if (r == 0 && to)
        r = bj_mail_choice_write(s, user, bj_slice_str(to), wall_sec(), err);
    if (r == 0)
        r = bj_mail_choice_read(bj_store_db(s), user, &own, err);
    if (r == 0)
        printf("%s%s\n", own.choice[0] ? own.choice : c->mail.choice,
               own.choice[0] ? "" : " (default)");
    bj_store_close(s);
    return r;
}

/* Print rows of texts; the first column is a time if it is a number. */
static int print_rows(const struct bj_statsdb_conf *c, const char *sql,
                      struct bj_err *err)
{
    struct bj_store *s = NULL;
    struct bj_st *st = NULL;
    struct bj_buf out = {0};
    int r = open_store(c, false, &s, err);
    if (r == 0)
        r = bj_db_prepare(bj_store_db(s), sql, &st, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        int64_t at = bj_st_get_i64(st, 0);
        bj_show_time(&out, at);
        for (int i = 1; i < bj_st_columns(st); i++) {
            bj_buf_str(&out, "  ");
            bj_buf_clean(&out, bj_st_get_text(st, i));
        }
        bj_buf_str(&out, "\n");
        r = 0;
    }
    if (r == 0 && out.len > 0) {
        bj_show_zone(&out);
        bj_buf_str(&out, "\n");
        fwrite(out.p, 1, out.len, stdout);
    }
    bj_buf_free(&out);
    bj_st_finalize(st);
    bj_store_close(s);
    return r;
}

static int choices(const struct bj_statsdb_conf *c, char *const *word,
                   struct bj_err *err)
{
    (void)word;
    return print_rows(c,
                      "SELECT since, user, coalesce(choice, 'default') FROM"
                      " mail_choice ORDER BY user",
                      err);
}

static int show_log(const struct bj_statsdb_conf *c, char *const *word,
                    struct bj_err *err)
{
    (void)word;
    return print_rows(
        c,
        "SELECT at, state, user, key, coalesce(error, '') FROM"
        " (SELECT * FROM mail_sent ORDER BY at DESC LIMIT 100) AS m"
        " ORDER BY at",
        err);
}

static int templates(const struct bj_statsdb_conf *c, char *const *word,
                     struct bj_err *err)
{
    (void)c;
    return bj_mail_templates_write(word[0], err);
}

/* --- dispatch --------------------------------------------------------------
 */

static const struct {
    const char *name;
    unsigned least, most; /* arguments */
    bool sends;           /* needs all options */
    int (*run)(const struct bj_statsdb_conf *c, char *const *word,
               struct bj_err *err);
} commands[] = {
    {"show", 1, 1, true, show},
    {"digest", 1, 2, true, show_digest},
    {"send", 1, 2, true, send_now},
    {"choice", 1, 2, false, choice},
    {"choices", 0, 0, false, choices},
    {"log", 0, 0, false, show_log},
    {"templates", 1, 1, false, templates},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

int bj_mail_command(const struct bj_statsdb_conf *c, char *const *word,
                    struct bj_err *err)
{
    unsigned i = 0, n = 0;
    while (i < COMMANDS && word[0] && strcmp(word[0], commands[i].name) != 0)
        i++;
    if (!word[0] || i == COMMANDS)
        return bj_err_set(err, -EINVAL,
                          "mail: expected 'show JOB', 'digest USER [WHICH]', "
                          "'send JOB [ADDRESS]', "
                          "'choice USER [CHOICE]', 'choices', 'log' or "
                          "'templates DIR'");
    while (word[n + 1])
        n++;
    if (n < commands[i].least || n > commands[i].most)
        return bj_err_set(err, -EINVAL, "mail %s: %s", word[0],
                          n > commands[i].most ? "too many arguments"
                                               : "an argument is missing");
    if (commands[i].sends && !bj_mail_is_on(&c->mail))
        return bj_err_set(err, -EINVAL, "mail.send is off");
    int r = commands[i].sends ? bj_mail_check(&c->mail, err) : 0;
    return r < 0 ? r : commands[i].run(c, word + 1, err);
}
