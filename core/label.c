/* Values of labels. */
#include "base/text.h"
#include "core/cluster/cluster.h"
#include "core/internal.h"

struct bj_slice bj_core_label(struct bj_arena *a, const char *s)
{
    char buf[BJ_LABEL_MAX + 1];
    size_t n = bj_text_clean(bj_slice_str(s), buf, sizeof(buf));
    return bj_arena_copy(a, (struct bj_slice){buf, n});
}

struct bj_slice bj_core_cluster(const struct bj_core *core,
                                struct bj_arena *arena)
{
    return *core->cluster || !core->scheduler
               ? bj_slice_str(core->cluster)
               : bj_cluster_name(core->scheduler, arena);
}
