#include "standalone/accept.h"

#include <strings.h>

/* An element of the list: name, weight and version. */
struct item {
    struct bj_slice name, version;
    unsigned weight; /* 0 to 1000 */
};

static bool same(struct bj_slice s, const char *word)
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

/* Remove the next element from the list. */
static bool next_item(struct bj_slice *rest, struct item *ret)
{
    struct bj_slice text, part, key;
    if (!bj_slice_field(rest, ',', &text))
        return false;
    *ret = (struct item){.weight = 1000};
    if (!bj_slice_field(&text, ';', &ret->name))
        return true;
    ret->name = bj_slice_trim(ret->name);
    while (bj_slice_field(&text, ';', &part)) {
        if (!bj_slice_field(&part, '=', &key))
            continue;
        key = bj_slice_trim(key);
        part = unquote(bj_slice_trim(part));
        if (same(key, "q"))
            ret->weight = weight(part);
        else if (same(key, "version"))
            ret->version = part;
    }
    return true;
}

/* Three forms match plain text; the most specific one counts. */
struct best {
    unsigned closeness, weight;
};

static void consider(struct best *b, unsigned closeness, unsigned w)
{
    if (closeness > b->closeness ||
        (closeness == b->closeness && w > b->weight))
        *b = (struct best){closeness, w};
}

enum bj_page_format bj_accept_format(struct bj_slice accept)
{
    struct best text = {0}, open = {0};
    struct item it;
    while (next_item(&accept, &it)) {
        if (same(it.name, "application/openmetrics-text")) {
            if (it.version.n == 0 || same(it.version, "1.0.0") ||
                same(it.version, "0.0.1"))
                consider(&open, 1, it.weight);
        } else if (same(it.name, "text/plain")) {
            if (it.version.n == 0 || same(it.version, "0.0.4"))
                consider(&text, 3, it.weight);
        } else if (same(it.name, "text/*")) {
            consider(&text, 2, it.weight);
        } else if (same(it.name, "*/*")) {
            consider(&text, 1, it.weight);
        }
    }
    return open.weight > 0 && open.weight >= text.weight ? BJ_PAGE_OPENMETRICS
                                                         : BJ_PAGE_TEXT;
}

bool bj_accept_gzip(struct bj_slice accept_encoding)
{
    struct best gzip = {0}, plain = {0};
    struct item it;
    while (next_item(&accept_encoding, &it)) {
        if (same(it.name, "gzip") || same(it.name, "x-gzip"))
            consider(&gzip, 2, it.weight);
        else if (same(it.name, "*"))
            consider(&gzip, 1, it.weight);
        else if (same(it.name, "identity"))
            consider(&plain, 1, it.weight);
    }
    return gzip.weight > 0 && gzip.weight >= plain.weight;
}
