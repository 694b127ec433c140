#include "statsdb/tables/export.h"

#include "base/buf.h"
#include "base/csv.h"
#include "base/json.h"
#include "statsdb/tables/job_month.h"
#include "store/db.h"

#include <sys/stat.h>
#include <unistd.h>

enum {
    FLUSH_BYTES = 1 << 16,
    FIRST = 1 /* first column after the job's number in this store */
};

static void csv_value(struct bj_buf *out, struct bj_st *st, int col)
{
    struct bj_slice s = bj_st_get_text(st, col);
    if (bj_st_type(st, col) == BJ_TYPE_INTEGER)
        bj_buf_slice(out, s);
    else
        bj_csv_text(out, s);
}

static void csv_row(struct bj_buf *out, struct bj_st *st)
{
    for (int i = FIRST; i < bj_st_columns(st); i++) {
        bj_buf_str(out, i > FIRST ? "," : "");
        csv_value(out, st, i);
    }
    bj_buf_str(out, "\r\n");
}

static bool is_jobid(const char *name)
{
    return strcmp(name, "jobid") == 0 || strcmp(name, "display_id") == 0;
}

static int json_row(struct bj_buf *out, struct bj_st *st)
{
    struct bj_json_out json = {.to = out}, *o = &json;
    bj_json_put_object(o, NULL);
    for (int i = FIRST; i < bj_st_columns(st); i++) {
        const char *name = bj_st_column_name(st, i);
        struct bj_value v;
        bj_st_get(st, i, 1, &v);
        /* PostgreSQL stores ids as texts, also if they are numbers. */
        if (v.type == BJ_TYPE_TEXT && is_jobid(name) &&
            bj_jobid_number(v.text, &v.i64))
            v.type = BJ_TYPE_INTEGER;
        if (v.type == BJ_TYPE_NULL)
            bj_json_put_null(o, name);
        else if (v.type == BJ_TYPE_INTEGER)
            bj_json_put_i64(o, name, v.i64);
        else
            bj_json_put_str(o, name, bj_st_get_text(st, i));
    }
    bj_json_put_end(o);
    int r = bj_json_out_end(o);
    bj_buf_str(out, "\n");
    return r;
}

static int flush(struct bj_buf *out, size_t least, FILE *to, struct bj_err *err)
{
    if (out->failed)
        return bj_err_set(err, -ENOMEM, "export");
    if (out->len < least)
        return 0;
    if (fwrite(out->p, 1, out->len, to) != out->len)
        return bj_err_set(err, errno ? -errno : -EIO, "export");
    out->len = 0;
    return 0;
}

/* Jobs that never started are found by their submit time. */
static int export_prepare(struct bj_db *db, const struct bj_export *what,
                          struct bj_st **ret, struct bj_err *err)
{
    struct bj_job_ranges months;
    struct bj_buf sql = {0};
    int r = bj_job_months_find(db, 0, what->until_sec, what->since_sec, &months,
                               err);
    if (r < 0)
        return r;
    bj_buf_str(&sql, "SELECT v.* FROM job AS o JOIN job_v AS v ON v.id = o.id"
                     " WHERE o.\"end\" >= ?1 AND o.\"end\" < ?2");
    bj_job_ranges_put(&months, "o.id", &sql);
    bj_buf_str(&sql, " ORDER BY o.at, o.id");
    bj_buf_put(&sql, "", 1);
    r = sql.failed ? bj_err_set(err, -ENOMEM, "export")
                   : bj_db_prepare(db, sql.p, ret, err);
    bj_buf_free(&sql);
    if (r < 0)
        return r;
    bj_st_bind_i64(*ret, 1, what->since_sec);
    bj_st_bind_i64(*ret, 2, what->until_sec);
    return 0;
}

/* The shell makes the file of a redirection, with the rights of its umask. */
static void keep_private(int fd)
{
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0 &&
        st.st_uid == geteuid() && st.st_mode & ~(mode_t)0640 & 0777)
        fchmod(fd, st.st_mode & 0640);
}

int bj_export_jobs(struct bj_store *s, const struct bj_export *what, FILE *to,
                   struct bj_err *err)
{
    struct bj_st *st;
    struct bj_buf out = {0};
    int r = export_prepare(bj_store_db(s), what, &st, err);
    if (r < 0)
        return r;
    keep_private(fileno(to));
    if (what->format == BJ_EXPORT_CSV) {
        for (int i = FIRST; i < bj_st_columns(st); i++)
            bj_buf_printf(&out, "%s%s", i > FIRST ? "," : "",
                          bj_st_column_name(st, i));
        bj_buf_str(&out, "\r\n");
    }
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        r = 0;
        if (what->format == BJ_EXPORT_CSV)
            csv_row(&out, st);
        else if (json_row(&out, st) < 0)
            out.failed = true;
        r = flush(&out, FLUSH_BYTES, to, err);
    }
    if (r == 0)
        r = flush(&out, 1, to, err);
    if (r == 0 && fflush(to) != 0)
        r = bj_err_set(err, -errno, "export");
    bj_st_finalize(st);
    bj_buf_free(&out);
    return r;
}
