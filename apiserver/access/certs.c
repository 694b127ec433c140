#include "apiserver/access/certs.h"

#include <stdio.h>
#include <stdlib.h>

struct line {
    struct bj_slice head, tail; /* parts of the pattern before and after '*' */
    bool star;
    struct bj_slice name; /* NULL: the text that the '*' matches */
};

struct bj_certs {
    size_t n;
    struct line line[];
};

static int certs_wrong(const char *text, struct bj_err *err)
{
    return bj_err_set(
        err, -EINVAL,
        "access.certificates: '%.80s' is not \"KIND:PATTERN USER\" with KIND "
        "cn, subject, dns, email or uri, and at most one '*'",
        text);
}

static bool is_kind(struct bj_slice s)
{
    static const char *const kinds[] = {
        "cn:", "subject:", "dns:", "email:", "uri:"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (bj_slice_starts(s, bj_slice_str(kinds[i])))
            return s.n > strlen(kinds[i]);
    return false;
}

static int certs_parse(const char *text, struct line *ret, struct bj_err *err)
{
    struct bj_slice s = bj_slice_trim(bj_slice_str(text));
    size_t n = s.n;
    while (n > 0 && s.p[n - 1] != ' ' && s.p[n - 1] != '\t')
        n--;
    struct bj_slice name = {s.p + n, s.n - n};
    struct bj_slice pattern = bj_slice_trim((struct bj_slice){s.p, n});
    if (!is_kind(pattern))
        return certs_wrong(text, err);
    const char *star = memchr(pattern.p, '*', pattern.n);
    *ret = (struct line){.head = pattern, .name = name};
    if (star) {
        size_t at = (size_t)(star - pattern.p);
        ret->star = true;
        ret->head.n = at;
        ret->tail = (struct bj_slice){star + 1, pattern.n - at - 1};
        if (memchr(ret->tail.p, '*', ret->tail.n))
            return certs_wrong(text, err);
    }
    if (bj_slice_eq(name, BJ_SLICE("*")) && star)
        ret->name = (struct bj_slice){0};
    else if (!bj_access_is_name(name))
        return certs_wrong(text, err);
    return 0;
}

int bj_certs_new(const struct bj_strv *lines, struct bj_certs **ret,
                 struct bj_err *err)
{
    struct bj_certs *c = calloc(1, sizeof(*c) + lines->n * sizeof(c->line[0]));
    if (!c)
        return bj_err_set(err, -ENOMEM, "access.certificates");
    int r = 0;
    for (; r == 0 && c->n < lines->n; c->n++)
        r = certs_parse(lines->v[c->n], &c->line[c->n], err);
    if (r < 0)
        free(c);
    else
        *ret = c;
    return r;
}

void bj_certs_free(struct bj_certs *c)
{
    free(c);
}

static bool certs_fits(const struct line *l, struct bj_slice s,
                       struct bj_slice *ret_name)
{
    if (!l->star && !bj_slice_eq(s, l->head))
        return false;
    if (l->star &&
        (s.n <= l->head.n + l->tail.n || !bj_slice_starts(s, l->head) ||
         memcmp(s.p + s.n - l->tail.n, l->tail.p, l->tail.n) != 0))
        return false;
    *ret_name = l->name.p ? l->name
                          : (struct bj_slice){s.p + l->head.n,
                                              s.n - l->head.n - l->tail.n};
    return true;
}

/* Match one line against all names. */
static int match(const struct line *l, struct bj_slice names,
                 struct bj_slice *ret)
{
    struct bj_slice s, name, found = {0};
    while (bj_slice_field(&names, '\0', &s)) {
        if (!certs_fits(l, s, &name))
            continue;
        if (found.p && !bj_slice_eq(found, name))
            return -EINVAL;
        found = name;
    }
    *ret = found;
    return found.p ? 0 : -ENOENT;
}

int bj_certs_match(const struct bj_certs *c, struct bj_slice names,
                   char ret[static BJ_USER_BYTES])
{
    struct bj_slice name;
    int r = -ENOENT;
    for (size_t i = 0; i < c->n && r == -ENOENT; i++)
        r = match(&c->line[i], names, &name);
    if (r < 0)
        return r;
    if (name.n >= BJ_USER_BYTES)
        return -EINVAL;
    memcpy(ret, name.p, name.n);
    ret[name.n] = '\0';
    return 0;
}
