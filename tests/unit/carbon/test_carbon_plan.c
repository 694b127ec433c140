/* Options of emission factors: valid and invalid combinations. */
#include "carbon/conf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { ARGS = 8 };

/* Options and their plan, as "provider zone country period" in order. */
static const struct {
    const char *args[ARGS];
    const char *plan;
} good[] = {
    {{"country=FR"}, "table FRA FR 0;"},
    {{"country=fra", "factor=50"}, "table FRA FR 0;constant - FR 0;"},
    {{"factor=50"}, "constant - - 0;"},
    {{"provider=constant", "provider=table", "country=DE", "factor=50"},
     "constant - DE 0;table DEU DE 0;"},
    {{"provider=rte", "provider=table", "country=FR"},
     "rte FR FR 1800;table FRA FR 0;"},
    {{"provider=neso"}, "neso GB GB 1800;"},
    {{"factor=50 marginal"}, "constant - - 0;"},
    {{"provider=electricitymaps", "zone=electricitymaps=US-CAL-CISO",
      "token-file=electricitymaps=/t"},
     "electricitymaps US-CAL-CISO US 1800;"},
    {{"provider=electricitymaps", "zone=electricitymaps=DK-DK1",
      "token-file=electricitymaps=/t", "country=SE"},
     "electricitymaps DK-DK1 DK 1800;"},
    {{"provider=watttime", "zone=watttime=CAISO_NORTH",
      "token-file=watttime=/t", "country=US",
      "url=watttime=https://mirror.example.org/wt"},
     "watttime CAISO_NORTH US 300;"},
    {{"provider=file", "file=/f", "country=GBR"}, "file GB GB 60;"},
    {{"provider=file", "file=/f", "zone=file=hall-2"}, "file hall-2 - 60;"},
};

/* Invalid options and a part of the error message. */
static const struct {
    const char *args[ARGS];
    const char *message;
} bad[] = {
    {{0}, "emissions.provider: expected at least one, or emissions.country"},
    {{"country=XX"}, "emissions.country: 'XX': expected a code of ISO 3166-1"},
    {{"factor=0"}, "emissions.factor: '0': expected g/kWh above 0"},
    {{"factor=-1"}, "emissions.factor: '-1'"},
    {{"factor=50 g"}, "emissions.factor: '50 g'"},
    {{"factor=50 marginal g"}, "emissions.factor: '50 marginal g'"},
    {{"factor=50000"}, "at most 5000"},
    {{"provider=table"}, "emissions.country: expected a code of two or three"},
    {{"provider=constant"}, "emissions.factor: expected a number of g/kWh"},
    {{"provider=rte", "provider=rte"}, "emissions.provider: 'rte': given twi"},
    {{"provider=electricitymaps", "token-file=electricitymaps=/t"},
     "emissions.zone: expected electricitymaps=ZONE"},
    {{"provider=electricitymaps", "zone=electricitymaps=DE"},
     "emissions.token-file: expected electricitymaps=PATH"},
    {{"provider=electricitymaps", "zone=electricitymaps=D E",
      "token-file=electricitymaps=/t"},
     "emissions.zone: 'electricitymaps=D E': expected letters"},
    {{"provider=watttime", "zone=watttime=X"},
     "emissions.token-file: expected watttime=PATH"},
    {{"provider=file", "country=FR"}, "emissions.file: expected a path"},
    {{"provider=file", "file=/f"}, "emissions.zone: expected file=ZONE"},
    {{"provider=rte", "zone=rte=FR"}, "emissions.zone: 'rte=FR': expected a p"},
    {{"provider=rte", "zone=watttime=X"}, "emissions.zone: 'watttime=X': exp"},
    {{"provider=rte", "token-file=rte=/t"}, "emissions.token-file: 'rte=/t'"},
    {{"provider=rte", "url=rte"}, "emissions.url: 'rte': expected PROVIDER=V"},
    {{"provider=rte", "url=rte="},
     "emissions.url: 'rte=': expected http:// or"},
    {{"provider=rte", "url=rte=http://a", "url=rte=http://b"},
     "emissions.url: 'rte=http://b': given twice"},
    {{"provider=rte", "url=rte=ftp://a"}, "emissions.url: 'rte=ftp://a': exp"},
    {{"provider=rte", "url=rte=http://a/?b"}, "without a query"},
    {{"provider=rte", "url=rte=http://a\nHost: b"}, "emissions.url"},
};

/* Set options from "name=value" strings; text gets the plan or the error. */
static int make(const char *const *args, char *text, size_t cap)
{
    struct bj_carbon_conf conf = {0};
    struct bj_optset set = {bj_carbon_opts, &conf};
    struct bj_carbon_plan plan;
    struct bj_err err = {0};
    assert_int_equal(bj_opt_presets(&set, NULL), 0);
    for (int i = 0; i < ARGS && args[i]; i++) {
        char name[64];
        struct bj_slice value = bj_slice_str(args[i]), word;
        assert_true(bj_slice_field(&value, '=', &word));
        snprintf(name, sizeof(name), "emissions.%.*s", (int)word.n, word.p);
        assert_int_equal(bj_opt_set(&set, 1, bj_slice_str(name), value, NULL),
                         0);
    }
    assert_int_equal(bj_opt_finish(&set, NULL), 0);
    int r = bj_carbon_plan(&conf, &plan, &err);
    snprintf(text, cap, "%s", r < 0 ? err.msg : "");
    for (size_t i = 0; r == 0 && i < plan.n; i++) {
        size_t n = strlen(text);
        const struct bj_carbon_slot *s = &plan.v[i];
        snprintf(text + n, cap - n, "%s %s %s %u;", s->provider->name,
                 s->zone[0] ? s->zone : "-", s->country[0] ? s->country : "-",
                 (unsigned)s->period_sec);
    }
    bj_opt_free(&set);
    return r;
}

static void test_good(void **state)
{
    (void)state;
    char text[512];
    for (size_t i = 0; i < COUNT(good); i++) {
        int r = make(good[i].args, text, sizeof(text));
        print_message("# %s\n", text);
        assert_int_equal(r, 0);
        assert_string_equal(text, good[i].plan);
    }
}

static void test_bad(void **state)
{
    (void)state;
    char text[512];
    for (size_t i = 0; i < COUNT(bad); i++) {
        int r = make(bad[i].args, text, sizeof(text));
        print_message("# %s\n", text);
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(text, bad[i].message));
    }
}

/* The choices of emissions.provider are exactly the providers. */
static void test_choices(void **state)
{
    (void)state;
    struct bj_slice rest = bj_slice_str(bj_carbon_opts[0].choices), name;
    size_t n = 0;
    while (bj_slice_field(&rest, '|', &name)) {
        assert_non_null(bj_carbon_provider(name));
        n++;
    }
    assert_null(bj_carbon_providers[n].name);
    assert_true(n <= BJ_CARBON_SLOTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
