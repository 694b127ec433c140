#include "report/pdf/draw.h"

#include "base/command.h"
#include "base/json.h"
#include "base/local.h"
#include "base/tz.h"
#include "report/chart/charts.h"
#include "report/form/json.h"
#include "report/job/job.h"
#include "report/pdf/chart_draw.h"
#include "report/pdf/pdf.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

enum {
    INPUT_BYTES = 32 << 20,
    OUTPUT_BYTES = 16 << 20,
    DEADLINE_USEC = 10000000,
    CPU_SEC = 20,
    NO_LIBRARY = 3, /* exit status */
    /* of the header of each image: its length in digits, and \n */
    HEAD_BYTES = 10
};

#define SIZE 12.0 /* size of axis labels in pixels */
#define PAD 10.0

/* --- the process that draws ------------------------------------------------
 */

static int draw_pdf(const struct bj_json *doc, const struct bj_charts *charts,
                    struct bj_buf *out, struct bj_err *err)
{
    const bool letter = bj_slice_eq(bj_json_text(bj_json_get(doc, "paper")),
                                    BJ_SLICE("letter"));
    struct bj_report report = {.interactive = false};
    struct bj_sheet *s = NULL;
    struct bj_doc d = {.created_sec = 0};
    const struct bj_json *document = bj_json_get(doc, "document");
    int r = document
                ? bj_doc_parse(document, &d, err)
                : bj_report_parse(bj_json_get(doc, "report"), &report, err);
    if (r == 0)
        r = bj_sheet_new(letter, &s, err);
    if (r == 0 && !document)
        bj_report_document(&report, &d);
    if (r == 0)
        r = bj_pdf_document(s, &d, charts, err);
    if (r == 0)
        r = bj_sheet_write(
            s,
            &(struct bj_sheet_about){d.whole_title.p,
                                     document ? NULL : BJ_PDF_JOB_SUBJECT,
                                     d.created_sec},
            out, err);
    bj_doc_free(&d);
    bj_sheet_free(s);
    bj_report_free(&report);
    return r;
}

static int draw_image(const struct bj_chart *k, double width, double scale,
                      struct bj_buf *out, struct bj_err *err)
{
    struct bj_sheet *s = NULL;
    struct bj_buf png = {0};
    const struct bj_chart_place place = {PAD, PAD, width - 2 * PAD, SIZE};
    const bool pie = k->kind == BJ_CHART_PIE;
    const double height =
        pie ? bj_pie_height(SIZE) : bj_chart_height(k, place.width, SIZE);
    int r = bj_sheet_new_image(width, height + 2 * PAD, scale, &s, err);
    if (r == 0) {
        bj_sheet_row(s, 0, 0);
        (pie ? bj_pie_draw : bj_chart_draw)(s, &place, k);
        r = bj_sheet_write_png(s, &png, err);
    }
    if (r == 0) {
        bj_buf_printf(out, "%09zu\n", png.len);
        bj_buf_put(out, png.p, png.len);
    }
    bj_buf_free(&png);
    bj_sheet_free(s);
    return r;
}

static int draw_images(const struct bj_json *doc,
                       const struct bj_charts *charts, struct bj_buf *out,
                       struct bj_err *err)
{
    uint64_t width = bj_json_u64_or(bj_json_get(doc, "width"), 0);
    uint64_t scale = bj_json_u64_or(bj_json_get(doc, "scale"), 0);
    int r = 0;
    if (width < BJ_DRAW_WIDTH_MIN || width > BJ_DRAW_WIDTH_MAX || scale < 1 ||
        scale > 3)
        return bj_err_set(err, -EBADMSG, "width or scale: out of range");
    for (unsigned i = 0; r == 0 && i < charts->charts; i++)
        r = draw_image(&charts->chart[i], (double)width, (double)scale, out,
                       err);
    return r;
}

