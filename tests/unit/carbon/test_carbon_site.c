/* The feed of emission factors with files of the site: secrets and factor
 * files. */
#include "carbon/feed.h"

#include "tests/unit/lib/fakegrid.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define T 1795186800u /* 2026-11-20T15:00:00Z */
enum { HOUR = 3600, DAY = 86400 };

static char dir[] = "/tmp/bj-carbon-site.XXXXXX";
static const char *const files[] = {"secret", "drop.csv", "drop.json"};

struct room {
    struct grid grid;
    struct bj_carbon_conf conf;
    struct bj_carbon_feed *feed;
    struct bj_err err;
};

static struct room room;

/* The path of a file; valid until the next call with the same name. */
static const char *at(const char *name)
{
    static char paths[COUNT(files)][64];
    size_t i = 0;
    while (strcmp(files[i], name) != 0)
        i++;
    snprintf(paths[i], sizeof(paths[i]), "%s/%s", dir, name);
    return paths[i];
}

static void put(const char *name, const char *text, mode_t mode)
{
    int fd = open(at(name), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void start(struct room *r)
{
    struct bj_carbon_net net = grid_net(&r->grid);
    assert_int_equal(bj_carbon_feed_new(&r->conf, &net, 1, &r->feed, NULL), 0);
}

static void restart(struct room *r)
{
    bj_carbon_feed_free(r->feed);
    start(r);
}

static int setup_all(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown_all(void **state)
{
    (void)state;
    return rmdir(dir);
}

static int setup(void **state)
{
    *state = &room;
    room = (struct room){.grid = {.boot_usec = 77000000, .wall_sec = T + 600}};
    return 0;
}

static int teardown(void **state)
{
    struct room *r = *state;
    bj_carbon_feed_free(r->feed);
    grid_conf_free(&r->conf);
    for (size_t i = 0; i < COUNT(files); i++)
        unlink(at(files[i]));
    return 0;
}

static struct bj_carbon_feed_status status(struct room *r)
{
    struct bj_carbon_feed_status s;
    assert_int_equal(bj_carbon_feed_status(r->feed, r->grid.wall_sec, &s, 1),
                     1);
    return s;
}

/* Run the next query of the feed, and return its fault. */
static enum bj_carbon_fault next_fault(struct room *r)
{
    uint64_t queries = status(r).queries;
    for (int i = 0; i < 1000; i++) {
        uint64_t wait = grid_settle(&r->grid, r->feed, &r->err);
        if (status(r).queries != queries)
            break;
        grid_advance(&r->grid, wait);
    }
    return status(r).fault;
}

static uint32_t first_mg(struct room *r, bool marginal)
{
    struct bj_factor f;
    return grid_first(&r->grid, r->feed, marginal, &f) ? f.mg_per_kwh : 0;
}

/* --- secrets --------------------------------------------------------------*/

static void test_header(void **state)
{
    struct room *r = *state;
    put("secret", " key-42 \n", 0600);
    r->conf = grid_conf(at("secret"), "provider=electricitymaps", NULL);
    start(r);
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
    assert_string_equal(r->grid.header, "auth-token: key-42");
    assert_string_equal(r->grid.url, "http://electricitymaps/v3/"
                                     "carbon-intensity/latest?zone=DE");
}

static void test_login(void **state)
{
    struct room *r = *state;
    put("secret", "anna:pass:word\n", 0640);
    r->conf = grid_conf(at("secret"), "provider=watttime", NULL);
    start(r);
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
    assert_string_equal(r->grid.user, "anna");
    assert_string_equal(r->grid.password, "pass:word");
    assert_int_equal(r->grid.logins, 1);
    /* a token is used for 25 minutes */
    grid_run(&r->grid, r->feed, 20 * 60);
    assert_int_equal(r->grid.logins, 1);
    assert_in_range(r->grid.value_requests[GRID_WATTTIME], 4, 6);
    grid_run(&r->grid, r->feed, 10 * 60);
    assert_int_equal(r->grid.logins, 2);
    /* a token that expires early causes no fault */
    r->grid.tokens_expired = true;
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
    assert_int_equal(r->grid.logins, 3);
    assert_int_equal(status(r).errors[BJ_CARBON_DENIED], 0);
}

/* A login that is denied, and one whose response is an HTML page. */
static void test_login_fails(void **state)
{
    struct room *r = *state;
    put("secret", "anna:password", 0600);
    r->conf = grid_conf(at("secret"), "provider=watttime", NULL);
    start(r);
    r->grid.mode[GRID_WATTTIME] = GRID_DENY;
    assert_int_equal(next_fault(r), BJ_CARBON_DENIED);
    assert_null(strstr(r->err.msg, "password"));
    r->grid.mode[GRID_WATTTIME] = GRID_HTML;
    assert_int_equal(next_fault(r), BJ_CARBON_CONTENT);
    assert_int_equal(r->grid.logins, 2);
    assert_int_equal(r->grid.value_requests[GRID_WATTTIME], 0);
}

/* A secret file, its mode, and a part of the error message. */
static const struct {
    const char *text;
    mode_t mode;
    const char *message;
} secrets[] = {
    {NULL, 0, "secret: No such file or directory"},
    {"", 0600, "secret is empty"},
    {" \n", 0600, "secret is empty"},
    {"a:b\nc:d\n", 0600, "secret: expected one line"},
    {"a:b\x1b", 0600, "secret: expected one line"},
    {"a:b", 0604, "all users can read"},
    {"a:b", 0660, "all users can write"},
    {"nobody", 0600, "expected user:password"},
};

static void test_bad_secrets(void **state)
{
    struct room *r = *state;
    r->conf = grid_conf(at("secret"), "provider=watttime", NULL);
    for (size_t i = 0; i < COUNT(secrets); i++) {
        if (secrets[i].text)
            put("secret", secrets[i].text, secrets[i].mode);
        restart(r);
        assert_int_equal(next_fault(r), BJ_CARBON_LOCAL);
        print_message("# %s\n", r->err.msg);
        assert_non_null(strstr(r->err.msg, secrets[i].message));
        assert_int_equal(r->grid.logins, 0);
    }
    put("secret", "a:b", 0600);
    assert_int_equal(next_fault(r), BJ_CARBON_OK); /* read again */
}

/* --- factor files ---------------------------------------------------------*/

#define HEAD "zone,kind,start,end,g_per_kwh\n"
#define ROW(mg)                                                                \
    "FR,average_direct,2026-11-20T15:00:00Z,2026-11-20T16:00:00Z," mg "\n"

static void start_file(struct room *r, const char *name, const char *more)
{
    char file[80];
    snprintf(file, sizeof(file), "file=%s", at(name));
    r->conf = grid_conf(NULL, "provider=file", "country=FR", file, more, NULL);
    start(r);
}

static void test_file(void **state)
{
    struct room *r = *state;
    put("drop.csv", HEAD ROW("31"), 0644);
    start_file(r, "drop.csv", NULL);
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
    assert_int_equal(first_mg(r, false), 31000);
    grid_run(&r->grid, r->feed, 300);
    assert_int_equal(status(r).queries, 1); /* only read when it changes */
    put("drop.csv", HEAD ROW("32.5"), 0644);
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
    assert_int_equal(first_mg(r, false), 32500);
    /* an invalid file keeps the old values and is logged once */
    put("drop.csv", HEAD ROW("0"), 0644);
    assert_int_equal(next_fault(r), BJ_CARBON_CONTENT);
    assert_non_null(strstr(r->err.msg, "drop.csv:2: g_per_kwh: '0'"));
    assert_int_equal(first_mg(r, false), 32500);
    grid_run(&r->grid, r->feed, 300);
    assert_int_equal(status(r).errors[BJ_CARBON_CONTENT], 1);
    /* the values of a removed file are dropped */
    unlink(at("drop.csv"));
    assert_int_equal(next_fault(r), BJ_CARBON_LOCAL);
    assert_int_equal(first_mg(r, false), 0);
    put("drop.csv", HEAD ROW("33"), 0644);
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
    assert_int_equal(first_mg(r, false), 33000);
    assert_int_equal(status(r).remote, 0);
}

/* The value of a short period is valid for two hours from its start. */
static void test_file_ends(void **state)
{
    struct room *r = *state;
    put("drop.csv", HEAD ROW("31"), 0644);
    start_file(r, "drop.csv", NULL);
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
    assert_int_equal(next_fault(r), BJ_CARBON_EMPTY);
    assert_non_null(strstr(r->err.msg, "no current factor for zone FR"));
    assert_in_range(r->grid.wall_sec, T + 2 * HOUR, T + 2 * HOUR + 60);
    assert_int_equal(first_mg(r, false), 0);
    r->grid.wall_sec = T + 2 * HOUR - 1;
    assert_int_equal(first_mg(r, false), 31000);
}

static void test_file_json(void **state)
{
    struct room *r = *state;
    put("drop.json",
        "{\"factors\":[{\"zone\":\"FRA\",\"kind\":\"marginal\",\"year\":2026,"
        "\"g_per_kwh\":480}]}",
        0644);
    start_file(r, "drop.json", NULL);
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
    assert_int_equal(first_mg(r, false), 0);
    assert_int_equal(first_mg(r, true), 480000);
    struct bj_factor f;
    assert_int_equal(bj_carbon_feed_factors(r->feed, r->grid.wall_sec, &f, 1),
                     1);
    assert_int_equal(f.from, BJ_FACTOR_STATED);
}

/* A factor file that other users can write is refused. */
static void test_file_not_trusted(void **state)
{
    struct room *r = *state;
    put("drop.csv", HEAD ROW("31"), 0666);
    start_file(r, "drop.csv", NULL);
    assert_int_equal(next_fault(r), BJ_CARBON_LOCAL);
    assert_int_equal(first_mg(r, false), 0);
    assert_int_equal(chmod(at("drop.csv"), 0644), 0);
    assert_int_equal(next_fault(r), BJ_CARBON_OK);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_header),      TEST(test_login),
        TEST(test_login_fails), TEST(test_bad_secrets),
        TEST(test_file),        TEST(test_file_ends),
        TEST(test_file_json),   TEST(test_file_not_trusted),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
