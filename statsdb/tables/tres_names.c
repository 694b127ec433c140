#include "statsdb/tables/tres_names.h"
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 128, ITEMS = 64 };

struct bj_tres_name {
    uint64_t id;
    char text[NAME_MAX_BYTES];
    size_t len;
};

static const struct bj_tres_name *tres_names_find(const struct bj_tres_names *t,
                                                  uint64_t id)
{
    for (unsigned i = 0; i < t->n; i++)
        if (t->v[i].id == id)
            return &t->v[i];
    return NULL;
}

static size_t tres_names_put(char *to, size_t at, struct bj_slice s)
{
    if (s.n > NAME_MAX_BYTES - at)
        s.n = NAME_MAX_BYTES - at;
    if (s.n > 0)
        memcpy(to + at, s.p, s.n);
    return at + s.n;
}

int bj_tres_names_add(struct bj_tres_names *t, uint64_t id,
                      struct bj_slice type, struct bj_slice name)
{
    if (tres_names_find(t, id))
        return 0;
    if (!BJ_GROW(t->v, t->n + 1, t->cap))
        return -ENOMEM;
    struct bj_tres_name *n = &t->v[t->n++];
    n->id = id;
    n->len = tres_names_put(n->text, 0, type);
    if (name.n > 0) {
        n->len = tres_names_put(n->text, n->len, BJ_SLICE("/"));
        n->len = tres_names_put(n->text, n->len, name);
    }
    return 0;
}

void bj_tres_names_free(struct bj_tres_names *t)
{
    free(t->v);
    *t = (struct bj_tres_names){NULL, 0, 0};
}

struct item {
    const struct bj_tres_name *name;
    uint64_t count;
};

static int tres_names_by_name(const void *pa, const void *pb)
{
    const struct bj_tres_name *a = ((const struct item *)pa)->name;
    const struct bj_tres_name *b = ((const struct item *)pb)->name;
    int d = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);
    return d ? d : (a->len > b->len) - (a->len < b->len);
}

static bool read_item(const struct bj_tres_names *t, struct bj_slice text,
                      struct item *ret)
{
    uint64_t id;
    if (!bj_slice_number(&text, &id) || text.n < 2 || text.p[0] != '=')
        return false;
    text.p++;
    text.n--;
    if (!bj_slice_number(&text, &ret->count) || text.n > 0 ||
        ret->count >= UINT64_MAX - 1) /* INFINITE64, NO_VAL64 */
        return false;
    ret->name = tres_names_find(t, id);
    return ret->name != NULL;
}

void bj_tres_names_put(const struct bj_tres_names *t, struct bj_slice list,
                       bool requested, struct bj_buf *out)
{
    struct item item[ITEMS];
    struct bj_slice text;
    unsigned n = 0;
    while (n < ITEMS && list.n > 0) {
        const char *comma = memchr(list.p, ',', list.n);
        text.p = list.p;
        text.n = comma ? (size_t)(comma - list.p) : list.n;
        list.p += text.n + (comma != NULL);
        list.n -= text.n + (comma != NULL);
        n += read_item(t, text, &item[n]);
    }
    qsort(item, n, sizeof(item[0]), tres_names_by_name);
    for (unsigned i = 0; i < n; i++) {
        const struct bj_tres_name *name = item[i].name;
        bool mem = name->len == 3 && memcmp(name->text, "mem", 3) == 0;
        bool cpu = name->len == 3 && memcmp(name->text, "cpu", 3) == 0;
        if (i > 0)
            bj_buf_str(out, ",");
        bj_buf_put(out, name->text, name->len);
        bj_buf_str(out, "=");
        if (!requested && cpu) { /* milliseconds */
            bj_buf_printf(out, "%llu.%03u",
                          (unsigned long long)(item[i].count / 1000),
                          (unsigned)(item[i].count % 1000));
            continue;
        }
        bj_buf_u64(out, item[i].count);
        if (requested && mem)
            bj_buf_str(out, "M");
    }
}
