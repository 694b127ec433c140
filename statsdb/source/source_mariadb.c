#include "statsdb/source/source_mariadb.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/secret_file.h"
#include "sched/sacct.h"
#include "statsdb/tables/tres_names.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libmariadb, loaded at run time if Slurm's database is a source of a cluster.
 * Few sites need that, so the build needs neither header nor library.
 *
 * Source: MariaDB Connector/C 3, include/mysql.h; its ABI is that of the
 * library's file name, libmariadb.so.3. */

struct bj_mysql;
struct bj_mysql_result;

/* The first members of MYSQL_FIELD; more follow. */
struct bj_mysql_field {
    char *name;
};

/* Values of enum mysql_option that are used. */
enum {
    BJ_MYSQL_CONNECT_TIMEOUT = 0,
    BJ_MYSQL_CHARSET_NAME = 7,
    BJ_MYSQL_LOCAL_INFILE = 8,
    BJ_MYSQL_PROTOCOL = 9,
    BJ_MYSQL_READ_TIMEOUT = 11,
    BJ_MYSQL_WRITE_TIMEOUT = 12,
    BJ_MYSQL_SSL_VERIFY_SERVER_CERT = 21,
    BJ_MYSQL_SSL_CA = 27
};

/* enum mysql_protocol_type. */
enum { BJ_MYSQL_TCP = 1, BJ_MYSQL_SOCKET = 2 };

/* The functions that are used, without the prefix "mysql_". */
struct bj_libmariadb {
    int (*server_init)(int argc, char **argv, char **groups);
    struct bj_mysql *(*init)(struct bj_mysql *m);
    int (*options)(struct bj_mysql *m, int option, const void *arg);
    struct bj_mysql *(*real_connect)(struct bj_mysql *m, const char *host,
                                     const char *user, const char *password,
                                     const char *database, unsigned port,
                                     const char *socket, unsigned long flags);
    int (*real_query)(struct bj_mysql *m, const char *sql, unsigned long n);
    struct bj_mysql_result *(*use_result)(struct bj_mysql *m);
    unsigned (*num_fields)(struct bj_mysql_result *r);
    struct bj_mysql_field *(*fetch_field)(struct bj_mysql_result *r);
    char **(*fetch_row)(struct bj_mysql_result *r);
    unsigned long *(*fetch_lengths)(struct bj_mysql_result *r);
    void (*free_result)(struct bj_mysql_result *r);
    unsigned (*error_number)(struct bj_mysql *m);
    const char *(*error)(struct bj_mysql *m);
    int (*cancel)(struct bj_mysql *m);
    void (*close)(struct bj_mysql *m);
};

#define CALL(member, symbol)                                                   \
    {                                                                          \
        symbol, offsetof(struct bj_libmariadb, member)                         \
    }

static const struct {
    const char *name;
    size_t off;
} calls[] = {
    CALL(server_init, "mysql_server_init"),
    CALL(init, "mysql_init"),
    CALL(options, "mysql_options"),
    CALL(real_connect, "mysql_real_connect"),
    CALL(real_query, "mysql_real_query"),
    CALL(use_result, "mysql_use_result"),
    CALL(num_fields, "mysql_num_fields"),
    CALL(fetch_field, "mysql_fetch_field"),
    CALL(fetch_row, "mysql_fetch_row"),
    CALL(fetch_lengths, "mysql_fetch_lengths"),
    CALL(free_result, "mysql_free_result"),
    CALL(error_number, "mysql_errno"),
    CALL(error, "mysql_error"),
    CALL(cancel, "mariadb_cancel"),
    CALL(close, "mysql_close"),
};

