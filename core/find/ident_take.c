/* Adds the fields of a source to the identity. */
#include "core/find/ident_find.h"

#include <stdio.h>

void bj_search_take(struct bj_ident_search *s, enum bj_ident_field field,
                    struct bj_slice value)
{
    if (s->f[field].n > 0 || value.n == 0)
        return;
    size_t n = value.n < BJ_RAW_CAP ? value.n : BJ_RAW_CAP;
    memcpy(s->raw[field], value.p, n);
    s->f[field] = (struct bj_slice){s->raw[field], n};
}

void bj_search_take_nodes(struct bj_ident_search *s, struct bj_slice nodelist)
{
    if (s->nodelist.n > 0 || nodelist.n == 0 || nodelist.n > BJ_NODES_CAP)
        return;
    memcpy(s->nodes, nodelist.p, nodelist.n);
    s->nodelist = (struct bj_slice){s->nodes, nodelist.n};
}

void bj_search_take_uid(struct bj_ident_search *s, uid_t uid,
                        enum bj_ident_source source)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%u", (unsigned)uid);
    if (s->f[BJ_ID_UID].n == 0 && n > 0)
        s->uid_source = source;
    bj_search_take(s, BJ_ID_UID, (struct bj_slice){text, (size_t)n});
}
