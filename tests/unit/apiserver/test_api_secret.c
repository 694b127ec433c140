/* Passwords, tokens, base64 and access rules. */
#include "apiserver/access/access.h"
#include "apiserver/access/tokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define S(lit)                                                                 \
    {                                                                          \
        lit, sizeof(lit) - 1                                                   \
    }
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The vectors of RFC 4648, section 10, and invalid text. */
static void test_base64(void **state)
{
    (void)state;
    static const struct {
        struct bj_slice in;
        int n;
        const char *out;
    } cases[] = {
        {S(""), 0, ""},
        {S("Zg=="), 1, "f"},
        {S("Zm8="), 2, "fo"},
        {S("Zm9v"), 3, "foo"},
        {S("Zm9vYg=="), 4, "foob"},
        {S("Zm9vYmE="), 5, "fooba"},
        {S("Zm9vYmFy"), 6, "foobar"},
        {S("Zg"), -EINVAL, ""},
        {S("Zh=="), -EINVAL, ""}, /* bits after the end */
        {S("Z==="), -EINVAL, ""},
        {S("Zm=v"), -EINVAL, ""},
        {S("Zm 9"), -EINVAL, ""},
        {S("Zm9\0"), -EINVAL, ""},
        {S("Zm9vYmFyYg=="), -EFBIG, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[6];
        int n = bj_base64(cases[i].in, out, sizeof(out));
        assert_int_equal(n, cases[i].n);
        if (n > 0)
            assert_memory_equal(out, cases[i].out, (size_t)n);
    }
}

/* From the same client. */
static int check(struct bj_secrets *s, const char *hash, const char *like,
                 struct bj_slice secret, uint64_t now)
{
    const struct bj_secret_client client = {0};
    return bj_secret_check(s, hash, like, &client, secret, now);
}

static void test_check(void **state)
{
    (void)state;
    /* from the test vectors of bcrypt's author (crypt_blowfish, wrapper.c) and
     * of "openssl passwd -5 -salt saltstring" */
    static const char b[] =
        "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
    static const char five[] =
        "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
    struct bj_secrets *s;
    uint64_t now = 1000000;
    assert_int_equal(bj_secrets_new(&s, NULL), 0);
    assert_false(bj_secret_known(s, b, BJ_SLICE("U*U")));
    assert_int_equal(check(s, b, NULL, BJ_SLICE("U*U"), now), 1);
    assert_int_equal(check(s, b, NULL, BJ_SLICE("U*V"), now), 0);
    assert_true(bj_secret_known(s, b, BJ_SLICE("U*U")));
    assert_false(bj_secret_known(s, b, BJ_SLICE("U*V")));
    assert_false(bj_secret_known(s, five, BJ_SLICE("U*U")));
    assert_false(bj_secret_known(s, NULL, BJ_SLICE("U*U")));
    assert_int_equal(check(s, five, NULL, BJ_SLICE("Hello world!"), now), 1);
    assert_int_equal(check(s, NULL, NULL, BJ_SLICE("U*U"), now), 0);
    assert_int_equal(check(s, b, NULL, BJ_SLICE(""), now), 0);
    assert_int_equal(check(s, b, NULL, BJ_SLICE("U*U\0x"), now), 0);
    /* a known secret is not counted as a guess; wrong ones are limited */
    int tries = 0;
    while (check(s, five, NULL, BJ_SLICE("wrong"), now) == 0)
        assert_true(tries++ < 20);
    assert_int_equal(check(s, b, NULL, BJ_SLICE("U*U"), now), 1);
    assert_int_equal(check(s, five, NULL, BJ_SLICE("wrong"), now + 600000), 0);
    bj_secrets_free(s);
    assert_true(bj_secret_usable(b));
    assert_true(bj_secret_usable(five));
    assert_false(bj_secret_usable("secret"));
    assert_false(bj_secret_usable("$1$salt$abc"));
    assert_false(bj_secret_usable(""));
}

/* The setting of the last hash that was computed. */
static char setting[BJ_HASH_BYTES];

/* Replaces the function of the library. */
char *crypt_rn(const char *phrase, const char *want, void *data, int size);
char *crypt_rn(const char *phrase, const char *want, void *data, int size)
{
    static char *(*real)(const char *, const char *, void *, int);
    if (!real) {
        void *found = dlsym(RTLD_NEXT, "crypt_rn");
        memcpy(&real, &found, sizeof(real));
    }
    snprintf(setting, sizeof(setting), "%s", want);
    return real(phrase, want, data, size);
}

/* Correct secrets are not counted as guesses. */
static void test_many_correct_secrets(void **state)
{
    (void)state;
    enum { MANY = 150 };
    static char token[MANY][BJ_TOKEN_BYTES], hash[MANY][BJ_HASH_BYTES];
    char id[16];
    struct bj_slice ids, secret;
    struct bj_secrets *s;
    unsigned again = 0;
    assert_int_equal(bj_secrets_new(&s, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(bj_token_make(id, token[i], hash[i], NULL), 0);
        assert_true(bj_token_split(bj_slice_str(token[i]), &ids, &secret));
        assert_int_equal(check(s, hash[i], NULL, secret, 1), 1);
    }
    for (int i = 0; i < MANY; i++) {
        assert_true(bj_token_split(bj_slice_str(token[i]), &ids, &secret));
        setting[0] = '\0';
        assert_int_equal(check(s, hash[i], NULL, secret, 1), 1);
        again += setting[0] != '\0';
    }
    assert_in_range(again, 0, MANY / 3); /* the others are known */
    assert_true(bj_token_split(bj_slice_str(token[0]), &ids, &secret));
    for (int i = 0; i < 10; i++)
        assert_int_equal(check(s, hash[1], NULL, secret, 1), 0);
    assert_int_equal(check(s, hash[1], NULL, secret, 1), -EAGAIN);
    bj_secrets_free(s);
}

/* A wrong secret of a name from an IPv4 address; network is its first three
 * bytes. */
static int guess(struct bj_secrets *s, uint32_t network, unsigned host,
                 struct bj_slice name, const char *hash, struct bj_slice secret,
                 uint64_t now)
{
    const struct sockaddr_in in = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)(1024 + host)), /* no part of the address */
        .sin_addr.s_addr = htonl(network << 8 | host),
    };
    const struct bj_secret_client client = {(const struct sockaddr *)&in, name};
    return bj_secret_check(s, hash, "$5$salt", &client, secret, now);
}