/* Load the library, which stays loaded. -ENOSYS: it is missing. */
static int libmariadb_load(struct bj_libmariadb *ret, struct bj_err *err)
{
    void *lib =
        dlopen("libmariadb.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib)
        return bj_err_set(err, -ENOSYS, "libmariadb is not installed");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *call = dlsym(lib, calls[i].name);
        if (!call)
            return bj_err_set(err, -ENOSYS, "libmariadb lacks %s",
                              calls[i].name);
        /* POSIX allows this conversion to a function pointer. */
        memcpy((char *)ret + calls[i].off, &call, sizeof(call));
    }
    return ret->server_init(-1, NULL, NULL) == 0
               ? 0
               : bj_err_set(err, -ENOSYS, "cannot start libmariadb");
}

enum { COLUMNS_MAX = 128, PASSWORD_MAX = 512, CONNECT_SEC = 20 };

struct bj_source_mariadb {
    const struct bj_cluster_conf *conf;
    struct bj_libmariadb lib;
};

/* Format of a column: as it is, or with names for numbers. */
enum format { PLAIN, REQUESTED, USED };

/* One of the two results that are read in parallel. */
struct rows {
    struct bj_mysql *conn;
    struct bj_mysql_result *result;
    char **row; /* NULL: at the end */
    unsigned long *length;
    unsigned columns;
    uint64_t inx; /* Slurm's number of the run */
};

struct reply {
    struct bj_source_mariadb *source;
    struct bj_source_sink to;
    struct bj_window window;
    struct bj_sacct_counts counts;
    struct rows job, step;
    struct bj_tres_names names;
    enum format format[COLUMNS_MAX];
    char delimiter[BJ_SACCT_DELIMITER + 1];
    struct bj_buf line;
    uint64_t deadline_usec; /* boot clock */
};

