/* Waiting for the server: results, deadlines, lost connections. */
#include "base/clock.h"
#include "store/postgres_impl.h"

#include <poll.h>

enum {
    GRACE_USEC = 5000000, /* to wait for the response to a cancel request */
    /* drop unused statements when the SQL for it is this long */
    UNUSED_BYTES = 1024
};

/* Request the server to cancel the running statement, once. */
static void cancel_late(struct bj_postgres *p)
{
    char why[256];
    p->base.late = true;
    if (p->cancel)
        p->lib->cancel(p->cancel, why, sizeof(why));
    p->grace = bj_clock_boot_usec() + GRACE_USEC;
}

/* Wait until the connection can be read; false: the time until (0: none) has
 * passed. */
static bool wait_readable(struct bj_postgres *p, uint64_t until)
{
    struct pollfd fd = {p->lib->socket(p->conn), POLLIN, 0};
    int msec = -1;
    if (until) {
        uint64_t now = bj_clock_boot_usec();
        uint64_t left = until > now ? (until - now + 999) / 1000 : 0;
        msec = left > INT32_MAX ? INT32_MAX : (int)left;
    }
    if (fd.fd < 0)
        return true;
    int r = poll(&fd, 1, msec);
    return r != 0 || (until && bj_clock_boot_usec() < until);
}

struct bj_pg_result *bj_postgres_next(struct bj_postgres *p)
{
    /* Rows may arrive without a wait. */
    if (p->deadline && !p->grace && bj_clock_boot_usec() >= p->deadline)
        cancel_late(p);
    while (!p->lost && p->lib->is_busy(p->conn)) {
        if (!wait_readable(p, p->grace ? p->grace : p->deadline)) {
            if (p->grace)
                p->lost = true;
            else
                cancel_late(p);
        } else if (!p->lib->consume(p->conn)) {
            break; /* get_result has the error */
        }
    }
    return p->lost ? NULL : p->lib->get_result(p->conn);
}

static bool is_error(const struct bj_postgres *p,
                     const struct bj_pg_result *res)
{
    int status = p->lib->result_status(res);
    return status != BJ_PG_COMMAND_OK && status != BJ_PG_TUPLES_OK &&
           status != BJ_PG_SINGLE_TUPLE && status != BJ_PG_EMPTY_QUERY;
}

int bj_postgres_finish(struct bj_postgres *p, struct bj_pg_result **ret,
                       struct bj_err *err, const char *what)
{
    struct bj_pg_result *res, *last = NULL;
    int r = 0;
    while ((res = bj_postgres_next(p)) != NULL) {
        if (r == 0 && is_error(p, res))
            r = bj_postgres_fail(p, res, err, what);
        p->lib->clear(last);
        last = res;
        /* The connection cannot be used while it waits for data of a COPY. */
        int status = p->lib->result_status(res);
        if (status == BJ_PG_COPY_IN || status == BJ_PG_COPY_OUT)
            break;
    }
    if (r == 0 && !last)
        r = bj_postgres_fail(p, NULL, err, what);
    if (r < 0 || !ret) {
        p->lib->clear(last);
        return r;
    }
    *ret = last;
    return 0;
}

/* Does nothing in a failed transaction, in which the server would refuse it. */
static int drop_unused(struct bj_postgres *p, struct bj_err *err)
{
    int state = p->lib->transaction(p->conn);
    if (p->unused.len < UNUSED_BYTES || p->unused.failed ||
        (state != BJ_PG_IDLE && state != BJ_PG_INTRANS))
        return 0;
    bj_buf_put(&p->unused, "", 1);
    int r = 0;
    if (!p->unused.failed && p->lib->send_query(p->conn, p->unused.p))
        r = bj_postgres_finish(p, NULL, err, "");
    p->unused.len = 0;
    return r;
}

int bj_postgres_ready(struct bj_postgres *p, struct bj_err *err)
{
    if (p->unusable)
        return bj_err_set(err, p->unusable, "the connection is not usable");
    if (p->reading)
        bj_postgres_keep(p->reading);
    if (p->lost || p->lib->status(p->conn) != BJ_PG_CONNECTION_OK) {
        p->lost = true;
        return bj_err_set(err, -ENOLINK,
                          "the connection to PostgreSQL is lost");
    }
    if (p->deadline && bj_clock_boot_usec() >= p->deadline) {
        p->base.late = true;
        return bj_err_set(err, -EINTR, "at its deadline");
    }
    p->grace = 0;
    return drop_unused(p, err);
}
