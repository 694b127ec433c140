/* Values of DCGM, from the page of dcgm-exporter. The structures of DCGM's
 * library depend on its version; the page has names. */
#include "core/gpu/dcgm.h"

#include "base/fetch.h"

#include <stdlib.h>

enum { SECOND = 1000000, WAIT_USEC = 5 * SECOND, PAGE_MAX = 8 << 20 };

struct dcgm {
    const char *url;
    const atomic_bool *stop;
    struct bj_fetch *fetch;
    struct bj_fetch_reply reply;
};

static bool present(const struct bj_gpu_env *env)
{
    return env->dcgm && *env->dcgm;
}

static void close_dcgm(void *m)
{
    struct dcgm *d = m;
    bj_fetch_reply_free(&d->reply);
    bj_fetch_free(d->fetch);
    free(d);
}

static int open_dcgm(const struct bj_gpu_env *env, void **ret,
                     struct bj_err *err)
{
    struct dcgm *d = calloc(1, sizeof(*d));
    if (!d)
        return bj_err_set(err, -ENOMEM, "dcgm-exporter");
    d->url = env->dcgm;
    d->stop = env->stop;
    int r = bj_fetch_new(&d->fetch, err);
    if (r < 0) {
        free(d);
        return r;
    }
    *ret = d;
    return 0;
}

static int read_dcgm(void *m, struct bj_gpu_set *out, struct bj_err *err)
{
    struct dcgm *d = m;
    const struct bj_fetch_request req = {.url = d->url,
                                         .no_proxy = true,
                                         .connect_usec = WAIT_USEC,
                                         .total_usec = WAIT_USEC,
                                         .max_bytes = PAGE_MAX,
                                         .abort = d->stop};
    int r = bj_fetch(d->fetch, &req, &d->reply, err);
    if (r < 0)
        return r == -ENODEV ? -EIO : r;
    bj_gpu_dcgm_page((struct bj_slice){d->reply.body.p, d->reply.body.len},
                     out);
    if (out->n == 0)
        return bj_err_set(err, -EBADMSG, "%s has no DCGM_FI_PROF_ of any GPU",
                          d->url);
    return 0;
}

const struct bj_gpu_kind bj_gpu_dcgm = {"dcgm", present, open_dcgm, read_dcgm,
                                        close_dcgm};
