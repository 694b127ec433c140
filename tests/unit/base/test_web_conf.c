/* The web configuration file: valid and invalid contents. */
#include "base/web.h"
#include "base/web_conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define HASH "$2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay"

static int parse(struct bj_web_conf *c, const char *text, struct bj_err *err)
{
    *c = (struct bj_web_conf){0};
    return bj_web_conf_parse(c, "/etc/x/web.yml", bj_slice_str(text), err);
}

static void all_keys(void **state)
{
    struct bj_web_conf c;
    struct bj_err err = {0};
    (void)state;
    int r = parse(&c,
                  "tls_server_config:\n"
                  "  cert_file: server.crt\n"
                  "  key_file: /else/server.key\n"
                  "  client_auth_type: RequireAndVerifyClientCert\n"
                  "  client_ca_file: ../ca.pem\n"
                  "  client_allowed_sans: [a.example, '10.0.0.1']\n"
                  "  min_version: TLS11\n"
                  "  max_version: TLS13\n"
                  "  prefer_server_cipher_suites: false\n"
                  "  curve_preferences: [X25519, CurveP384]\n"
                  "http_server_config:\n"
                  "  http2: false\n"
                  "  headers:\n"
                  "    X-Frame-Options: deny\n"
                  "    Content-Security-Policy: \"default-src 'none'\"\n"
                  "basic_auth_users:\n"
                  "  alice: " HASH "\n"
                  "  bob: " HASH "\n"
                  "rate_limit:\n"
                  "  interval: 250ms\n"
                  "  burst: 20\n",
                  &err);
    assert_int_equal(r, 0);
    assert_true(c.tls.given);
    assert_string_equal(c.tls.cert.file, "/etc/x/server.crt");
    assert_string_equal(c.tls.key.file, "/else/server.key");
    assert_string_equal(c.tls.client_ca.file, "/etc/x/../ca.pem");
    assert_int_equal(c.tls.client_auth, BJ_CLIENT_REQUIRED);
    assert_int_equal(c.tls.sans.n, 2);
    assert_string_equal(c.tls.sans.v[1], "10.0.0.1");
    assert_int_equal(c.tls.lowest, 1);
    assert_int_equal(c.tls.upper, 3);
    assert_false(c.tls.server_order);
    assert_string_equal(c.tls.curves.v[1], "SECP384R1");
    assert_string_equal(c.header[0].name, "X-Frame-Options");
    assert_string_equal(c.header[1].value, "default-src 'none'");
    assert_null(c.header[2].name);
    assert_string_equal(bj_web_conf_hash(&c, BJ_SLICE("bob")), HASH);
    assert_null(bj_web_conf_hash(&c, BJ_SLICE("bo")));
    assert_int_equal(c.rate_usec, 250000);
    assert_int_equal(c.burst, 20);
    bj_web_conf_free(&c);
}

static void minimal(void **state)
{
    static const char *const texts[] = {
        "", "# nothing\n", "basic_auth_users:\n", "tls_server_config: {}\n",
        "tls_server_config:\nhttp_server_config:\n  http2: false\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct bj_web_conf c;
        assert_int_equal(parse(&c, texts[i], NULL), 0);
        assert_false(c.tls.given);
        assert_int_equal(c.users, 0);
        assert_int_equal(c.rate_usec, 0);
        bj_web_conf_free(&c);
    }
}

#define TLS "tls_server_config:\n  cert_file: a\n  key_file: b\n"

