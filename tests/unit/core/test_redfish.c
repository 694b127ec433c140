/* Redfish: documents of services, sessions, and services that misbehave. */
#include "core/energy/redfish.h"

#include "base/clock.h"
#include "core/energy/meter.h"
#include "tests/unit/lib/core.h"
#include "tests/unit/lib/fakeredfish.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { SECOND = 1000000 };

/* --- documents ------------------------------------------------------------*/

/* A rack server, in the form of DMTF's public mock-ups (DSP2043). */
#define POWER                                                                  \
    "{\"@odata.type\":\"#Power.v1_7_0.Power\",\"Id\":\"Power\","               \
    "\"PowerControl\":[{\"MemberId\":\"0\",\"Name\":\"Server Power Control\"," \
    "\"PowerConsumedWatts\":344,\"PowerRequestedWatts\":800,"                  \
    "\"PowerCapacityWatts\":800,\"PowerMetrics\":{\"IntervalInMin\":30,"       \
    "\"MinConsumedWatts\":271,\"MaxConsumedWatts\":489,"                       \
    "\"AverageConsumedWatts\":319},\"PowerLimit\":{\"LimitInWatts\":500,"      \
    "\"LimitException\":\"LogEventOnly\",\"CorrectionInMs\":50}}],"            \
    "\"PowerSupplies\":[{\"MemberId\":\"0\",\"PowerInputWatts\":190}]}"
#define ENVIRONMENT                                                            \
    "{\"@odata.type\":\"#EnvironmentMetrics.v1_3_0.EnvironmentMetrics\","      \
    "\"PowerWatts\":{\"DataSourceUri\":\"/redfish/v1/x\",\"Reading\":374.25}," \
    "\"EnergykWh\":{\"Reading\":325675},"                                      \
    "\"PowerLimitWatts\":{\"SetPoint\":1000,\"AllowableMax\":1200}}"

static int decode(const char *text, bool environment, struct bj_zone_sample *z,
                  struct bj_err *err)
{
    struct bj_arena a = {0};
    const struct bj_json *doc;
    bj_zone_init(z, "x", BJ_ZONE_NODE);
    if (bj_json_parse(&a, bj_slice_str(text), "doc", NULL, &doc, err) < 0)
        fail_msg("%s: %s", text, err->msg);
    int r = environment ? bj_redfish_environment(doc, z, err)
                        : bj_redfish_power(doc, z, err);
    bj_arena_free(&a);
    return r;
}

#define CONTROL(text) "{\"PowerControl\":[" text "]}"
#define CONSUMED(number) CONTROL("{\"PowerConsumedWatts\":" number "}")

