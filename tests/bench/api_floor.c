/* The minimum that can serve jobs from the store, to compare responses of
 * batchjob_stats_server with.
 *
 * api_floor STORE USER
 *
 * Two threads of libmicrohttpd, each with a connection and one prepared
 * statement.  The response to every request is the newest hundred jobs of USER
 * with 26 columns, written by hand, without access rules, parameters, pages,
 * limits or log.  Prints its port, and serves until its standard input ends. */
#include "base/buf.h"
#include "base/digits.h"

#include <microhttpd.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 2, COLUMNS = 26 };

static const char sql[] =
    "SELECT j.jobid id, u.name user, a.name account, p.name partition, q.name "
    "qos, s.name state, n.text name, h.text nodelist, t.text tres, j.exit_code,"
    " j.exit_signal, j.submit, j.eligible, j.start, j.\"end\", j.time_limit, "
    "j.cpus, j.nodes, j.gpus, j.memory_requested_bytes, "
    "j.memory_allocated_bytes, j.cpu_usec, "
    "j.cpu_system_usec, j.memory_scheduler_peak_bytes, "
    "j.energy_scheduler_joules, j.priority FROM job j "
    "LEFT JOIN user u ON u.id = j.user LEFT JOIN account a ON a.id = j.account "
    "LEFT JOIN partition p ON p.id = j.partition LEFT JOIN qos q ON q.id = "
    "j.qos LEFT JOIN state s ON s.id = j.state LEFT JOIN jobname n ON n.id = "
    "j.name LEFT JOIN hosts h ON h.id = j.hosts LEFT JOIN tres t ON t.id = "
    "j.tres_allocated WHERE j.user = (SELECT id FROM user WHERE name = ?1) "
    "ORDER BY j.at DESC LIMIT 100";

static const char *store, *user;

static sqlite3_stmt *statement(void)
{
    static __thread sqlite3_stmt *st;
    sqlite3 *db;
    if (st)
        return st;
    if (sqlite3_open_v2(store, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA mmap_size = 1073741824", NULL, NULL, NULL) !=
            SQLITE_OK ||
        sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL) !=
            SQLITE_OK ||
        sqlite3_column_count(st) != COLUMNS) {
        fprintf(stderr, "%s: %s\n", store, sqlite3_errmsg(db));
        exit(1);
    }
    sqlite3_bind_text(st, 1, user, -1, SQLITE_STATIC);
    return st;
}

static void put_text(struct bj_buf *b, const char *s, size_t n)
{
    bj_buf_put(b, "\"", 1);
    for (size_t from = 0, i = 0; i <= n; i++)
        if (i == n || s[i] == '"' || s[i] == '\\' ||
            (unsigned char)s[i] < ' ') {
            bj_buf_put(b, s + from, i - from);
            from = i + 1;
            if (i < n)
                bj_buf_printf(b, "\\u%04x", (unsigned)(unsigned char)s[i]);
        }
    bj_buf_put(b, "\"", 1);
}

static void put_value(struct bj_buf *b, sqlite3_stmt *st, int i)
{
    char digits[BJ_DIGITS_ROOM];
    switch (sqlite3_column_type(st, i)) {
    case SQLITE_NULL:
        bj_buf_put(b, "null", 4);
        break;
    case SQLITE_INTEGER:
        bj_buf_put(b, digits,
                   (size_t)(bj_digits_i64(digits, sqlite3_column_int64(st, i)) -
                            digits));
        break;
    default:
        put_text(b, (const char *)sqlite3_column_text(st, i),
                 (size_t)sqlite3_column_bytes(st, i));
    }
}

static void put_jobs(struct bj_buf *b)
{
    sqlite3_stmt *st = statement();
    const char *row = "{\"data\":[";
    for (; sqlite3_step(st) == SQLITE_ROW; row = ",") {
        bj_buf_str(b, row);
        for (int i = 0; i < COLUMNS; i++) {
            bj_buf_str(b, i ? ",\"" : "{\"");
            bj_buf_str(b, sqlite3_column_name(st, i));
            bj_buf_put(b, "\":", 2);
            put_value(b, st, i);
        }
        bj_buf_put(b, "}", 1);
    }
    sqlite3_reset(st);
    bj_buf_str(b, "]}");
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
                                  const char *url, const char *method,
                                  const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    struct bj_buf b = {0};
    (void)ctx, (void)url, (void)method, (void)version, (void)upload;
    (void)upload_size, (void)state;
    put_jobs(&b);
    struct MHD_Response *r =
        MHD_create_response_from_buffer(b.len, b.p, MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(r, "Content-Type", "application/json");
    enum MHD_Result queued = MHD_queue_response(c, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    return queued;
}

int main(int argc, char **argv)
{
    char end;
    if (argc != 3)
        return 2;
    store = argv[1];
    user = argv[2];
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, NULL,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_END);
    if (!d)
        return 1;
    printf("%u\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (read(0, &end, 1) > 0)
        ;
    MHD_stop_daemon(d);
    return 0;
}