static const struct {
    const char *text, *message; /* part of the error */
} mistakes[] = {
    {"tls_server_config:\n  cert_file: a\n", ":2:3: tls_server_config: cert"},
    {"tls_server_config:\n  key_file: a\n", "key_file without cert_file"},
    {"tls_server_config:\n  min_version: TLS12\n", "are missing"},
    {TLS "  cert: x\n", "a file and a text"},
    {TLS "  cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA]\n",
     ":4:3: cipher_suites is not supported"},
    {TLS "  cert_ref: x\n", "cert_ref is not supported"},
    {TLS "  min_version: SSL30\n",
     ":4:16: version: \'SSL30\' is unknown; expected TLS10, TLS11, "
     "TLS12, TLS13"},
    {TLS "  min_version: TLS13\n  max_version: TLS12\n", "above"},
    {TLS "  client_auth_type: Maybe\n", ":4:21: client_auth_type"},
    {TLS "  client_ca_file: c\n", "without a client_auth_type"},
    {TLS "  client_auth_type: VerifyClientCertIfGiven\n",
     "client_ca_file is missing"},
    {TLS "  client_ca_file: c\n"
         "  client_auth_type: VerifyClientCertIfGiven\n"
         "  client_allowed_sans: [x]\n",
     "client_allowed_sans without"},
    {TLS "  curve_preferences: [P256]\n", "CurveP256"},
    {TLS "  prefer_server_cipher_suites: perhaps\n", "true or false"},
    {TLS "  cert_file: a\n", "a key comes twice"},
    {TLS "  certfile: a\n",
     ":4:3: key: 'certfile' is unknown; did you mean 'cert_file'?"},
    {"tls_config: {}\n",
     ":1:1: key: 'tls_config' is unknown; expected tls_server_config, "
     "http_server_config, basic_auth_users, rate_limit"},
    {TLS "  client_auth_type: RequireAndVerifyClientCerts\n",
     ":4:21: client_auth_type: 'RequireAndVerifyClientCerts' is unknown; did "
     "you "
     "mean 'RequireAndVerifyClientCert'?"},
    {TLS "  client_auth_type: yes\n",
     ":4:21: client_auth_type: 'yes' is unknown; expected NoClientCert, "
     "RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven, "
     "RequireAndVerifyClientCert"},
    {TLS "  min_version: TLS1.2\n",
     ":4:16: version: 'TLS1.2' is unknown; did you mean 'TLS12'?"},
    {TLS "  curve_preferences: [P256]\n",
     "expected CurveP256, CurveP384, CurveP521, X25519"},
    {TLS "  prefer_server_cipher_suites: yes\n",
     ":4:32: true or false was expected, not 'yes'"},
    {"http_server_config:\n  http2: true\n", "http2: "},
    {"http_server_config:\n  headers:\n    Server: x\n", ":3:5: headers"},
    {"http_server_config:\n  headers:\n    X-Frame-Options: no\n", ":3:22: "},
    {"http_server_config:\n  headers:\n    X-XSS-Protection: \"a\\nb: "
     "c\"\n",
     ":3:23: headers"},
    {"basic_auth_users:\n  a: secret\n", ":2:6: basic_auth_users"},
    {"basic_auth_users:\n  a: $1$abc$zzz\n", ":2:6: basic_auth_users"},
    {"basic_auth_users:\n  'a:b': " HASH "\n", "a name is needed"},
    {"basic_auth_users:\n  a: " HASH "\n  a: " HASH "\n", ":3:3: "},
    {"basic_auth_users: [a]\n", "NAME: HASH"},
    {"rate_limit:\n  interval: often\n", ":2:13: interval"},
    {"rate_limit:\n  interval: 1s\n  burst: 0\n", "burst is 0"},
    {"rate_limit:\n  interval: 1s\n  burst: -1\n", ":3:10: burst"},
    {"auth_excluded_paths: [/health]\n", "auth_excluded_paths is not"},
    {"[]\n", "a mapping was expected"},
    {"a: {", "web.yml:"},
    {"rate_limit:\n  interval: 1s\n---\nbasic_auth_users:\n  a: " HASH "\n",
     ":3:1: a second document"},
    {"rate_limit:\n  interval: 1s\n---\na: {", "web.yml:"},
    {"rate_limit: [[[[1]]]]\n", ":1:16: nested too deep"},
    {"? [x]\n: y\n", ":1:3: a name was expected"},
};

static void wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mistakes); i++) {
        struct bj_web_conf c;
        struct bj_err err = {0};
        int r = parse(&c, mistakes[i].text, &err);
        if (r != -EINVAL || !strstr(err.msg, mistakes[i].message))
            print_error("%s: %d %s\n", mistakes[i].text, r, err.msg);
        assert_int_equal(r, -EINVAL);
        assert_non_null(strstr(err.msg, mistakes[i].message));
        assert_non_null(strstr(err.msg, "/etc/x/web.yml:"));
        bj_web_conf_free(&c);
    }
}

/* A bucket gives ten at once, then one each 100 ms, and never holds more. */
static void bucket(void **state)
{
    struct bj_bucket b = {0};
    uint64_t now = 5000000;
    (void)state;
    for (int i = 0; i < 10; i++)
        assert_int_equal(bj_bucket_take(&b, 100000, 10, now), 0);
    assert_int_equal(bj_bucket_take(&b, 100000, 10, now), 100000);
    assert_int_equal(bj_bucket_take(&b, 100000, 10, now + 40000), 60000);
    assert_int_equal(bj_bucket_take(&b, 100000, 10, now + 100000), 0);
    assert_int_equal(bj_bucket_take(&b, 100000, 10, now + 100000), 100000);
    now += 3600 * (uint64_t)1000000;
    for (int i = 0; i < 10; i++)
        assert_int_equal(bj_bucket_take(&b, 100000, 10, now), 0);
    assert_true(bj_bucket_take(&b, 100000, 10, now) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_keys), cmocka_unit_test(minimal),
        cmocka_unit_test(wrong), cmocka_unit_test(bucket)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