static int draw_read_all(FILE *f, struct bj_buf *ret, struct bj_err *err)
{
    char piece[65536];
    size_t n;
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0 && !ret->failed &&
           ret->len < INPUT_BYTES)
        bj_buf_put(ret, piece, n);
    return ret->failed ? bj_err_set(err, -ENOMEM, "input")
           : ferror(f) || !feof(f)
               ? bj_err_set(err, -EIO, "the input cannot be read")
               : 0;
}

/* The names of zones come from the program that requests the drawing. */
static int take_zone(const struct bj_json *doc, struct bj_tz **ret,
                     struct bj_err *err)
{
    char name[BJ_TZ_NAME];
    const struct bj_slice text = bj_json_text(bj_json_get(doc, "zone"));
    snprintf(name, sizeof(name), "%.*s", (int)text.n, text.n ? text.p : "");
    int r = bj_tz_load(name[0] ? name : "UTC", ret, err);
    if (r == 0)
        bj_tz_use(*ret);
    return r;
}

static void take_texts(const struct bj_json *texts, struct bj_locals *locals)
{
    for (const struct bj_json *t = bj_json_first(texts); t; t = bj_json_next(t))
        bj_locals_add(locals, bj_json_key(t), bj_json_text(t));
    bj_locals_use(locals);
}

static int convert(struct bj_buf *in, struct bj_buf *out, struct bj_err *err)
{
    struct bj_arena arena = {0};
    struct bj_charts charts = {.charts = 0};
    struct bj_locals locals = {.n = 0};
    const struct bj_json *doc = NULL;
    struct bj_tz *zone = NULL;
    int r = draw_read_all(stdin, in, err);
    if (r == 0)
        r = bj_json_parse(&arena, (struct bj_slice){in->p, in->len}, "report",
                          NULL, &doc, err);
    take_texts(bj_json_get(doc, "texts"), &locals);
    if (r == 0)
        r = take_zone(doc, &zone, err);
    if (r == 0 && bj_json_get(doc, "charts"))
        r = bj_charts_parse(bj_json_get(doc, "charts"), &charts, err);
    if (r == 0)
        r = bj_json_get(doc, "report") || bj_json_get(doc, "document")
                ? draw_pdf(doc, &charts, out, err)
                : draw_images(doc, &charts, out, err);
    if (r == 0 && out->failed)
        r = bj_err_set(err, -ENOMEM, "drawing");
    if (r == 0 && (fwrite(out->p, 1, out->len, stdout) != out->len ||
                   fflush(stdout) != 0))
        r = bj_err_set(err, -EIO, "the output cannot be written");
    bj_charts_free(&charts);
    bj_locals_free(&locals);
    bj_tz_use(NULL);
    bj_tz_free(zone);
    bj_arena_free(&arena);
    return r;
}

int bj_draw_process(void)
{
    struct bj_buf in = {0}, out = {0};
    struct bj_err err = {0};
    char text[320];
    setrlimit(RLIMIT_CPU, &(struct rlimit){CPU_SEC, CPU_SEC});
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    int r = convert(&in, &out, &err);
    bj_buf_free(&in);
    bj_buf_free(&out);
    if (r == 0)
        return 0;
    fprintf(stderr, "%s\n", bj_err_reason(&err, text, sizeof(text)));
    return r == -ENOSYS ? NO_LIBRARY : 1;
}

/* --- the program that requests a drawing -----------------------------------
 */

static atomic_uint processes;

static int draw_run(const char *program, const struct bj_buf *in,
                    struct bj_buf *out, struct bj_err *err)
{
    const char *const argv[] = {program, BJ_DRAW_COMMAND, NULL};
    struct bj_command_result res = {.exit = -1};
    if (in->failed)
        return bj_err_set(err, -ENOMEM, "drawing");
    if (atomic_fetch_add(&processes, 1) >= BJ_DRAW_PROCESSES) {
        atomic_fetch_sub(&processes, 1);
        return bj_err_set(err, -EBUSY, "%d processes are drawing",
                          BJ_DRAW_PROCESSES);
    }
    const struct bj_command command = {.argv = argv,
                                       .input = {in->p, in->len},
                                       .deadline_usec = DEADLINE_USEC,
                                       .max_bytes = OUTPUT_BYTES};
    int r = program ? bj_command_run(&command, &res, err)
                    : bj_err_set(err, -ENOSYS, "no program that draws");
    atomic_fetch_sub(&processes, 1);
    if (r == 0)
        bj_buf_put(out, res.out.p, res.out.len);
    if (r == -EREMOTEIO && res.exit == NO_LIBRARY)
        r = err->code = -ENOSYS;
    bj_command_result_free(&res);
    return r == 0 && out->failed ? bj_err_set(err, -ENOMEM, "drawing") : r;
}

