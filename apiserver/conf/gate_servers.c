#include "apiserver/conf/gate_servers.h"

#include "base/fetch.h"
#include "base/opt_value.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct bj_gate_server, member)

enum kind { TEXT, DURATION, COUNT, HEADER };

/* The expected values of words, for messages. */
static const char *const expected[] = {
    [TEXT] = "a value, given once",
    [DURATION] = "a duration above 0 such as 15d, given once",
    [COUNT] = "a number from 1 to 1000, given once",
    [HEADER] = "NAME:VALUE, at most 4 times",
};

enum { QUERIES_MAX = 1000 };

static const struct {
    const char *name;
    enum kind kind;
    size_t off;
} words[] = {
    {"retention=", DURATION, AT(retention_usec)},
    {"delay=", DURATION, AT(delay_usec)},
    {"max-queries=", COUNT, AT(queries)},
    {"user=", TEXT, AT(client.user)},
    {"password-file=", TEXT, AT(client.password_file)},
    {"token-file=", TEXT, AT(client.token_file)},
    {"ca-file=", TEXT, AT(client.ca_file)},
    {"cert-file=", TEXT, AT(client.cert_file)},
    {"key-file=", TEXT, AT(client.key_file)},
    {"header=", HEADER, 0},
};

/* --- one entry -------------------------------------------------------------
 */

static int add_header(struct bj_gate_server *s, char *value)
{
    struct bj_strv *l = &s->client.headers;
    if (l->n == BJ_GATE_SERVER_HEADERS || value[0] == ':' ||
        !strchr(value, ':'))
        return -EINVAL;
    s->header[l->n++] = value;
    return 0;
}

/* value: the rest of a word, terminated. */
static int take_value(struct bj_gate_server *s, enum kind kind, size_t off,
                      char *value)
{
    char **text = (char **)(void *)((char *)s + off);
    uint64_t *number = (uint64_t *)(void *)((char *)s + off);
    struct bj_slice v = bj_slice_str(value);
    if (kind == HEADER)
        return add_header(s, value);
    if (v.n == 0 || (kind == TEXT ? *text != NULL : *number != 0))
        return -EINVAL;
    if (kind == TEXT)
        *text = value;
    else if ((kind == DURATION ? bj_duration_parse(v, number)
                               : bj_slice_u64(v, number)) < 0 ||
             *number == 0 || (kind == COUNT && *number > QUERIES_MAX))
        return -EINVAL;
    return 0;
}

static int gate_servers_take_word(struct bj_gate_server *s, char *word,
                                  struct bj_err *err)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t n = strlen(words[i].name);
        if (strncmp(word, words[i].name, n) != 0)
            continue;
        if (take_value(s, words[i].kind, words[i].off, word + n) == 0)
            return 0;
        return bj_err_set(err, -EINVAL, "'%.60s': expected %s", word,
                          expected[words[i].kind]);
    }
    return bj_err_set(err, -EINVAL,
                      "'%.60s': expected retention=, delay=, max-queries=, "
                      "user=, password-file=, token-file=, ca-file=, "
                      "cert-file=, key-file= or header=",
                      word);
}

static int check_fit(const struct bj_gate_server *s, struct bj_err *err)
{
    const struct bj_prom_conf *c = &s->client;
    if (!c->user != !c->password_file)
        return bj_err_set(err, -EINVAL,
                          "user and password-file must be given together");
    if (c->user && c->token_file)
        return bj_err_set(err, -EINVAL, "set only one of user and token-file");
    if (c->key_file && !c->cert_file)
        return bj_err_set(err, -EINVAL, "key-file requires cert-file");
    if (s->retention_usec > 0 && s->delay_usec >= s->retention_usec)
        return bj_err_set(err, -EINVAL,
                          "the delay must be shorter than the retention");
    return 0;
}

/* Cut the next word off *rest and terminate it; NULL: none. */
static char *cut_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    if (!word[0])
        return NULL;
    *rest = word + strcspn(word, " \t");
    if (**rest)
        *(*rest)++ = '\0';
    return word;
}

