#include "core/gpu/seen.h"

#include <errno.h>
#include <stdlib.h>

enum { BUCKETS = 1024, SPREAD = 6 };

struct bj_gpu_seens {
    uint64_t now_usec, reading;
    struct bj_gpu_seen *bucket[BUCKETS];
};

int bj_gpu_seens_new(struct bj_gpu_seens **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

static void drop(struct bj_gpu_seens *s, bool all)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct bj_gpu_seen **at = &s->bucket[i]; *at;) {
            struct bj_gpu_seen *p = *at;
            if (!all && p->reading == s->reading) {
                at = &p->next;
                continue;
            }
            *at = p->next;
            free(p);
        }
}

void bj_gpu_seens_free(struct bj_gpu_seens *s)
{
    if (!s)
        return;
    drop(s, true);
    free(s);
}

void bj_gpu_seens_begin(struct bj_gpu_seens *s, uint64_t now_usec)
{
    s->now_usec = now_usec;
    s->reading++;
}

void bj_gpu_seens_end(struct bj_gpu_seens *s)
{
    drop(s, false);
}

struct bj_gpu_seen *bj_gpu_seens_of(struct bj_gpu_seens *s, pid_t pid,
                                    ino_t inode)
{
    struct bj_gpu_seen **at = &s->bucket[(size_t)pid % BUCKETS];
    while (*at && ((*at)->pid != pid || (*at)->inode != inode))
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof(**at));
        if (!*at)
            return NULL;
        (*at)->pid = pid;
        (*at)->inode = inode;
        (*at)->first_usec = s->now_usec;
    }
    (*at)->reading = s->reading;
    return *at;
}

/* After its first minute, the first check of each process is at a different
 * time, so that not all are due together. */
bool bj_gpu_seens_due(const struct bj_gpu_seens *s, struct bj_gpu_seen *p)
{
    bool young = s->now_usec < p->first_usec + BJ_GPU_SEEN_YOUNG_USEC;
    if (s->now_usec < p->due_usec)
        return false;
    if (young)
        p->due_usec = 0;
    else if (p->due_usec == 0)
        p->due_usec = s->now_usec + ((uint64_t)p->pid % SPREAD + 1) *
                                        (BJ_GPU_SEEN_INTERVAL_USEC / SPREAD);
    else
        p->due_usec = s->now_usec + BJ_GPU_SEEN_INTERVAL_USEC;
    return true;
}
