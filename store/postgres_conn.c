#include "store/postgres_conn.h"

#include "base/clock.h"

#include <poll.h>
#include <string.h>

/* --- errors --------------------------------------------------------------- */

/* Prefixes of SQLSTATE; longer ones precede shorter ones.  Source: PostgreSQL's
 * manual, appendix A. */
static const struct {
    const char *state;
    int code;
} codes[] = {
    {"25006", -EROFS},   {"28", -EACCES},     {"42501", -EACCES},
    {"3D000", -ENOENT},  {"3F000", -ENOENT},  {"42P01", -ENOTSUP},
    {"42703", -ENOTSUP}, {"55P03", -EBUSY},   {"53300", -EBUSY},
    {"53400", -EBUSY},   {"40001", -EBUSY},   {"40P01", -EBUSY},
    {"57014", -EINTR},   {"57P", -ENOLINK},   {"08", -ENOLINK},
    {"25P03", -ENOLINK}, {"53100", -ENOSPC},  {"53200", -EBUSY},
    {"58", -EIO},        {"XX001", -EBADMSG}, {"XX002", -EBADMSG},
    {"23", -EEXIST},     {"54000", -EFBIG},   {"54", -EFBIG},
    {"22", -EINVAL},
};

int bj_postgres_errno(const char *state)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strncmp(codes[i].state, state, strlen(codes[i].state)) == 0)
            return codes[i].code;
    return -EPROTO;
}

/* Copy a message as one line, without the line end. */
static void copy_words(const char *from, char *to, size_t size)
{
    size_t n = 0;
    while (*from == ' ' || *from == '\n')
        from++;
    for (; *from && n + 1 < size; from++)
        to[n++] = *from == '\n' || *from == '\t' ? ' ' : *from;
    while (n > 0 && to[n - 1] == ' ')
        n--;
    to[n] = '\0';
}

int bj_postgres_fail(struct bj_postgres *p, const struct bj_pg_result *res,
                     struct bj_err *err, const char *what)
{
    const struct bj_libpq *lib = p->lib;
    const char *state =
        res ? lib->result_field(res, BJ_PG_DIAG_SQLSTATE) : NULL;
    const char *said = res ? lib->result_field(res, BJ_PG_DIAG_MESSAGE) : NULL;
    char words[200];
    if (!said)
        said = res ? lib->result_error(res) : lib->error(p->conn);
    copy_words(said ? said : "", words, sizeof(words));
    int code = state ? bj_postgres_errno(state) : -EPROTO;
    if (code == -ENOLINK || p->lost ||
        lib->status(p->conn) != BJ_PG_CONNECTION_OK) {
        code = -ENOLINK;
        p->lost = true;
    }
    if (code == -EROFS && p->fenced)
        code = -EACCES;
    return bj_err_say(err, code, "%s%s%s%s%s%s%s",
                      code == -ENOSPC ? "disk of PostgreSQL: " : "", what,
                      *what ? ": " : "",
                      *words ? words : "the connection to PostgreSQL is lost",
                      state ? " (" : "", state ? state : "", state ? ")" : "");
}

/* --- waiting ---------------------------------------------------------------
 */

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

/* Does nothing in a failed transaction, in which the server would refuse it.
 * Statements that did not fit into memory stay until the connection ends. */
static int drop_unused(struct bj_postgres *p, struct bj_err *err)
{
    int state = p->lib->transaction(p->conn);
    if (p->unused.failed)
        bj_buf_reset(&p->unused);
    if (p->unused.len < UNUSED_BYTES ||
        (state != BJ_PG_IDLE && state != BJ_PG_INTRANS))
        return 0;
    bj_buf_put(&p->unused, "", 1);
    int r = 0;
    if (!p->unused.failed && p->lib->send_query(p->conn, p->unused.p))
        r = bj_postgres_finish(p, NULL, err, "");
    bj_buf_reset(&p->unused);
    return r;
}

int bj_postgres_ready(struct bj_postgres *p, struct bj_err *err)
{
    if (p->unusable)
        return bj_err_set(err, p->unusable, "the connection is not usable");
    if (p->reading)
        p->keep(p->reading);
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

/* --- statements without rows ---------------------------------------------- */

int64_t bj_postgres_changed(struct bj_postgres *p, struct bj_pg_result *res)
{
    uint64_t n = 0;
    bj_slice_u64(bj_slice_str(p->lib->changed(res)), &n);
    return (int64_t)n;
}

int bj_postgres_exec_own(struct bj_postgres *p, const char *sql,
                         struct bj_err *err)
{
    struct bj_pg_result *res = NULL;
    int r = bj_postgres_ready(p, err);
    if (r < 0)
        return r;
    if (!p->lib->send_query(p->conn, sql))
        return bj_postgres_fail(p, NULL, err, "");
    r = bj_postgres_finish(p, &res, err, "");
    if (r == 0)
        p->changes = bj_postgres_changed(p, res);
    p->lib->clear(res);
    return r;
}