/* The texts of *ret point into ret->text, which the caller frees. */
static int read_entry(const char *text, struct bj_gate_server *ret,
                      struct bj_err *err)
{
    char *rest = ret->text = strdup(text);
    if (!rest)
        return bj_err_set(err, -ENOMEM, "gate.servers");
    ret->client.url = cut_word(&rest);
    if (!ret->client.url)
        return bj_err_set(err, -EINVAL, "expected a URL");
    int r = bj_fetch_check(ret->client.url, err);
    for (char *w; r == 0 && (w = cut_word(&rest));)
        r = gate_servers_take_word(ret, w, err);
    return r < 0 ? r : check_fit(ret, err);
}

int bj_gate_server_check(const char *text, struct bj_err *err)
{
    struct bj_gate_server s = {0};
    int r = read_entry(text, &s, err);
    free(s.text);
    return r;
}

/* --- all entries ------------------------------------------------------------
 */

static bool has_own_access(const struct bj_prom_conf *c)
{
    return c->user || c->token_file || c->ca_file || c->cert_file ||
           c->headers.n > 0;
}

static int gate_servers_add(struct bj_gate_servers *all, const char *text,
                            const struct bj_prom_conf *prom, struct bj_err *err)
{
    struct bj_gate_server *s = &all->v[all->n++];
    int r = read_entry(text, s, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i + 1 < all->n; i++)
        if (strcmp(all->v[i].client.url, s->client.url) == 0)
            return bj_err_set(err, -EINVAL,
                              "gate.servers: entries %zu and %zu have the "
                              "same URL",
                              i + 1, all->n);
    if (prom->url && strcmp(prom->url, s->client.url) == 0 &&
        !has_own_access(&s->client))
        s->client = *prom;
    else
        s->client.headers.v = s->header;
    return 0;
}

int bj_gate_servers_read(const struct bj_strv *entries,
                         const struct bj_prom_conf *prom, uint64_t queries,
                         struct bj_gate_servers *ret, struct bj_err *err)
{
    int r = 0;
    if (entries->n > BJ_GATE_SERVERS)
        return bj_err_set(err, -EINVAL, "gate.servers: more than %d servers",
                          BJ_GATE_SERVERS);
    ret->v = calloc(entries->n + 1, sizeof(*ret->v));
    if (!ret->v)
        return bj_err_set(err, -ENOMEM, "gate.servers");
    for (size_t i = 0; r == 0 && i < entries->n; i++)
        r = gate_servers_add(ret, entries->v[i], prom, err);
    if (entries->n == 0 && prom->url && prom->url[0])
        ret->v[ret->n++].client = *prom;
    for (size_t i = 0; i < ret->n; i++)
        if (ret->v[i].queries == 0)
            ret->v[i].queries = queries;
    return r;
}

void bj_gate_servers_free(struct bj_gate_servers *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i].text);
    free(s->v);
    *s = (struct bj_gate_servers){0};
}

/* --- covered times ----------------------------------------------------------
 */

bool bj_gate_server_covers(const struct bj_gate_server *s,
                           struct bj_promql_span span, int64_t now_ms)
{
    int64_t oldest = s->retention_usec > 0
                         ? now_ms - (int64_t)(s->retention_usec / 1000)
                         : INT64_MIN;
    int64_t newest = s->delay_usec > 0
                         ? now_ms - (int64_t)(s->delay_usec / 1000)
                         : INT64_MAX;
    return span.from_ms >= oldest && span.to_ms <= newest;
}

uint64_t bj_gate_server_retention(const struct bj_gate_server *s)
{
    return s->retention_usec > 0 ? s->retention_usec : UINT64_MAX;
}

uint64_t bj_gate_servers_for(const struct bj_gate_servers *all,
                             struct bj_promql_span span, int64_t now_ms)
{
    uint64_t least = 0, longest = 0;
    for (size_t i = 0; i < all->n; i++) {
        uint64_t retention = bj_gate_server_retention(&all->v[i]);
        longest = retention > longest ? retention : longest;
        if (bj_gate_server_covers(&all->v[i], span, now_ms) &&
            (least == 0 || retention < least))
            least = retention;
    }
    return least > 0 ? least : longest;
}

bool bj_gate_servers_differ(const struct bj_gate_servers *all)
{
    for (size_t i = 1; i < all->n; i++)
        if (bj_gate_server_retention(&all->v[i]) !=
            bj_gate_server_retention(&all->v[0]))
            return true;
    return false;
}
