/* Taking what a source says into the finding. */
#include "core/find/ident_find.h"

#include <stdio.h>

void bj_finding_take(struct bj_finding *fd, enum bj_ident_field field,
                     struct bj_slice value)
{
    if (fd->f[field].n > 0 || value.n == 0)
        return;
    size_t n = value.n < BJ_RAW_CAP ? value.n : BJ_RAW_CAP;
    memcpy(fd->raw[field], value.p, n);
    fd->f[field] = (struct bj_slice){fd->raw[field], n};
}

void bj_finding_take_nodes(struct bj_finding *fd, struct bj_slice nodelist)
{
    if (fd->nodelist.n > 0 || nodelist.n == 0 || nodelist.n > BJ_NODES_CAP)
        return;
    memcpy(fd->nodes, nodelist.p, nodelist.n);
    fd->nodelist = (struct bj_slice){fd->nodes, nodelist.n};
}

void bj_finding_take_uid(struct bj_finding *fd, uid_t uid,
                         enum bj_ident_source source)
{
    char text[16];
    int n = snprintf(text, sizeof(text), "%u", (unsigned)uid);
    if (fd->f[BJ_ID_UID].n == 0 && n > 0)
        fd->uid_source = source;
    bj_finding_take(fd, BJ_ID_UID, (struct bj_slice){text, (size_t)n});
}