/* The words and the time zone of the reader. */
static void put_reader(struct bj_buf *in)
{
    const struct bj_locals *l = bj_locals_used();
    bj_buf_str(in, ",\"zone\":");
    bj_json_string(in, bj_slice_str(bj_tz_name(bj_tz_used())));
    bj_buf_str(in, ",\"texts\":{");
    for (size_t i = 0; l && i < l->n; i++) {
        bj_buf_str(in, i > 0 ? "," : "");
        bj_json_string(in, l->text[i].english);
        bj_buf_str(in, ":");
        bj_json_string(in, l->text[i].text);
    }
    bj_buf_str(in, "}");
}

static void put_charts(const struct bj_charts *charts, struct bj_buf *in)
{
    put_reader(in);
    if (!charts)
        return;
    bj_buf_str(in, ",\"charts\":");
    bj_charts_write(charts, in);
}

int bj_draw_pdf(const char *program, const struct bj_report *report,
                const struct bj_charts *charts, bool letter, struct bj_buf *out,
                struct bj_err *err)
{
    struct bj_buf in = {0};
    bj_buf_printf(&in,
                  "{\"paper\":\"%s\",\"report\":", letter ? "letter" : "a4");
    bj_report_write(report, &in);
    put_charts(charts, &in);
    bj_buf_str(&in, "}");
    int r = draw_run(program, &in, out, err);
    bj_buf_free(&in);
    return r;
}

int bj_draw_document(const char *program, const struct bj_doc *d,
                     const struct bj_charts *charts, bool letter,
                     struct bj_buf *out, struct bj_err *err)
{
    struct bj_buf in = {0};
    bj_buf_printf(&in,
                  "{\"paper\":\"%s\",\"document\":", letter ? "letter" : "a4");
    bj_doc_write(d, &in);
    put_charts(charts, &in);
    bj_buf_str(&in, "}");
    int r = draw_run(program, &in, out, err);
    bj_buf_free(&in);
    return r;
}

/* Split the output into images. */
static int draw_split(struct bj_slice all, unsigned n, struct bj_buf *ret,
                      struct bj_err *err)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t len;
        if (all.n < HEAD_BYTES ||
            bj_slice_u64((struct bj_slice){all.p, HEAD_BYTES - 1}, &len) < 0 ||
            len > all.n - HEAD_BYTES)
            return bj_err_set(err, -EIO, "drawing: the output is cut");
        bj_buf_put(&ret[i], all.p + HEAD_BYTES, (size_t)len);
        if (ret[i].failed)
            return bj_err_set(err, -ENOMEM, "drawing");
        all.p += HEAD_BYTES + len;
        all.n -= HEAD_BYTES + (size_t)len;
    }
    return 0;
}

int bj_draw_png(const char *program, const struct bj_charts *charts,
                unsigned width, unsigned scale, struct bj_buf ret[BJ_CHARTS],
                struct bj_err *err)
{
    struct bj_buf in = {0}, all = {0};
    bj_buf_printf(&in, "{\"width\":%u,\"scale\":%u", width, scale);
    put_charts(charts, &in);
    bj_buf_str(&in, "}");
    int r = draw_run(program, &in, &all, err);
    if (r == 0)
        r = draw_split((struct bj_slice){all.p, all.len}, charts->charts, ret,
                       err);
    bj_buf_free(&in);
    bj_buf_free(&all);
    return r;
}
