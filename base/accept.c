#include "base/accept.h"

#include <string.h>
#include <strings.h>

bool bj_accept_is(struct bj_slice s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* "0.75" to 750; 1000 without a valid weight. */
static unsigned weight(struct bj_slice s)
{
    unsigned v = 0, scale = 1000;
    if (s.n == 0 || s.p[0] < '0' || s.p[0] > '1' || (s.n > 1 && s.p[1] != '.'))
        return 1000;
    v = (unsigned)(s.p[0] - '0') * 1000;
    for (size_t i = 2; i < s.n && scale > 1; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return 1000;
        scale /= 10;
        v += (unsigned)(s.p[i] - '0') * scale;
    }
    return v > 1000 ? 1000 : v;
}

static struct bj_slice unquote(struct bj_slice s)
{
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"')
        return (struct bj_slice){s.p + 1, s.n - 2};
    return s;
}

bool bj_accept_next(struct bj_slice *rest, struct bj_accept_item *ret)
{
    struct bj_slice text, part, key;
    if (!bj_slice_field(rest, ',', &text))
        return false;
    *ret = (struct bj_accept_item){.weight = 1000};
    if (!bj_slice_field(&text, ';', &ret->name))
        return true;
    ret->name = bj_slice_trim(ret->name);
    while (bj_slice_field(&text, ';', &part)) {
        if (!bj_slice_field(&part, '=', &key))
            continue;
        key = bj_slice_trim(key);
        part = unquote(bj_slice_trim(part));
        if (bj_accept_is(key, "q"))
            ret->weight = weight(part);
        else if (bj_accept_is(key, "version"))
            ret->version = part;
    }
    return true;
}

void bj_accept_consider(struct bj_accept_best *b, unsigned closeness,
                        unsigned w)
{
    if (closeness > b->closeness ||
        (closeness == b->closeness && w > b->weight))
        *b = (struct bj_accept_best){closeness, w};
}

bool bj_accept_gzip(struct bj_slice accept_encoding)
{
    struct bj_accept_best gzip = {0}, plain = {0};
    struct bj_accept_item it;
    while (bj_accept_next(&accept_encoding, &it)) {
        if (bj_accept_is(it.name, "gzip") || bj_accept_is(it.name, "x-gzip"))
            bj_accept_consider(&gzip, 2, it.weight);
        else if (bj_accept_is(it.name, "*"))
            bj_accept_consider(&gzip, 1, it.weight);
        else if (bj_accept_is(it.name, "identity"))
            bj_accept_consider(&plain, 1, it.weight);
    }
    return gzip.weight > 0 && gzip.weight >= plain.weight;
}
