#include "core/find/path_fields.h"

#include <stdlib.h>
#include <string.h>

struct bj_path_fields {
    unsigned char n;
    char text[]; /* n times: number of the field, its text, NUL */
};

struct bj_path_fields *bj_path_fields_new(const struct bj_slice f[BJ_ID_FIELDS])
{
    size_t size = sizeof(struct bj_path_fields);
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        size += f[i].n > 0 ? f[i].n + 2 : 0;
    struct bj_path_fields *t = malloc(size);
    if (!t)
        return NULL;
    t->n = 0;
    char *p = t->text;
    for (int i = 0; i < BJ_ID_FIELDS; i++) {
        if (f[i].n == 0)
            continue;
        *p++ = (char)i;
        memcpy(p, f[i].p, f[i].n);
        p += f[i].n;
        *p++ = '\0';
        t->n++;
    }
    return t;
}

void bj_path_fields_get(const struct bj_path_fields *t,
                        struct bj_slice f[BJ_ID_FIELDS])
{
    const char *p = t->text;
    memset(f, 0, BJ_ID_FIELDS * sizeof(*f));
    for (unsigned i = 0; i < t->n; i++) {
        struct bj_slice *s = &f[(unsigned char)*p++];
        *s = bj_slice_str(p);
        p += s->n + 1;
    }
}
