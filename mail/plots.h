/* Images in mails: the charts of a report. */
#ifndef BJ_MAIL_PLOTS_H
#define BJ_MAIL_PLOTS_H

#include "mail/mime.h"
#include "report/chart/charts.h"
#include "report/model/report.h"
#include "report/period/period.h"
#include "statsdb/conf/conf.h"

#include <stdatomic.h>

/* The source of charts; everything that it points to must outlive its use. */
struct bj_mail_plots_from {
    /* clusters, with their Prometheus servers */
    const struct bj_cluster_conf *cluster;
    size_t clusters;
    const char *program;     /* the program that draws: report/pdf/draw.h */
    const atomic_bool *stop; /* set: ends a query */
    /* The cluster whose server did not respond, and when to query it again, so
     * that not every mail waits for it. */
    const struct bj_cluster_conf *unreachable;
    int64_t retry_sec;
};

/* The source from the configured clusters, with the running program to draw;
 * stop must outlive its use. */
struct bj_mail_plots_from
bj_mail_plots_from_conf(const struct bj_statsdb_conf *c,
                        const atomic_bool *stop);

/* For main(): if the arguments run the program as a process that draws, draw
 * and return true; the program must then exit with *ret_status. */
bool bj_mail_plots_drawn(int argc, char *const *argv, int *ret_status);

enum {
    BJ_MAIL_PLOTS = 6, /* maximum number in a mail */
    /* maximum total size of the images of a mail */
    BJ_MAIL_PLOTS_BYTES = 400000,
    BJ_MAIL_PLOTS_WIDTH = 440, /* small enough for phones */
    BJ_MAIL_CID_MAX = 60
};

/* Zero-initialise. */
struct bj_mail_plots {
    struct bj_charts charts; /* image[i] is that of chart i */
    struct bj_buf png[BJ_CHARTS];
    char cid[BJ_MAIL_PLOTS][BJ_MAIL_CID_MAX];
    struct bj_mail_image image[BJ_MAIL_PLOTS];
    unsigned images;
    unsigned left_out; /* number of charts without image */
};

/* Make the plots of a job, or set ret->charts.why to the reason if there are
 * none; neither, if its cluster has no Prometheus server.  name: name of the
 * mail, for Content-ID. Errors other than -ENOMEM are logged, and the mail has
 * no plots. */
int bj_mail_plots_of_job(struct bj_mail_plots_from *from,
                         const struct bj_report *r, const char *name,
                         int64_t now_sec, struct bj_mail_plots *ret,
                         struct bj_err *err);

/* Make the plot of a period, if it has sums by day. */
int bj_mail_plots_of_period(const struct bj_mail_plots_from *from,
                            const struct bj_period *p, const char *name,
                            struct bj_mail_plots *ret, struct bj_err *err);

void bj_mail_plots_free(struct bj_mail_plots *p);

/* Append a section to the HTML part, and the same in words to the plain text.
 */
void bj_mail_plots_html(const struct bj_mail_plots *p, struct bj_buf *out);
void bj_mail_plots_text(const struct bj_mail_plots *p, struct bj_buf *out);

#endif