/* Wrong passwords from some addresses and networks, also for her name, keep no
 * one else from signing in for the first time. */
static void test_clients(void **state)
{
    (void)state;
    static const char hash[] =
        "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
    const struct bj_slice right = BJ_SLICE("Hello world!"),
                          wrong = BJ_SLICE("x"), ada = BJ_SLICE("ada");
    const uint64_t now = 100000000;
    struct bj_secrets *s;
    unsigned tried = 0;
    assert_int_equal(bj_secrets_new(&s, NULL), 0);
    /* one address */
    for (int i = 0; i < 30; i++)
        tried += guess(s, 0x0a0000, 1, ada, hash, wrong, now) == 0;
    assert_int_equal(tried, BJ_SECRET_ADDRESS_BURST);
    assert_int_equal(guess(s, 0x0a0000, 1, ada, hash, right, now), -EAGAIN);
    assert_int_equal(guess(s, 0x0a0000, 1, BJ_SLICE("eve"), hash, wrong, now),
                     -EAGAIN);
    assert_int_equal(guess(s, 0x0a0000, 2, ada, hash, wrong, now), 0);
    /* one more after half a second, and not two */
    uint64_t later = now + BJ_SECRET_ADDRESS_USEC;
    assert_int_equal(guess(s, 0x0a0000, 1, ada, hash, wrong, later), 0);
    assert_int_equal(guess(s, 0x0a0000, 1, ada, hash, wrong, later), -EAGAIN);
    /* its network */
    tried = 0;
    for (unsigned host = 3; host < 250; host++)
        tried +=
            guess(s, 0x0a0000, host, BJ_SLICE("bob"), NULL, wrong, later) == 0;
    assert_in_range(tried, 1, BJ_SECRET_NETWORK_BURST);
    assert_int_equal(guess(s, 0x0a0000, 251, ada, hash, right, later), -EAGAIN);
    /* other networks, all for her name */
    tried = 0;
    for (unsigned i = 0; i < 1000; i++)
        tried += guess(s, 0x0b0000 + i % 20, 1, ada, hash, wrong, later) == 0;
    assert_in_range(tried, 20, BJ_SECRET_NAME_BURST + 20);
    assert_int_equal(guess(s, 0x0b0001, 2, ada, hash, right, later), 1);
    assert_true(bj_secret_known(s, hash, right));
    bj_secrets_free(s);
}