static void test_power(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
        uint64_t uw, limit;
    } cases[] = {
        {POWER, 0, 344000000, 500000000},
        {CONSUMED("344.5"), 0, 344500000, BJ_ABSENT},
        {CONSUMED("\"344\""), 0, 344000000, BJ_ABSENT},
        {CONSUMED("3.44e2"), 0, 344000000, BJ_ABSENT},
        {CONSUMED("null"), -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {CONSUMED("0"), -ERANGE, BJ_ABSENT, BJ_ABSENT},
        {CONSUMED("65535"), -ERANGE, BJ_ABSENT, BJ_ABSENT},
        {CONSUMED("-1"), -ERANGE, BJ_ABSENT, BJ_ABSENT},
        {CONSUMED("1e300"), -ERANGE, BJ_ABSENT, BJ_ABSENT},
        {CONSUMED("\"lots\""), -EBADMSG, BJ_ABSENT, BJ_ABSENT},
        {CONSUMED("[]"), -EBADMSG, BJ_ABSENT, BJ_ABSENT},
        {CONTROL(""), -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {CONTROL("{}"), -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {CONTROL("null"), -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {CONTROL("7"), -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {"{\"PowerControl\":null}", -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {"{}", -ENODATA, BJ_ABSENT, BJ_ABSENT},
        /* parts that follow the total are not added */
        {CONTROL("{\"PowerConsumedWatts\":300},{\"Name\":\"CPU Sub-system "
                 "Power\",\"PowerConsumedWatts\":120}"),
         0, 300000000, BJ_ABSENT},
        {CONTROL("{\"PowerConsumedWatts\":null},{\"PowerConsumedWatts\":120}"),
         0, 120000000, BJ_ABSENT},
        {CONTROL("{\"PowerConsumedWatts\":300,\"PowerLimit\":"
                 "{\"LimitInWatts\":null}}"),
         0, 300000000, BJ_ABSENT},
        {CONTROL("{\"PowerConsumedWatts\":300,\"PowerLimit\":"
                 "{\"LimitInWatts\":0}}"),
         0, 300000000, BJ_ABSENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_zone_sample z;
        struct bj_err err = {0};
        int r = decode(cases[i].text, false, &z, &err);
        if (r != cases[i].want || z.power_uw != cases[i].uw ||
            z.limit_uw != cases[i].limit)
            fail_msg("%s: %d: %s", cases[i].text, r, err.msg);
        assert_true(z.energy_uj == BJ_ABSENT);
    }
}

static void test_environment(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int want;
        uint64_t uw, uj;
    } cases[] = {
        {ENVIRONMENT, 0, 374250000, BJ_ABSENT},
        {"{\"PowerWatts\":{\"Reading\":374},\"EnergyJoules\":{\"Reading\":"
         "123456.789}}",
         0, 374000000, 123456789000},
        {"{\"PowerWatts\":{\"Reading\":374},\"EnergyJoules\":{\"Reading\":0}}",
         0, 374000000, BJ_ABSENT},
        {"{\"PowerWatts\":{\"Reading\":374},\"EnergyJoules\":{\"Reading\":-1}}",
         0, 374000000, BJ_ABSENT},
        /* a coarse counter is used if there is nothing else */
        {"{\"EnergykWh\":{\"Reading\":325675.5}}", 0, BJ_ABSENT,
         1172431800000000000},
        {"{\"EnergykWh\":{\"Reading\":0}}", -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {"{\"EnergykWh\":{\"Reading\":9e12}}", -ERANGE, BJ_ABSENT, BJ_ABSENT},
        {"{\"EnergykWh\":{\"Reading\":\"x\"}}", -EBADMSG, BJ_ABSENT, BJ_ABSENT},
        {"{\"PowerWatts\":{\"Reading\":null}}", -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {"{\"PowerWatts\":{\"Reading\":0}}", -ERANGE, BJ_ABSENT, BJ_ABSENT},
        {"{\"PowerWatts\":{\"Reading\":[1]}}", -EBADMSG, BJ_ABSENT, BJ_ABSENT},
        {"{\"PowerWatts\":374}", -ENODATA, BJ_ABSENT, BJ_ABSENT},
        {"{}", -ENODATA, BJ_ABSENT, BJ_ABSENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct bj_zone_sample z;
        struct bj_err err = {0};
        int r = decode(cases[i].text, true, &z, &err);
        if (r != cases[i].want || z.power_uw != cases[i].uw ||
            z.energy_uj != cases[i].uj)
            fail_msg("%s: %d: %s", cases[i].text, r, err.msg);
        assert_true(z.limit_uw == (i == 0 ? 1000000000 : BJ_ABSENT));
    }
}

static void test_paths(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        const char *id;
    } cases[] = {
        {"/redfish/v1/Chassis/1", true, "1"},
        {"/redfish/v1/Chassis/System.Embedded.1/", true, "System.Embedded.1"},
        {"/", true, ""},
        {"", false, ""},
        {"redfish", false, ""},
        {"//evil.example/redfish", false, ""},
        {"http://evil.example/", false, ""},
        {"/a b", false, ""},
        {"/a\r\nX: y", false, ""},
        {"/\\evil", false, ""},
        {"/\xc3\xa4", false, ""},
    };
    char uri[BJ_REDFISH_URI], big[BJ_REDFISH_URI + 1];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool good = bj_redfish_uri(bj_slice_str(cases[i].text), uri);
        assert_int_equal(good, cases[i].good);
        assert_string_equal(uri, good ? cases[i].text : "");
        struct bj_slice id = bj_redfish_id(uri);
        assert_true(bj_slice_eq(id, bj_slice_str(cases[i].id)));
    }
    memset(big, '/', 1);
    memset(big + 1, 'a', BJ_REDFISH_URI);
    assert_false(bj_redfish_uri((struct bj_slice){big, BJ_REDFISH_URI}, uri));
    assert_true(
        bj_redfish_uri((struct bj_slice){big, BJ_REDFISH_URI - 1}, uri));
}

/* --- a service ------------------------------------------------------------*/

static struct fake_redfish service;
static char password_file[128];
static atomic_bool stop;
static char user[] = "monitor";
static struct bj_energy_conf conf;
static struct bj_meter_env env = {.conf = &conf, .stop = &stop};

#define ROOT "/redfish/v1/Chassis"

static int setup(void **state)
{
    (void)state;
    snprintf(password_file, sizeof(password_file), "%s/password", tmp_make());
    tmp_file("password", "pass\"word\n");
    assert_int_equal(chmod(password_file, 0600), 0);
    fake_redfish_start(&service);
    conf = (struct bj_energy_conf){
        .timeout_usec = 5 * SECOND,
        .redfish_url = service.url,
        .redfish_user = user,
        .redfish_password_file = password_file,
    };
    atomic_store(&stop, false);
    fake_redfish_put(&service, ROOT,
                     "{\"Members\":[{\"@odata.id\":\"" ROOT "/1\"}]}");
    fake_redfish_put(&service, ROOT "/1",
                     "{\"Power\":{\"@odata.id\":\"" ROOT "/1/Power\"}}");
    fake_redfish_put(&service, ROOT "/1/Power", POWER);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fake_redfish_stop(&service);
    tmp_gone();
    return 0;
}

static void *start(void)
{
    struct bj_err err = {0};
    void *m = NULL;
    assert_true(bj_meter_redfish.present(&env));
    if (bj_meter_redfish.open(&env, &m, &err) < 0)
        fail_msg("%s", err.msg);
    return m;
}

static int read_it(void *m, struct bj_meter_sample *s, struct bj_err *err)
{
    memset(s, 0, sizeof(*s));
    *err = (struct bj_err){0};
    int r = bj_meter_redfish.read(m, s, err);
    if (err->code != r)
        fail_msg("%d but %d: %s", r, err->code, err->msg);
    return r;
}

static const struct bj_zone_sample *zone(const struct bj_meter_sample *s,
                                         const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->zone[i].name, name) == 0)
            return &s->zone[i];
    }
    fail_msg("no zone %s", name);
    return NULL;
}

static void test_session(void **state)
{
    (void)state;
    struct bj_meter_sample s;
    struct bj_err err;
    void *m = start();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(read_it(m, &s, &err), 0);
        assert_int_equal(s.n, 1);
        assert_int_equal(zone(&s, "node")->role, BJ_ZONE_NODE);
        assert_int_equal(zone(&s, "node")->power_uw, 344000000);
        assert_int_equal(zone(&s, "node")->limit_uw, 500000000);
    }
    assert_int_equal(service.logins, 1);
    assert_int_equal(service.basic, 0);
    assert_string_equal(service.last_body, "{\"UserName\":\"monitor\","
                                           "\"Password\":\"pass\\\"word\"}");
    bj_meter_redfish.close(m);
    assert_int_equal(service.logouts, 1);
}

/* After the BMC has forgotten the session, the meter begins a new one. */
static void test_renewal(void **state)
{
    (void)state;
    struct bj_meter_sample s;
    struct bj_err err;
    service.absolute = true;
    void *m = start();
    fake_redfish_expire(&service);
    assert_int_equal(read_it(m, &s, &err), 0);
    assert_int_equal(s.n, 1);
    assert_int_equal(service.logins, 2);
    /* now the login fails */
    fake_redfish_expire(&service);
    service.login_status = 401;
    assert_int_equal(read_it(m, &s, &err), -EACCES);
    assert_non_null(strstr(err.msg, "log in"));
    assert_null(strstr(err.msg, "word"));
    assert_int_equal(service.logins, 3);
    assert_int_equal(read_it(m, &s, &err), -EACCES);
    service.login_status = 0;
    assert_int_equal(read_it(m, &s, &err), 0);
    bj_meter_redfish.close(m);
    assert_int_equal(service.logouts, 1);
}

/* Services without sessions, and services without authentication. */
static void test_basic(void **state)
{
    (void)state;
    static const unsigned statuses[] = {400, 404, 405, 501};
    for (size_t i = 0; i < 4; i++) {
        service.login_status = statuses[i];
        service.logins = service.basic = 0;
        bj_meter_redfish.close(start());
        assert_int_equal(service.logins, 1);
        assert_int_equal(service.basic, 3);
    }
    assert_int_equal(service.logouts, 0);
    service.open = true;
    service.logins = service.basic = 0;
    conf.redfish_user = NULL;
    bj_meter_redfish.close(start());
    assert_int_equal(service.logins, 0);
    assert_int_equal(service.basic, 0);
}

static void open_fails(int want, const char *message)
{
    struct bj_err err = {0};
    void *m = NULL;
    int r = bj_meter_redfish.open(&env, &m, &err);
    if (r != want || (message && !strstr(err.msg, message)))
        fail_msg("%d instead of %d: %s", r, want, err.msg);
    assert_int_equal(err.code, r);
    assert_null(m);
    assert_null(strstr(err.msg, "pass\"word"));
}

static void test_open_faults(void **state)
{
    (void)state;
    service.login_status = 401;
    open_fails(-EACCES, "log in");
    service.login_status = 403;
    open_fails(-EACCES, "log in");
    service.login_status = 503;
    open_fails(-EAGAIN, "503");
    service.login_status = 500;
    open_fails(-EIO, "500");
    service.login_status = 0;
    service.no_token = true;
    open_fails(-EBADMSG, "has no token");
    service.no_token = false;
    service.no_location = true;
    bj_meter_redfish.close(start());
    assert_int_equal(service.logouts, 0); /* its location is unknown */
    fake_redfish_put(&service, ROOT, "<html>Please log in</html>");
    open_fails(-EBADMSG, ROOT);
    fake_redfish_put(&service, ROOT, "null");
    open_fails(-EBADMSG, "expected a JSON object");
    fake_redfish_put(&service, ROOT, "{\"Members\":[{\"@odata.id\":");
    open_fails(-EBADMSG, ROOT);
    fake_redfish_put(&service, ROOT, "{\"Members\":[]}");
    open_fails(-EIO, "no chassis");
    fake_redfish_put(&service, ROOT, NULL);
    open_fails(-EIO, "404");
    service.junk = "SSH-2.0-OpenSSH_9.2\r\n";
    open_fails(-EBADMSG, NULL);
    service.junk = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}";
    open_fails(-EBADMSG, NULL);
    service.junk = NULL;
    char url[] = "http://127.0.0.1:1";
    conf.redfish_url = url;
    open_fails(-ECONNREFUSED, "127.0.0.1:1");
}

static void test_no_power(void **state)
{
    (void)state;
    fake_redfish_put(&service, ROOT "/1/Power", CONSUMED("0"));
    open_fails(-ERANGE, "0 W");
    fake_redfish_put(&service, ROOT "/1/Power", CONSUMED("null"));
    open_fails(-EIO, "no chassis");
    fake_redfish_put(&service, ROOT "/1/Power", NULL);
    open_fails(-EIO, "no chassis");
    fake_redfish_put(&service, ROOT "/1", "{\"Power\":{\"@odata.id\":7}}");
    open_fails(-EIO, "no chassis");
    fake_redfish_put(&service, ROOT "/1",
                     "{\"Power\":{\"@odata.id\":\"//evil/x\"}}");
    open_fails(-EIO, "no chassis");
    char slash[] = "/";
    conf.redfish_url = slash;
    open_fails(-ENODEV, "URL of the Redfish service is missing");
    conf.redfish_url = NULL;
    assert_false(bj_meter_redfish.present(&env));
    open_fails(-ENODEV, "URL of the Redfish service is missing");
}

/* A password file that other users can read or write is refused. */
static void test_password(void **state)
{
    (void)state;
    assert_int_equal(chmod(password_file, 0640), 0);
    bj_meter_redfish.close(start());
    assert_int_equal(chmod(password_file, 0644), 0);
    open_fails(-EACCES, "all users can read it");
    assert_int_equal(chmod(password_file, 0602), 0);
    open_fails(-EACCES, "all users can write to it");
    assert_int_equal(chmod(password_file, 0620), 0);
    open_fails(-EACCES, "energy.redfish-password-file: ");
    tmp_remove("password");
    open_fails(-EACCES, "/password: No such file or directory");
    tmp_file("password", "\n");
    assert_int_equal(chmod(password_file, 0600), 0);
    open_fails(-EACCES, "is empty");
    assert_int_equal(service.logins, 1);
    tmp_file("password", "pass\"word\r\n");
    bj_meter_redfish.close(start());
    assert_string_equal(service.last_body, "{\"UserName\":\"monitor\","
                                           "\"Password\":\"pass\\\"word\"}");
}

/* Status codes within a session. The next reading works again. */
static void test_statuses(void **state)
{
    (void)state;
    static const struct {
        unsigned status;
        int want;
    } cases[] = {
        {400, -EIO}, {403, -EACCES}, {404, -ENODEV}, {429, -EAGAIN},
        {500, -EIO}, {503, -EAGAIN}, {301, -EIO},    {204, -EBADMSG},
    };
    struct bj_meter_sample s;
    struct bj_err err;
    void *m = start();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        service.get_status = cases[i].status;
        int r = read_it(m, &s, &err);
        if (r != cases[i].want)
            fail_msg("%u: %d: %s", cases[i].status, r, err.msg);
        assert_int_equal(s.n, 0);
        service.get_status = 0;
        assert_int_equal(read_it(m, &s, &err), 0);
        assert_int_equal(s.n, 1);
    }
    assert_int_equal(service.logins, 1);
    bj_meter_redfish.close(m);
}