int bj_source_mariadb_new(const struct bj_cluster_conf *conf,
                          struct bj_source_mariadb **ret, struct bj_err *err)
{
    struct bj_source_mariadb *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "source");
    s->conf = conf;
    int r = libmariadb_load(&s->lib, err);
    if (r < 0) {
        free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void bj_source_mariadb_free(struct bj_source_mariadb *s)
{
    free(s);
}

/* --- connections -----------------------------------------------------------*/

/* The errno for error numbers of the server and the client library
 * (mysqld_error.h, errmsg.h). */
static int code_of(unsigned number)
{
    switch (number) {
    case 1044:
    case 1045:
    case 1142:
    case 1698:
        return -EACCES;
    case 1317:
    case 1969:
    case 3024:
        return -ETIMEDOUT;
    case 2002:
    case 2003:
    case 2005:
    case 2006:
        return -ECONNREFUSED;
    default:
        return -EREMOTEIO;
    }
}

static int mariadb_fail(const struct reply *a, struct bj_mysql *conn,
                        struct bj_err *err)
{
    const struct bj_libmariadb *lib = &a->source->lib;
    unsigned number = lib->error_number(conn);
    if (a->to.run->stop && atomic_load(a->to.run->stop))
        return bj_err_set(err, -ECANCELED, "stopped");
    /* The client library reports a timeout as a lost connection. */
    int code =
        bj_clock_boot_usec() >= a->deadline_usec ? -ETIMEDOUT : code_of(number);
    return bj_err_say(err, code, "mariadb: %u: %s", number, lib->error(conn));
}

static void set_options(const struct reply *a, struct bj_mysql *conn)
{
    const struct bj_cluster_conf *c = a->source->conf;
    const struct bj_libmariadb *lib = &a->source->lib;
    unsigned connect = CONNECT_SEC, off = 0;
    /* Without this option, "localhost" means a default socket. */
    unsigned way =
        bj_is_set(c->mariadb.socket) ? BJ_MYSQL_SOCKET : BJ_MYSQL_TCP;
    lib->options(conn, BJ_MYSQL_PROTOCOL, &way);
    unsigned timeout_sec = (unsigned)(c->timeout_usec / 1000000);
    char yes = 1;
    lib->options(conn, BJ_MYSQL_CONNECT_TIMEOUT, &connect);
    lib->options(conn, BJ_MYSQL_READ_TIMEOUT, &timeout_sec);
    lib->options(conn, BJ_MYSQL_WRITE_TIMEOUT, &connect);
    lib->options(conn, BJ_MYSQL_CHARSET_NAME, "utf8mb4");
    /* Do not let the server read local files. */
    lib->options(conn, BJ_MYSQL_LOCAL_INFILE, &off);
    if (bj_is_set(c->mariadb.ca_file)) {
        lib->options(conn, BJ_MYSQL_SSL_CA, c->mariadb.ca_file);
        lib->options(conn, BJ_MYSQL_SSL_VERIFY_SERVER_CERT, &yes);
    }
}

static int run_sql(const struct reply *a, struct bj_mysql *conn,
                   const char *sql, struct bj_err *err)
{
    return a->source->lib.real_query(conn, sql, strlen(sql)) == 0
               ? 0
               : mariadb_fail(a, conn, err);
}

static int open_one(const struct reply *a, const char *password,
                    struct bj_mysql **ret, struct bj_err *err)
{
    const struct bj_mariadb_conf *c = &a->source->conf->mariadb;
    const struct bj_libmariadb *lib = &a->source->lib;
    *ret = lib->init(NULL);
    if (!*ret)
        return bj_err_set(err, -ENOMEM, "mariadb");
    set_options(a, *ret);
    if (!lib->real_connect(*ret, bj_is_set(c->socket) ? NULL : c->host, c->user,
                           bj_is_set(password) ? password : NULL, c->database,
                           (unsigned)c->port,
                           bj_is_set(c->socket) ? c->socket : NULL, 0))
        return mariadb_fail(a, *ret, err);
    int r = run_sql(a, *ret, "SET SESSION TRANSACTION READ ONLY", err);
    if (r == 0)
        r = run_sql(a, *ret, "SET SESSION time_zone = '+00:00'", err);
    return r;
}

static int open_both(struct reply *a, struct bj_err *err)
{
    char password[PASSWORD_MAX];
    int r = bj_secret_read(a->source->conf->mariadb.password_file, password,
                           sizeof(password), err);
    if (r < 0)
        return bj_err_wrap(err, r, "mariadb.password-file");
    r = open_one(a, password, &a->job.conn, err);
    if (r == 0)
        r = open_one(a, password, &a->step.conn, err);
    explicit_bzero(password, sizeof(password));
    return r;
}

/* Do not wait for unused rows. */
static void close_rows(const struct reply *a, struct rows *rows)
{
    const struct bj_libmariadb *lib = &a->source->lib;
    if (rows->result && rows->row)
        lib->cancel(rows->conn);
    if (rows->result)
        lib->free_result(rows->result);
    if (rows->conn)
        lib->close(rows->conn);
    *rows = (struct rows){.conn = NULL};
}

/* --- rows ------------------------------------------------------------------*/

static struct bj_slice mariadb_value(const struct rows *rows, unsigned i)
{
    return (struct bj_slice){rows->row[i], rows->row[i] ? rows->length[i] : 0};
}

/* The next row, or NULL after the last. */
static int mariadb_next(const struct reply *a, struct rows *rows,
                        struct bj_err *err)
{
    const struct bj_libmariadb *lib = &a->source->lib;
    if (a->to.run->stop && atomic_load(a->to.run->stop))
        return bj_err_set(err, -ECANCELED, "stopped");
    if (bj_clock_boot_usec() >= a->deadline_usec)
        return bj_err_set(err, -ETIMEDOUT, "mariadb: timeout");
    rows->row = lib->fetch_row(rows->result);
    if (!rows->row)
        return lib->error_number(rows->conn) ? mariadb_fail(a, rows->conn, err)
                                             : 0;
    rows->length = lib->fetch_lengths(rows->result);
    if (bj_slice_u64(mariadb_value(rows, 0), &rows->inx) < 0)
        return bj_err_set(err, -EBADE,
                          "mariadb: the first column of a view is "
                          "not a number");
    return 0;
}

static int mariadb_begin(const struct reply *a, struct rows *rows,
                         const char *sql, struct bj_err *err)
{
    const struct bj_libmariadb *lib = &a->source->lib;
    int r = run_sql(a, rows->conn, sql, err);
    if (r < 0)
        return r;
    rows->result = lib->use_result(rows->conn);
    if (!rows->result)
        return mariadb_fail(a, rows->conn, err);
    rows->columns = lib->num_fields(rows->result);
    return 0;
}

static int query_view(const struct reply *a, struct rows *rows,
                      const char *view, const uint64_t *id, size_t ids,
                      struct bj_err *err)
{
    struct bj_buf sql = {0};
    /* Select jobs pending, running or ended in the period, like sacct. */
    bj_buf_printf(&sql, "SELECT * FROM %s WHERE ", view);
    if (ids == 0)
        bj_buf_printf(&sql, "(t_end >= %lld OR t_end = 0) AND t_submit < %lld",
                      (long long)a->window.start_sec,
                      (long long)a->window.end_sec);
    for (size_t i = 0; i < ids; i++)
        bj_buf_printf(&sql, "%s%llu", i ? ", " : "t_job IN (",
                      (unsigned long long)id[i]);
    bj_buf_printf(&sql, "%s ORDER BY job_db_inx", ids > 0 ? ")" : "");
    bj_buf_put(&sql, "", 1);
    int r = sql.failed ? bj_err_set(err, -ENOMEM, "mariadb")
                       : mariadb_begin(a, rows, sql.p, err);
    bj_buf_free(&sql);
    return r;
}

static int query_names(struct reply *a, struct bj_err *err)
{
    struct rows rows = {.conn = a->job.conn};
    int r = mariadb_begin(a, &rows, "SELECT id, type, name FROM tres", err);
    if (r == 0 && rows.columns != 3)
        r = bj_err_set(err, -EBADE, "mariadb: view tres: expected 3 columns");
    while (r == 0 && (r = mariadb_next(a, &rows, err)) == 0 && rows.row)
        if (bj_tres_names_add(&a->names, rows.inx, mariadb_value(&rows, 1),
                              mariadb_value(&rows, 2)) < 0)
            r = bj_err_set(err, -ENOMEM, "mariadb");
    if (rows.result)
        a->source->lib.free_result(rows.result);
    return r;
}

/* --- sacct's text ----------------------------------------------------------*/

static enum format format_of(struct bj_slice name)
{
    if (bj_slice_eq(name, BJ_SLICE("ReqTRES")) ||
        bj_slice_eq(name, BJ_SLICE("AllocTRES")))
        return REQUESTED;
    return bj_slice_starts(name, BJ_SLICE("TRESUsage")) ? USED : PLAIN;
}

static int mariadb_put_line(struct reply *a, struct bj_err *err)
{
    bj_buf_str(&a->line, "\n");
    if (a->line.failed)
        return bj_err_set(err, -ENOMEM, "mariadb");
    int r = bj_sacct_feed(a->to.reader,
                          (struct bj_slice){a->line.p, a->line.len}, err);
    a->line.len = 0;
    return r;
}

static int put_header(struct reply *a, struct bj_err *err)
{
    const struct bj_libmariadb *lib = &a->source->lib;
    if (a->job.columns != a->step.columns || a->job.columns > COLUMNS_MAX)
        return bj_err_set(err, -EBADE,
                          "mariadb: views jobs and steps differ in columns");
    for (unsigned i = 0; i < a->job.columns; i++) {
        const struct bj_mysql_field *job = lib->fetch_field(a->job.result);
        const struct bj_mysql_field *step = lib->fetch_field(a->step.result);
        if (!job || !step || strcmp(job->name, step->name) != 0)
            return bj_err_set(err, -EBADE,
                              "mariadb: views jobs and steps differ in column "
                              "%u",
                              i + 1);
        a->format[i] = format_of(bj_slice_str(job->name));
        bj_buf_printf(&a->line, "%s%s", i ? a->delimiter : "", job->name);
    }
    return mariadb_put_line(a, err);
}

static int mariadb_put_row(struct reply *a, const struct rows *rows,
                           struct bj_err *err)
{
    for (unsigned i = 0; i < rows->columns; i++) {
        if (i > 0)
            bj_buf_str(&a->line, a->delimiter);
        if (a->format[i] == PLAIN)
            bj_buf_slice(&a->line, mariadb_value(rows, i));
        else
            bj_tres_names_put(&a->names, mariadb_value(rows, i),
                              a->format[i] == REQUESTED, &a->line);
    }
    return mariadb_put_line(a, err);
}

/* Write each job followed by its steps. Steps of jobs that appeared between the
 * two queries are left for the next window. */
static int mariadb_put_rows(struct reply *a, struct bj_err *err)
{
    int r = mariadb_next(a, &a->job, err);
    if (r == 0)
        r = mariadb_next(a, &a->step, err);
    while (r == 0 && a->job.row) {
        r = mariadb_put_row(a, &a->job, err);
        while (r == 0 && a->step.row && a->step.inx <= a->job.inx) {
            if (a->step.inx == a->job.inx)
                r = mariadb_put_row(a, &a->step, err);
            if (r == 0)
                r = mariadb_next(a, &a->step, err);
        }
        if (r == 0)
            r = mariadb_next(a, &a->job, err);
    }
    return r;
}

static int put_reply(struct reply *a, const uint64_t *id, size_t ids,
                     struct bj_err *err)
{
    int r = open_both(a, err);
    if (r == 0)
        r = query_names(a, err);
    if (r == 0)
        r = query_view(a, &a->job, "jobs", id, ids, err);
    if (r == 0)
        r = query_view(a, &a->step, "steps", id, ids, err);
    if (r == 0)
        r = put_header(a, err);
    if (r == 0)
        r = mariadb_put_rows(a, err);
    return r < 0 ? r : bj_sacct_end(a->to.reader, true, err);
}

/* Request the period, or jobids. */
static int mariadb_request(void *ctx, const uint64_t *id, size_t n,
                           struct bj_err *err)
{
    struct reply *a = ctx;
    const struct bj_sacct_conf conf = {.delimiter = bj_slice_str(a->delimiter),
                                       .cluster = a->to.cluster,
                                       .max_steps = BJ_SOURCE_STEPS,
                                       .ctx = &a->to,
                                       .job = bj_source_take_job,
                                       .bad = bj_source_take_bad};
    a->deadline_usec = bj_clock_boot_usec() + a->source->conf->timeout_usec;
    int r = bj_sacct_new(&conf, &a->to.reader, err);
    if (r < 0)
        return r;
    r = put_reply(a, id, n, err);
    close_rows(a, &a->job);
    close_rows(a, &a->step);
    bj_sacct_counts_add(&a->counts, bj_sacct_counts(a->to.reader));
    bj_sacct_free(a->to.reader);
    a->to.reader = NULL;
    bj_tres_names_free(&a->names);
    bj_buf_free(&a->line);
    return r;
}

int bj_source_mariadb_run(struct bj_source_mariadb *s,
                          const struct bj_window *window,
                          const struct bj_source_run *run,
                          struct bj_sacct_counts *ret, struct bj_err *err)
{
    struct bj_source_chains chains = {.id = NULL};
    struct reply a = {.source = s,
                      .to = {.run = run,
                             .chains = &chains,
                             .cluster = bj_slice_str(s->conf->name)},
                      .window = *window};
    *ret = (struct bj_sacct_counts){0};
    int r = bj_sacct_delimiter(a.delimiter);
    if (r < 0)
        return bj_err_set(err, r, "mariadb");
    bj_upsert_begin_later(run->upsert);
    r = mariadb_request(&a, NULL, 0, err);
    if (r == 0)
        r = bj_source_chains_run(&chains, run, a.to.cluster, mariadb_request,
                                 &a, err);
    bj_source_chains_free(&chains);
    if (r < 0)
        bj_upsert_rollback(run->upsert);
    *ret = a.counts;
    return r;
}
