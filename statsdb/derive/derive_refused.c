/* Final records of hosts on which, as accounting says, their job did not run:
 * the views leave them out; here they are counted by host. */
#include "base/log.h"
#include "base/text.h"
#include "statsdb/derive/derive_impl.h"

#include <stdio.h>

static const char others[] = "other hosts"; /* beyond BJ_REFUSED_HOSTS */

static struct bj_refused_host *find(struct bj_derive *d, struct bj_slice name)
{
    char clean[BJ_REFUSED_NAME];
    bj_text_clean(name, clean, sizeof(clean));
    size_t i = 0;
    while (i < d->n_refused && strcmp(d->refused[i].name, clean) != 0)
        i++;
    if (i == BJ_REFUSED_HOSTS)
        return &d->refused[i - 1];
    if (i == d->n_refused) {
        d->n_refused++;
        snprintf(d->refused[i].name, BJ_REFUSED_NAME, "%s",
                 i == BJ_REFUSED_HOSTS - 1 ? others : clean);
    }
    return &d->refused[i];
}

int bj_derive_refuse(struct bj_derive *d, int64_t record, struct bj_err *err)
{
    struct bj_st *st = d->st[BJ_DE_REFUSED_HOST];
    bj_st_bind_i64(st, 1, record);
    int r = bj_st_row(st, err);
    if (r > 0)
        find(d, bj_st_get_text(st, 0))->fresh++;
    bj_st_reset(st);
    if (r <= 0)
        return r;
    bj_st_bind_i64(d->st[BJ_DE_REFUSED_PUT], 1, record);
    r = bj_st_run(d->st[BJ_DE_REFUSED_PUT], err);
    return r < 0 ? r : 0;
}

int bj_derive_refuse_job(struct bj_derive *d, struct bj_err *err)
{
    enum { MAX = 256 }; /* the others in the next step of the job */
    int64_t record[MAX];
    struct bj_st *st = d->st[BJ_DE_REFUSED];
    unsigned n = 0;
    int r = 0;
    if (d->job.refused <= 0)
        return 0;
    bj_st_bind_i64(st, 1, d->job.id);
    bj_st_bind_i64(st, 2, d->job.v[BJ_DJ_RECORDS_FIRST]);
    bj_st_bind_i64(st, 3, d->job.v[BJ_DJ_RECORDS_END]);
    while (n < MAX && (r = bj_st_row(st, err)) > 0)
        record[n++] = bj_st_get_i64(st, 0);
    bj_st_reset(st);
    for (unsigned i = 0; r >= 0 && i < n; i++)
        r = bj_derive_refuse(d, record[i], err);
    return r < 0 ? r : 0;
}

void bj_derive_refused_end(struct bj_derive *d, bool committed)
{
    for (size_t i = 0; i < d->n_refused; i++) {
        struct bj_refused_host *h = &d->refused[i];
        if (committed && h->fresh > 0 && h->n == 0)
            bj_log(BJ_LOG_WARN, NULL,
                   "host %s: %llu final records of jobs that did not run "
                   "there, as accounting says, are not used",
                   h->name, (unsigned long long)h->fresh);
        h->n += committed ? h->fresh : 0;
        h->fresh = 0;
    }
}

void bj_derive_refused_page(const struct bj_derive *d, struct bj_buf *out)
{
    static const char name[] = "batchjob_stats_refused_records_total";
    bj_buf_printf(out,
                  "# HELP %s Final records that are not used: accounting says "
                  "that the job did not run on the host.\n# TYPE %s counter\n",
                  name, name);
    for (size_t i = 0; i < d->n_refused; i++) {
        bj_buf_printf(out, "%s{host=\"", name);
        bj_buf_label(out, bj_slice_str(d->refused[i].name));
        bj_buf_str(out, "\"} ");
        bj_buf_u64(out, d->refused[i].n);
        bj_buf_str(out, "\n");
    }
}