static void test_hang(void **state)
{
    (void)state;
    struct bj_meter_sample s;
    struct bj_err err;
    conf.timeout_usec = SECOND / 4;
    void *m = start();
    service.hang = true;
    uint64_t begin = bj_clock_boot_usec();
    assert_int_equal(read_it(m, &s, &err), -ETIMEDOUT);
    assert_in_range(bj_clock_boot_usec() - begin, SECOND / 5, 10 * SECOND);
    service.hang = false;
    assert_int_equal(read_it(m, &s, &err), 0);
    /* the program stops */
    service.hang = true;
    atomic_store(&stop, true);
    conf.timeout_usec = 60 * SECOND;
    begin = bj_clock_boot_usec();
    assert_int_equal(read_it(m, &s, &err), -ECANCELED);
    assert_in_range(bj_clock_boot_usec() - begin, 0, 10 * SECOND);
    /* a logout has a short deadline */
    service.hang = false;
    service.hang_logout = true;
    begin = bj_clock_boot_usec();
    bj_meter_redfish.close(m);
    assert_in_range(bj_clock_boot_usec() - begin, 0, 10 * SECOND);
}

/* --- several chassis ------------------------------------------------------*/

static void put_three(void)
{
    fake_redfish_put(&service, ROOT,
                     "{\"Members\":[{\"@odata.id\":\"" ROOT "/Base\"},"
                     "{\"@odata.id\":\"" ROOT "/GPU_1\"},{\"x\":1},"
                     "{\"@odata.id\":\"" ROOT "/Fans\"}],"
                     "\"Members@odata.nextLink\":\"" ROOT "?skip=3\"}");
    fake_redfish_put(&service, ROOT "?skip=3",
                     "{\"Members\":[{\"@odata.id\":\"" ROOT "/Tray\"}]}");
    fake_redfish_put(&service, ROOT "/Base",
                     "{\"EnvironmentMetrics\":{\"@odata.id\":\"" ROOT
                     "/Base/E\"},\"Power\":{\"@odata.id\":\"" ROOT
                     "/Base/P\"}}");
    fake_redfish_put(&service, ROOT "/Base/E", ENVIRONMENT);
    fake_redfish_put(&service, ROOT "/Base/P", POWER);
    /* its EnvironmentMetrics have no power, but its Power has */
    fake_redfish_put(&service, ROOT "/GPU_1",
                     "{\"EnvironmentMetrics\":{\"@odata.id\":\"" ROOT
                     "/GPU_1/E\"},\"Power\":{\"@odata.id\":\"" ROOT
                     "/GPU_1/P\"}}");
    fake_redfish_put(&service, ROOT "/GPU_1/E", "{}");
    fake_redfish_put(&service, ROOT "/GPU_1/P", CONSUMED("700"));
    fake_redfish_put(&service, ROOT "/Fans", "{}");
    fake_redfish_put(&service, ROOT "/Tray",
                     "{\"Links\":{\"ContainedBy\":{\"@odata.id\":\"" ROOT
                     "/Base\"}},\"Power\":{\"@odata.id\":\"" ROOT
                     "/Tray/P\"}}");
    fake_redfish_put(&service, ROOT "/Tray/P", CONSUMED("50"));
}

