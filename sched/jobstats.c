#include "sched/jobstats.h"

#include "base/absent.h"
#include "base/json.h"
#include "base/secret.h"

#include <errno.h>
#include <zlib.h>

enum {
    CODED_MAX = 1 << 20,
    JSON_MAX = 4 << 20,
    GZIP_ONLY = 16 + 15 /* zlib.h, inflateInit2: any window, gzip's header */
};

static int inflate_all(z_stream *z, struct bj_arena *a, struct bj_slice *ret,
                       struct bj_err *err)
{
    size_t cap = 16384;
    char *text = bj_arena_alloc(a, cap);
    int rc = Z_OK;
    while (text && rc == Z_OK && z->total_out < JSON_MAX) {
        if (z->total_out == cap) {
            char *more = bj_arena_alloc(a, 4 * cap);
            if (more)
                memcpy(more, text, cap);
            text = more;
            cap *= 4;
            continue;
        }
        z->next_out = (Bytef *)text + z->total_out;
        z->avail_out = (uInt)(cap - z->total_out);
        rc = inflate(z, Z_NO_FLUSH);
    }
    if (!text || rc == Z_MEM_ERROR)
        return bj_err_set(err, -ENOMEM, "JS1");
    if (rc == Z_OK)
        return bj_err_set(err, -EFBIG, "JS1: more than %d bytes", JSON_MAX);
    if (rc != Z_STREAM_END)
        return bj_err_set(err, -EINVAL, "JS1: not a complete gzip file");
    *ret = (struct bj_slice){text, z->total_out};
    return 0;
}

static int unpack(struct bj_arena *a, struct bj_slice coded,
                  struct bj_slice *ret, struct bj_err *err)
{
    if (coded.n > CODED_MAX)
        return bj_err_set(err, -EFBIG, "JS1: more than %d bytes", CODED_MAX);
    char *zipped = bj_arena_alloc(a, coded.n);
    if (!zipped)
        return bj_err_set(err, -ENOMEM, "JS1");
    int n = bj_base64(coded, zipped, coded.n);
    if (n < 0)
        return bj_err_set(err, -EINVAL, "JS1: not base64");
    z_stream z = {.next_in = (Bytef *)zipped, .avail_in = (uInt)n};
    if (inflateInit2(&z, GZIP_ONLY) != Z_OK)
        return bj_err_set(err, -ENOMEM, "JS1");
    int r = inflate_all(&z, a, ret, err);
    inflateEnd(&z);
    return r;
}

/* --- sums ------------------------------------------------------------------*/

/* Add a number of 10^digits times its unit, or make the sum absent. */
static void jobstats_add(uint64_t *sum, const struct bj_json *v,
                         unsigned digits)
{
    int64_t n = -1;
    if (*sum == BJ_ABSENT)
        return;
    if (bj_json_fixed(v, digits, &n) < 0 || n < 0 ||
        __builtin_add_overflow(*sum, (uint64_t)n, sum))
        *sum = BJ_ABSENT;
}

/* A GPU may be missing in any of the three lists. */
static void take_gpus(const struct bj_json *node, struct bj_jobstats *ret)
{
    const struct bj_json *list[] = {bj_json_get(node, "gpu_total_memory"),
                                    bj_json_get(node, "gpu_used_memory"),
                                    bj_json_get(node, "gpu_utilization")};
    for (unsigned i = 0; i < 3; i++)
        BJ_JSON_EACH(gpu, list[i])
        {
            struct bj_slice key = bj_json_key(gpu);
            if ((i > 0 && bj_json_find(list[0], key)) ||
                (i > 1 && bj_json_find(list[1], key)))
                continue;
            int64_t busy;
            ret->gpus++;
            ret->gpus_known +=
                bj_json_fixed(bj_json_find(list[2], key), 4, &busy) == 0;
            jobstats_add(&ret->gpu_mem_used_bytes, bj_json_find(list[1], key),
                         0);
            jobstats_add(&ret->gpu_busy_ppm, bj_json_find(list[2], key), 4);
        }
}

static void jobstats_take_node(const struct bj_json *node,
                               struct bj_jobstats *ret)
{
    const struct bj_json *cpu = bj_json_get(node, "total_time");
    const struct bj_json *memory = bj_json_get(node, "used_memory");
    int64_t sec = 0, bytes = 0, usec = 0;
    /* No process runs without memory: 0 means that nothing was measured.  A
     * time of 0 is a rounded one if there was memory. */
    if (bj_json_fixed(memory, 0, &bytes) == 0 && bytes == 0) {
        memory = NULL;
        if (bj_json_fixed(cpu, 6, &usec) == 0 && usec == 0)
            cpu = NULL;
    }
    ret->nodes++;
    jobstats_add(&ret->cpu_usec, cpu, 6);
    jobstats_add(&ret->cpus, bj_json_get(node, "cpus"), 0);
    jobstats_add(&ret->mem_used_bytes, memory, 0);
    jobstats_add(&ret->mem_total_bytes, bj_json_get(node, "total_memory"), 0);
    if (bj_json_fixed(cpu, 1, &sec) < 0)
        ret->nodes_unused = BJ_ABSENT;
    else if (ret->nodes_unused != BJ_ABSENT && sec < 10)
        ret->nodes_unused++;
    take_gpus(node, ret);
}

int bj_jobstats_read(struct bj_arena *a, struct bj_slice comment,
                     struct bj_jobstats *ret, struct bj_err *err)
{
    const struct bj_json_limits limits = {
        .bytes = JSON_MAX, .values = 200000, .depth = 8};
    const struct bj_json *doc;
    struct bj_slice text;
    if (!bj_slice_starts(comment, BJ_SLICE("JS1:")))
        return -ENOENT;
    comment.p += 4;
    comment.n -= 4;
    if (bj_slice_starts(comment, BJ_SLICE("Short")) ||
        bj_slice_starts(comment, BJ_SLICE("None")))
        return -ENOENT;
    int r = unpack(a, comment, &text, err);
    if (r == 0)
        r = bj_json_parse(a, text, "JS1", &limits, &doc, err);
    if (r < 0)
        return r;
    *ret = (struct bj_jobstats){.elapsed_sec = bj_json_u64_or(
                                    bj_json_get(doc, "total_time"), BJ_ABSENT)};
    BJ_JSON_EACH(node, bj_json_get(doc, "nodes"))
    {
        jobstats_take_node(node, ret);
    }
    if (ret->nodes == 0)
        return -ENOENT;
    if (ret->gpus == 0)
        ret->gpu_busy_ppm = ret->gpu_mem_used_bytes = BJ_ABSENT;
    else if (ret->gpu_busy_ppm != BJ_ABSENT)
        ret->gpu_busy_ppm /= ret->gpus;
    return 0;
}