static int guess6(struct bj_secrets *s, const char *address, uint64_t now)
{
    struct sockaddr_in6 in = {.sin6_family = AF_INET6};
    assert_int_equal(inet_pton(AF_INET6, address, &in.sin6_addr), 1);
    const struct bj_secret_client client = {(const struct sockaddr *)&in,
                                            BJ_SLICE("ada")};
    return bj_secret_check(s, NULL, "$5$salt", &client, BJ_SLICE("x"), now);
}

/* A client has many addresses of IPv6, but one network. */
static void test_clients_ipv6(void **state)
{
    (void)state;
    struct bj_secrets *s;
    char address[64];
    int r = 0, tried = 0;
    assert_int_equal(bj_secrets_new(&s, NULL), 0);
    for (; r == 0 && tried < 100; tried++) {
        snprintf(address, sizeof(address), "2001:db8:1:2::%x", tried + 1);
        r = guess6(s, address, 1000000);
    }
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(tried, BJ_SECRET_NETWORK_BURST + 1);
    assert_int_equal(guess6(s, "2001:db8:1:3::1", 1000000), 0);
    /* IPv4 in IPv6 is a network of IPv4 */
    assert_int_equal(guess6(s, "::ffff:10.0.0.1", 1000000), 0);
    bj_secrets_free(s);
}

/* A time before that of the last check does not reset the limit: threads read
 * the clock before they wait for the lock. */
static void test_clock(void **state)
{
    (void)state;
    struct bj_secrets *s;
    const uint64_t now = 100000000;
    assert_int_equal(bj_secrets_new(&s, NULL), 0);
    while (check(s, NULL, "$5$salt", BJ_SLICE("x"), now) == 0)
        ;
    assert_int_equal(check(s, NULL, "$5$salt", BJ_SLICE("x"), now - 1),
                     -EAGAIN);
    bj_secrets_free(s);
}

/* A hash is also computed for an unknown user. */
static void test_unknown_user(void **state)
{
    (void)state;
    static const char like[] = "$5$saltstring$x";
    struct bj_secrets *s;
    assert_int_equal(bj_secrets_new(&s, NULL), 0);
    assert_int_equal(check(s, NULL, like, BJ_SLICE("a"), 1), 0);
    assert_string_equal(setting, like);
    assert_int_equal(check(s, NULL, NULL, BJ_SLICE("a"), 1), 0);
    assert_memory_equal(setting, "$2b$10$", 7);
    bj_secrets_free(s);
}