static void test_several(void **state)
{
    (void)state;
    struct bj_meter_sample s;
    struct bj_err err;
    put_three();
    void *m = start();
    assert_int_equal(read_it(m, &s, &err), 0);
    assert_int_equal(s.n, 3);
    assert_int_equal(zone(&s, "chassis-base")->power_uw, 374250000);
    assert_int_equal(zone(&s, "chassis-base")->role, BJ_ZONE_NODE);
    assert_int_equal(zone(&s, "chassis-gpu_1")->power_uw, 700000000);
    assert_int_equal(zone(&s, "chassis-gpu_1")->role, BJ_ZONE_NODE);
    /* inside a chassis whose power is reported */
    assert_int_equal(zone(&s, "chassis-tray")->role, BJ_ZONE_PART);
    /* the fault of one chassis does not hide the others */
    fake_redfish_put(&service, ROOT "/GPU_1/P", CONSUMED("65535"));
    assert_int_equal(read_it(m, &s, &err), -ERANGE);
    assert_int_equal(s.n, 2);
    assert_non_null(strstr(err.msg, "GPU_1"));
    fake_redfish_put(&service, ROOT "/GPU_1/P", "<html>");
    assert_int_equal(read_it(m, &s, &err), -EBADMSG);
    assert_int_equal(s.n, 2);
    /* -ENODEV causes a new search after a chassis has disappeared */
    fake_redfish_put(&service, ROOT "/Base/E", NULL);
    assert_int_equal(read_it(m, &s, &err), -ENODEV);
    bj_meter_redfish.close(m);
}

