/* Reading directories without opendir(3), which allocates. */
#include "core/collect/process_impl.h"

#include <sys/syscall.h>
#include <unistd.h>

void bj_dents_init(struct bj_dents *d, int fd)
{
    d->fd = fd;
    d->error = 0;
    d->n = d->at = 0;
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
}

const struct bj_dent *bj_dents_next(struct bj_dents *d)
{
    for (;;) {
        if (d->at >= d->n) {
            d->at = 0;
            d->n = syscall(SYS_getdents64, d->fd, d->buf, sizeof(d->buf));
            if (d->n <= 0) {
                d->error = d->n < 0 ? -errno : 0;
                d->n = 0;
                return NULL;
            }
        }
        const struct bj_dent *e =
            (const struct bj_dent *)(const void *)(d->buf + d->at);
        d->at += e->reclen;
        if (!is_dots(e->name))
            return e;
    }
}
