/* base/web_conf.c: a web configuration file is refused with a message that
 * begins with its name, or all settings are complete and within limits. */
#include "base/web_conf.h"

#include "base/secret.h"
#include "tests/fuzz/fuzz.h"

#define PATH "/x/web.yml"

static bool is_line(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
    return true;
}

static void check_pem(const struct bj_pem *p)
{
    MUST(!p->file || (p->file[0] == '/' && is_line(p->file)));
    MUST(!p->file || !p->text);
}

static void check_list(const struct bj_strv *l)
{
    for (size_t i = 0; i < l->n; i++)
        MUST(l->v[i][0] && is_line(l->v[i]));
}

static void check_tls(const struct bj_tls_conf *t)
{
    check_pem(&t->cert);
    check_pem(&t->key);
    check_pem(&t->client_ca);
    check_list(&t->sans);
    check_list(&t->curves);
    if (!t->given)
        return;
    bool verified = t->client_auth >= BJ_CLIENT_IF_GIVEN;
    MUST(t->client_auth <= BJ_CLIENT_REQUIRED);
    MUST(t->lowest <= t->upper && t->upper < BJ_TLS_VERSIONS);
    MUST((t->cert.file || t->cert.text) && (t->key.file || t->key.text));
    MUST(verified == (t->client_ca.file || t->client_ca.text));
}

static void check(const struct bj_web_conf *c)
{
    check_tls(&c->tls);
    for (size_t i = 0; i < c->users; i++) {
        struct bj_slice name = bj_slice_str(c->user[i].name);
        MUST(name.n > 0 && is_line(name.p) && !memchr(name.p, ':', name.n));
        MUST(bj_secret_usable(c->user[i].hash));
        MUST(bj_web_conf_hash(c, name) == c->user[i].hash);
    }
    for (int i = 0; i < BJ_WEB_HEADERS && c->header[i].name; i++) {
        MUST(c->header[i].value[0] && is_line(c->header[i].value));
        for (int j = 0; j < i; j++)
            MUST(c->header[i].name != c->header[j].name);
    }
    MUST(c->burst >= 1 && c->burst <= 1000000);
    MUST(c->rate_usec <= UINT64_MAX / c->burst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_web_conf c = {0};
    struct bj_err err = {0};
    char *mem;
    struct bj_slice text = fuzz_exact(data, size, &mem);
    int r = bj_web_conf_parse(&c, PATH, text, &err);
    MUST(r == 0 || (r == -EINVAL && err.code == r));
    MUST(r == 0 || strncmp(err.msg, PATH, sizeof(PATH) - 1) == 0);
    if (r == 0)
        check(&c);
    bj_web_conf_free(&c);
    free(mem);
    return 0;
}