static void test_chassis_option(void **state)
{
    (void)state;
    struct bj_meter_sample s;
    struct bj_err err;
    char tray[] = "Tray", base[] = "Base", none[] = "None";
    char *one[] = {tray, NULL}, *two[] = {base, tray, NULL},
         *unknown[] = {none, NULL};
    put_three();
    conf.redfish_chassis = (struct bj_strv){one, 1};
    void *m = start();
    assert_int_equal(read_it(m, &s, &err), 0);
    assert_int_equal(s.n, 1);
    assert_int_equal(zone(&s, "node")->power_uw, 50000000);
    assert_int_equal(zone(&s, "node")->role, BJ_ZONE_NODE);
    bj_meter_redfish.close(m);
    conf.redfish_chassis = (struct bj_strv){two, 2};
    m = start();
    assert_int_equal(read_it(m, &s, &err), 0);
    assert_int_equal(s.n, 2);
    assert_int_equal(zone(&s, "chassis-tray")->role, BJ_ZONE_NODE);
    bj_meter_redfish.close(m);
    conf.redfish_chassis = (struct bj_strv){unknown, 1};
    open_fails(-EIO, "no chassis");
}

/* Two chassis with the same name, a list that links to itself, and more chassis
 * than fit. */
static void test_odd_lists(void **state)
{
    (void)state;
    struct bj_meter_sample s;
    struct bj_err err;
    static char list[8192];
    fake_redfish_put(&service, ROOT,
                     "{\"Members\":[{\"@odata.id\":\"" ROOT "/1\"},"
                     "{\"@odata.id\":\"" ROOT "/1/\"}]}");
    fake_redfish_put(&service, ROOT "/1/",
                     "{\"Power\":{\"@odata.id\":\"" ROOT "/1/Power\"}}");
    void *m = start();
    assert_int_equal(read_it(m, &s, &err), 0);
    assert_int_equal(zone(&s, "chassis-1")->power_uw, 344000000);
    assert_int_equal(zone(&s, "chassis-no-2")->power_uw, 344000000);
    bj_meter_redfish.close(m);
    snprintf(list, sizeof(list),
             "{\"Members@odata.nextLink\":\"" ROOT "\",\"Members\":[{}");
    for (int i = 0; i < 40; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list),
                 ",{\"@odata.id\":\"" ROOT "/1\"}");
    snprintf(list + strlen(list), sizeof(list) - strlen(list), "]}");
    fake_redfish_put(&service, ROOT, list);
    m = start();
    assert_int_equal(read_it(m, &s, &err), 0);
    assert_int_equal(s.n, BJ_REDFISH_CHASSIS);
    bj_meter_redfish.close(m);
}

int main(void)
{
#define SERVICE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power), cmocka_unit_test(test_environment),
        cmocka_unit_test(test_paths), SERVICE(test_session),
        SERVICE(test_renewal),        SERVICE(test_basic),
        SERVICE(test_open_faults),    SERVICE(test_no_power),
        SERVICE(test_password),       SERVICE(test_statuses),
        SERVICE(test_hang),           SERVICE(test_several),
        SERVICE(test_chassis_option), SERVICE(test_odd_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