static void test_tokens(void **state)
{
    (void)state;
    char id[16], token[BJ_TOKEN_BYTES], hash[BJ_HASH_BYTES];
    struct bj_slice got_id, secret;
    struct bj_secrets *s;
    assert_int_equal(bj_secrets_new(&s, NULL), 0);
    assert_int_equal(bj_token_make(id, token, hash, NULL), 0);
    assert_true(bj_secret_usable(hash));
    assert_true(bj_token_split(bj_slice_str(token), &got_id, &secret));
    assert_true(bj_slice_eq(got_id, bj_slice_str(id)));
    assert_int_equal(secret.n, 48);
    assert_int_equal(check(s, hash, NULL, secret, 1), 1);
    secret.n--;
    assert_int_equal(check(s, hash, NULL, secret, 1), 0);
    assert_false(bj_token_split(BJ_SLICE("bj_1234567_x"), &got_id, &secret));
    assert_false(bj_token_split(BJ_SLICE("bj_12345678_"), &got_id, &secret));
    bj_secrets_free(s);
}

static void test_names(void **state)
{
    (void)state;
    static const struct bj_slice good[] = {S("a"), S("A.b-c_d+e@f"), S("_x"),
                                           S("1000")};
    static const struct bj_slice bad[] = {
        S(""),   S("-a"),  S(".a"),  S("a b"),  S("a,b"), S("a\0b"),
        S("\0"), S("a/b"), S("a'b"), S("\xc3"), S("a\n")};
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(bj_access_is_name(good[i]));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(bj_access_is_name(bad[i]));
}

static void test_access(void **state)
{
    (void)state;
    char *admins[] = {(char *)"ada boss"},
         *coordinators[] = {(char *)"math: bob  ada", (char *)" phys :bob"};
    struct bj_strv a = {admins, 1}, c = {coordinators, 2}, none = {0};
    const struct bj_slice *account;
    struct bj_access *x;
    struct bj_err err = {0};
    assert_int_equal(bj_access_new(&a, &c, NULL, &x, &err), 0);
    assert_true(bj_access_is_admin(x, BJ_SLICE("ada")));
    assert_true(bj_access_is_admin(x, BJ_SLICE("boss")));
    assert_false(bj_access_is_admin(x, BJ_SLICE("bob")));
    assert_false(bj_access_is_admin(x, BJ_SLICE("")));
    assert_false(bj_access_is_admin(x, BJ_SLICE("bos")));
    assert_int_equal(bj_access_accounts(x, BJ_SLICE("bob"), &account), 2);
    assert_true(bj_slice_eq(account[0], BJ_SLICE("math")));
    assert_true(bj_slice_eq(account[1], BJ_SLICE("phys")));
    assert_int_equal(bj_access_accounts(x, BJ_SLICE("ada"), &account), 1);
    assert_true(bj_slice_eq(account[0], BJ_SLICE("math")));
    assert_int_equal(bj_access_accounts(x, BJ_SLICE("boss"), &account), 0);
    assert_int_equal(bj_access_accounts(x, BJ_SLICE("zoe"), &account), 0);
    assert_int_equal(bj_access_accounts(x, BJ_SLICE(""), &account), 0);
    bj_access_free(x);
    coordinators[1] = (char *)"math:bob bob";
    assert_int_equal(bj_access_new(&a, &c, NULL, &x, &err), 0);
    assert_int_equal(bj_access_accounts(x, BJ_SLICE("bob"), &account), 1);
    assert_int_equal(bj_access_accounts(x, BJ_SLICE("ada"), &account), 1);
    assert_true(bj_access_is_admin(x, BJ_SLICE("ada")));
    bj_access_free(x);
    coordinators[1] = (char *)"no colon";
    assert_int_equal(bj_access_new(&a, &c, NULL, &x, &err), -EINVAL);
    assert_int_equal(bj_access_new(&none, &none, "/nonexistent/x", &x, &err),
                     -EINVAL);
    assert_int_equal(bj_access_new(&none, &none, "", &x, &err), 0);
    assert_false(bj_access_is_admin(x, BJ_SLICE("ada")));
    bj_access_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_many_correct_secrets),
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_clients_ipv6),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_unknown_user),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_access),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
