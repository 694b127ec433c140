/* Images in mails: the charts of a report. */
#ifndef BJ_MAIL_PLOTS_H
#define BJ_MAIL_PLOTS_H

#include "mail/mime.h"
#include "report/charts.h"
#include "report/period.h"
#include "report/report.h"
#include "statsdb/conf.h"

#include <stdatomic.h>

/* Where charts come from; all must outlive their use. */
struct bj_mail_plots_from {
    const struct bj_cluster_conf *cluster; /* with their Prometheus servers */
    size_t clusters;
    const char *program;     /* that draws: report/draw.h */
    const atomic_bool *stop; /* ends a query */
    /* Whose server did not answer, and when to ask it again: mails do not wait
     * for it one after another. */
    const struct bj_cluster_conf *away;
    int64_t again_sec;
};

/* From the clusters of the configuration, drawn by the program that runs; stop
 * must outlive their use. */
struct bj_mail_plots_from
bj_mail_plots_from_conf(const struct bj_statsdb_conf *c,
                        const atomic_bool *stop);

/* For main(): do the arguments make the program a process that draws?  Then it
 * has drawn, and ends with that status. */
bool bj_mail_plots_drawn(int argc, char *const *argv, int *ret_status);

enum {
    BJ_MAIL_PLOTS = 6,            /* in a mail, at most */
    BJ_MAIL_PLOTS_BYTES = 400000, /* of their images, at most */
    BJ_MAIL_PLOTS_WIDTH = 440,    /* small enough for phones */
    BJ_MAIL_CID_MAX = 60
};

/* Zero-initialise. */
struct bj_mail_plots {
    struct bj_charts charts; /* image[i] is that of chart i */
    struct bj_buf png[BJ_CHARTS];
    char cid[BJ_MAIL_PLOTS][BJ_MAIL_CID_MAX];
    struct bj_mail_image image[BJ_MAIL_PLOTS];
    unsigned images;
    unsigned left_out; /* charts without image */
};

/* The plots of a job, or in ret->charts.why why there are none; nothing where
 * its cluster has no Prometheus server.  name: of the mail, in Content-ID.
 * What fails but -ENOMEM is logged, and the mail goes without plots. */
int bj_mail_plots_of_job(struct bj_mail_plots_from *from,
                         const struct bj_report *r, const char *name,
                         int64_t now_sec, struct bj_mail_plots *ret,
                         struct bj_err *err);

/* The plot of a period, if it has days. */
int bj_mail_plots_of_period(const struct bj_mail_plots_from *from,
                            const struct bj_period *p, const char *name,
                            struct bj_mail_plots *ret, struct bj_err *err);

void bj_mail_plots_free(struct bj_mail_plots *p);

/* Append a section to the HTML part, and the same in words to the text. */
void bj_mail_plots_html(const struct bj_mail_plots *p, struct bj_buf *out);
void bj_mail_plots_text(const struct bj_mail_plots *p, struct bj_buf *out);

#endif
