#include "report/form/js1.h"

#include "base/base64.h"
#include "base/json.h"

#include <inttypes.h>
#include <zlib.h>

enum { SHORT_SEC = 60, GZIP_BITS = 15 + 16 };

/* --- JSON ------------------------------------------------------------------
 */

/* The size of a GPU's memory, which is not measured, from the name of its
 * model; BJ_SQL_NULL: not in the name. */
static int64_t gpu_total(struct bj_slice model)
{
    for (size_t i = 0; i + 2 <= model.n; i++) {
        size_t at = i;
        int64_t gb = 0;
        while (at < model.n && model.p[at] >= '0' && model.p[at] <= '9' &&
               gb < 10000)
            gb = gb * 10 + (model.p[at++] - '0');
        if (at > i && at + 1 < model.n && model.p[at] == 'G' &&
            model.p[at + 1] == 'B')
            return gb << 30;
        i = at > i ? at - 1 : i;
    }
    return BJ_SQL_NULL;
}

/* Append a member, unless its value is unknown.  digits: 10^digits is the unit
 * of v, which is printed with one decimal place; 0: as it is. */
static void put_member(struct bj_buf *out, struct bj_slice name, int64_t v,
                       unsigned digits)
{
    if (v < 0 || out->failed)
        return;
    bj_buf_str(out, out->p[out->len - 1] == '{' ? "" : ",");
    bj_json_string(out, name);
    if (digits > 0)
        bj_buf_printf(out, ":%.1f", (double)v / (digits == 6 ? 1e6 : 1e4));
    else
        bj_buf_printf(out, ":%" PRId64, v);
}

/* Append one of the objects that have a member for each GPU of the node with a
 * value. */
static void put_gpus(const struct bj_report *r, struct bj_slice node,
                     const char *name, int which, struct bj_buf *out)
{
    bj_buf_printf(out, ",\"%s\":{", name);
    for (size_t i = 0; i < r->gpus; i++) {
        const struct bj_report_gpu *g = &r->gpu[i];
        if (!bj_slice_eq(g->node, node))
            continue;
        put_member(out, g->index.n > 0 ? g->index : g->gpu,
                   which == 0   ? gpu_total(g->model)
                   : which == 1 ? g->memory_peak
                                : g->busy_ppm,
                   which == 2 ? 4 : 0);
    }
    bj_buf_str(out, "}");
}

static void put_node(const struct bj_report *r, struct bj_slice node,
                     int64_t total, int64_t used, int64_t cpu_usec,
                     int64_t cpus, struct bj_buf *out)
{
    bj_json_string(out, node);
    bj_buf_str(out, ":{");
    put_member(out, BJ_SLICE("total_memory"), total, 0);
    put_member(out, BJ_SLICE("used_memory"), used, 0);
    put_member(out, BJ_SLICE("total_time"), cpu_usec, 6);
    put_member(out, BJ_SLICE("cpus"), cpus, 0);
    if (bj_report_number(r, BJ_REPORT_GPUS) > 0) {
        put_gpus(r, node, "gpu_total_memory", 0, out);
        put_gpus(r, node, "gpu_used_memory", 1, out);
        put_gpus(r, node, "gpu_utilization", 2, out);
    }
    bj_buf_str(out, "}");
}

/* False: no value is known. */
static bool put_json(const struct bj_report *r, struct bj_buf *out)
{
    int64_t nodes = bj_report_number(r, BJ_REPORT_NODES);
    int64_t had = r->figure[BJ_FIGURE_MEMORY].allocated;
    int64_t share = nodes > 0 && had > 0 ? had / nodes : BJ_SQL_NULL;
    const struct bj_report_figure *cpu = &r->figure[BJ_FIGURE_CPU];
    if (r->nodes == 0 && (nodes != 1 || cpu->used == BJ_SQL_NULL))
        return false;
    bj_buf_str(out, "{\"nodes\":{");
    for (size_t i = 0; i < r->nodes; i++) {
        const struct bj_report_node *n = &r->node[i];
        bj_buf_str(out, i ? "," : "");
        put_node(r, n->node, n->memory_limit > 0 ? n->memory_limit : share,
                 n->memory_peak, n->cpu_usec, n->cpus, out);
    }
    if (r->nodes == 0)
        put_node(r, bj_report_text(r, BJ_REPORT_NODELIST), share,
                 r->figure[BJ_FIGURE_MEMORY].used, cpu->used,
                 bj_report_number(r, BJ_REPORT_CPUS), out);
    bj_buf_str(out, "}");
    put_member(out, BJ_SLICE("total_time"),
               bj_report_number(r, BJ_REPORT_ELAPSED), 0);
    put_member(out, BJ_SLICE("gpus"), bj_report_number(r, BJ_REPORT_GPUS), 0);
    bj_buf_str(out, "}");
    return true;
}

/* --- gzip and base64 -------------------------------------------------------
 */

static int put_packed(const struct bj_buf *json, struct bj_buf *out,
                      struct bj_err *err)
{
    z_stream z = {.next_in = (unsigned char *)json->p,
                  .avail_in = (uInt)json->len};
    struct bj_buf packed = {0};
    int code = Z_MEM_ERROR;
    if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return bj_err_set(err, -ENOMEM, "JS1");
    size_t cap = deflateBound(&z, (uLong)json->len);
    if (bj_buf_room(&packed, cap)) {
        z.next_out = (unsigned char *)packed.p;
        z.avail_out = (uInt)cap;
        code = deflate(&z, Z_FINISH);
    }
    if (code == Z_STREAM_END) {
        bj_buf_str(out, "JS1:");
        bj_base64_put(out, (struct bj_slice){packed.p, z.total_out});
    }
    deflateEnd(&z);
    bj_buf_free(&packed);
    return code == Z_STREAM_END ? 0 : bj_err_set(err, -ENOMEM, "JS1");
}

int bj_report_js1(const struct bj_report *r, struct bj_buf *out,
                  struct bj_err *err)
{
    struct bj_buf json = {0};
    int64_t sec = bj_report_number(r, BJ_REPORT_ELAPSED);
    int code = 0;
    if (!bj_report_is(r, BJ_REPORT_STATE, "running") && r->nodes == 0 &&
        sec != BJ_SQL_NULL && sec < SHORT_SEC)
        bj_buf_str(out, "JS1:Short");
    else if (!put_json(r, &json))
        bj_buf_str(out, "JS1:None");
    else
        code = json.failed ? bj_err_set(err, -ENOMEM, "JS1")
                           : put_packed(&json, out, err);
    bj_buf_free(&json);
    return code;
}
