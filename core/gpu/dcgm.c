#include "core/gpu/dcgm.h"

#include "base/fetch.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct bj_gpu_use, member)

/* Names in the page, without their common prefix.  A share is 0 to 1, and up to
 * a hundredth more by rounding. */
static const struct {
    struct bj_slice name;
    size_t off;
    unsigned digits; /* decimal places that are read: 6 of a share */
    uint64_t most;
} fields[] = {
#define SHARE(name, member)                                                    \
    {                                                                          \
        {name, sizeof(name) - 1}, AT(member), 6, 1010000                       \
    }
/* A "blank" floating point value of DCGM is 2^47 or more. */
#define RATE(name, member)                                                     \
    {                                                                          \
        {name, sizeof(name) - 1}, AT(member), 0, (UINT64_C(1) << 47) - 1       \
    }
    SHARE("GR_ENGINE_ACTIVE", graphics_ppm),    /* 1001 */
    SHARE("SM_ACTIVE", sm_ppm),                 /* 1002 */
    SHARE("SM_OCCUPANCY", occupancy_ppm),       /* 1003 */
    SHARE("PIPE_TENSOR_ACTIVE", tensor_ppm),    /* 1004 */
    SHARE("DRAM_ACTIVE", dram_ppm),             /* 1005 */
    SHARE("PIPE_FP64_ACTIVE", fp64_ppm),        /* 1006 */
    SHARE("PIPE_FP32_ACTIVE", fp32_ppm),        /* 1007 */
    SHARE("PIPE_FP16_ACTIVE", fp16_ppm),        /* 1008 */
    RATE("PCIE_TX_BYTES", pcie_tx_rate),        /* 1009 */
    RATE("PCIE_RX_BYTES", pcie_rx_rate),        /* 1010 */
    RATE("NVLINK_TX_BYTES", nvlink_tx_rate),    /* 1011 */
    RATE("NVLINK_RX_BYTES", nvlink_rx_rate),    /* 1012 */
    SHARE("PIPE_TENSOR_IMMA_ACTIVE", imma_ppm), /* 1013 */
    SHARE("PIPE_TENSOR_HMMA_ACTIVE", hmma_ppm), /* 1014 */
    SHARE("PIPE_TENSOR_DFMA_ACTIVE", dfma_ppm), /* 1015 */
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

/* --- labels ---------------------------------------------------------------*/

struct labels {
    struct bj_slice uuid, instance;
};

/* Cut a label value.  Values are not escaped, so one ends at a quote that is
 * followed by the next label or by the end of the labels.  False: no end. */
static bool cut_value(struct bj_slice *rest, struct bj_slice *ret)
{
    for (size_t i = 0; i + 1 < rest->n; i++) {
        char next = rest->p[i + 1];
        if (rest->p[i] != '"' || (next != ',' && next != '}'))
            continue;
        *ret = (struct bj_slice){rest->p, i};
        rest->p += i + 1;
        rest->n -= i + 1;
        return true;
    }
    return false;
}

/* Cut the labels, from after the opening brace to after the closing one. */
static bool cut_labels(struct bj_slice *rest, struct labels *ret)
{
    *ret = (struct labels){{"", 0}, {"", 0}};
    while (rest->n > 0 && *rest->p != '}') {
        struct bj_slice name, value;
        if (*rest->p == ',') {
            rest->p++;
            rest->n--;
        }
        if (!bj_slice_field(rest, '=', &name) || rest->n == 0 ||
            *rest->p != '"')
            return false;
        rest->p++;
        rest->n--;
        if (!cut_value(rest, &value))
            return false;
        name = bj_slice_trim(name);
        if (bj_slice_eq(name, BJ_SLICE("UUID")))
            ret->uuid = value;
        else if (bj_slice_eq(name, BJ_SLICE("GPU_I_ID")))
            ret->instance = value;
    }
    if (rest->n == 0)
        return false;
    rest->p++;
    rest->n--;
    return true;
}

/* --- devices --------------------------------------------------------------*/

static struct bj_gpu *device_of(struct bj_gpu_set *set, struct bj_slice uuid)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->v[i].parent < 0 &&
            bj_slice_eq(bj_slice_str(set->v[i].uuid), uuid))
            return &set->v[i];
    if (uuid.n == 0 || uuid.n >= BJ_GPU_TEXT || memchr(uuid.p, '\0', uuid.n))
        return NULL;
    struct bj_gpu *g = bj_gpu_add(set);
    if (g)
        memcpy(g->uuid, uuid.p, uuid.n);
    return g;
}

static struct bj_gpu *gpu_of(struct bj_gpu_set *set, const struct labels *l)
{
    struct bj_gpu *device = device_of(set, l->uuid);
    uint64_t gi;
    if (!device || l->instance.n == 0)
        return device;
    if (bj_slice_u64(l->instance, &gi) < 0 || gi >= UINT32_MAX)
        return NULL;
    int parent = (int)(device - set->v);
    for (size_t i = 0; i < set->n; i++)
        if (set->v[i].parent == parent && set->v[i].gi == gi)
            return &set->v[i];
    struct bj_gpu *g = bj_gpu_add(set);
    if (g) {
        g->parent = parent;
        g->gi = (uint32_t)gi;
        g->ci = UINT32_MAX;
    }
    return g;
}

/* --- lines ----------------------------------------------------------------*/

static void dcgm_take_line(struct bj_slice line, size_t field,
                           struct bj_gpu_set *out)
{
    struct labels l;
    struct bj_slice number;
    uint64_t v;
    if (!cut_labels(&line, &l) || !bj_slice_word(&line, &number) ||
        bj_decimal_u64(number, fields[field].digits, &v) < 0 ||
        v > fields[field].most)
        return;
    if (fields[field].digits > 0 && v > 1000000)
        v = 1000000;
    struct bj_gpu *g = gpu_of(out, &l);
    if (g)
        *(uint64_t *)(void *)((char *)&g->use + fields[field].off) = v;
}

void bj_gpu_dcgm_page(struct bj_slice page, struct bj_gpu_set *out)
{
    static const struct bj_slice prefix = {"DCGM_FI_PROF_", 13};
    struct bj_slice line, name;
    while (bj_slice_line(&page, &line)) {
        if (!bj_slice_starts(line, prefix) || !memchr(line.p, '{', line.n) ||
            !bj_slice_field(&line, '{', &name))
            continue;
        name.p += prefix.n;
        name.n -= prefix.n;
        for (size_t i = 0; i < FIELDS; i++)
            if (bj_slice_eq(name, fields[i].name))
                dcgm_take_line(line, i, out);
    }
}

/* --- the source -----------------------------------------------------------*/

/* Values of DCGM, from the page of dcgm-exporter. The structures of DCGM's
 * library depend on its version; the page has names. */

enum { SECOND = 1000000, WAIT_USEC = 5 * SECOND, PAGE_MAX = 8 << 20 };

struct dcgm {
    const char *url;
    const atomic_bool *stop;
    struct bj_fetch *fetch;
    struct bj_fetch_reply reply;
};

static bool dcgm_present(const struct bj_gpu_env *env)
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

const struct bj_gpu_kind bj_gpu_dcgm = {"dcgm", dcgm_present, open_dcgm,
                                        read_dcgm, close_dcgm};
