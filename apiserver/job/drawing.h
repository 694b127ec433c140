/* Shared by the endpoints that return charts of a job as PDF, PNG and JSON. */
#ifndef BJ_APISERVER_JOB_DRAWING_H
#define BJ_APISERVER_JOB_DRAWING_H

#include "apiserver/job/curves.h"
#include "report/model/document.h"
#include "report/model/report.h"

/* A drawing between the two parts of its endpoint. */
struct bj_drawing {
    struct bj_server *server;
    struct bj_arena arena;
    struct bj_visible_job f;
    struct bj_report report; /* of a PDF */
    struct bj_doc doc;       /* of another PDF */
    struct bj_curves curves;
    struct bj_charts charts;
    /* the query of one chart; NULL: all charts of the job */
    struct bj_series_work *one;
    const char *none; /* the reason if there are no charts; "": the site has no
                         Prometheus server */
    unsigned width;   /* of an image */
    bool letter;      /* paper; else A4 */
};

/* Prepares a drawing with the parameters of its request: 0, a refusal or an
 * error. */
typedef int bj_drawing_step(struct bj_call *c, struct bj_params *p,
                            struct bj_drawing *d);

/* The first part of an endpoint: prepare fills a drawing, which becomes c->work
 * and which the second part frees.  0, a refusal or an error. */
int bj_drawing_begin(struct bj_call *c, bj_drawing_step *prepare);
void bj_drawing_free(struct bj_drawing *d); /* NULL is fine */

/* Find the job in the path, read its report, and make the queries of all its
 * charts. */
bj_drawing_step bj_drawing_prepare;

/* In the second part: query and make the charts.  0 or -ENOMEM. */
int bj_drawing_query(struct bj_call *c, struct bj_drawing *d);

/* Wait for room, then respond with bytes of that type.  0 or a refusal. */
int bj_drawing_reply(struct bj_call *c, const struct bj_drawing *d,
                     const struct bj_buf *bytes, const char *type);

/* Draw the first chart as an image of d->width and respond with it.  0 or a
 * refusal. */
int bj_drawing_image(struct bj_call *c, struct bj_drawing *d);

/* The second part of an endpoint for the PDF of a document: draw d->doc with
 * d->charts. */
int bj_drawing_document(struct bj_call *c);

/* Read the paper.  0 or a refusal. */
int bj_drawing_paper(struct bj_call *c, const struct bj_params *p,
                     struct bj_drawing *d);

/* The two parts of the endpoint for a PDF (pdf.c). */
int bj_pdf_prepare(struct bj_call *c);
int bj_pdf_reply(struct bj_call *c);

/* The two parts of an endpoint for one plot (plot.c).  The first one uses the
 * metrics, by and width of p for the job of that name; the second one frees the
 * work. */
int bj_plot_prepare(struct bj_call *c, const struct bj_params *p,
                    struct bj_slice job, struct bj_drawing *d);
int bj_plot_reply(struct bj_call *c);

/* Refuse a request after its drawing failed with code; what: "PDF", "PNG". */
int bj_drawing_failed(struct bj_call *c, int code, const char *what);

#endif
