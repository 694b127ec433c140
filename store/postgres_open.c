/* Connections to PostgreSQL: TLS, settings of a session, the writer's lock. */
#include "store/postgres_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OLDEST = 130000, KEYS = 16, LEADER_USEC = 1000000 };

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

bool bj_postgres_is_for(const char *url)
{
    return url && (starts(url, "postgresql://") || starts(url, "postgres://") ||
                   starts(url, "service="));
}

/* --- TLS ------------------------------------------------------------------ */

static bool is_loopback(struct bj_slice host)
{
    return host.n == 0 || host.p[0] == '/' || host.p[0] == '@' ||
           bj_slice_eq(host, BJ_SLICE("localhost")) ||
           bj_slice_eq(host, BJ_SLICE("::1")) ||
           bj_slice_starts(host, BJ_SLICE("127."));
}

/* Are all hosts of a comma-separated list on this machine? */
static bool are_loopback(const char *hosts)
{
    for (;;) {
        size_t n = strcspn(hosts, ",");
        if (!is_loopback((struct bj_slice){hosts, n}))
            return false;
        if (!hosts[n])
            return true;
        hosts += n + 1;
    }
}

/* The value of a keyword in the URL, else in the environment, else "". */
static const char *setting(const struct bj_pg_option *o, const char *keyword,
                           const char *variable)
{
    for (; o->keyword; o++)
        if (strcmp(o->keyword, keyword) == 0 && o->val && *o->val)
            return o->val;
    const char *v = variable ? getenv(variable) : NULL;
    return v ? v : "";
}

/* Must the server's certificate be verified?  Hosts in a service file are not
 * known here. */
static int needs_proof(const struct bj_libpq *lib, const char *url, bool *ret,
                       struct bj_err *err)
{
    char *message = NULL;
    struct bj_pg_option *o = lib->conninfo_parse(url, &message);
    if (!o) {
        /* Do not use the message: it repeats the URL, which may have a
         * password. */
        lib->freemem(message);
        return bj_err_set(err, -EINVAL,
                          "the URL of the store cannot be read; expected "
                          "postgresql://USER@HOST:PORT/DATABASE?NAME=VALUE");
    }
    *ret = !are_loopback(setting(o, "host", "PGHOST")) ||
           !are_loopback(setting(o, "hostaddr", "PGHOSTADDR")) ||
           *setting(o, "service", "PGSERVICE");
    lib->conninfo_free(o);
    return 0;
}

/* --- a session ------------------------------------------------------------ */

static void drop_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

static int connect_to(struct bj_postgres *p, const char *url,
                      struct bj_err *err)
{
    const char *keys[KEYS], *values[KEYS];
    bool proof = true;
    int n = 0, r = needs_proof(p->lib, url, &proof, err);
    if (r < 0)
        return r;
#define ADD(key, value) (keys[n] = (key), values[n++] = (value))
    /* Parameters in the URL come later and override this. */
    if (proof)
        ADD("sslmode", "verify-full");
    ADD("connect_timeout", "10");
    ADD("keepalives_idle", "30");
    ADD("keepalives_interval", "10");
    ADD("keepalives_count", "3");
    ADD("tcp_user_timeout", "60000");
    ADD("fallback_application_name", program_invocation_short_name);
    ADD("dbname", url);
    ADD("client_encoding", "UTF8");
    ADD(NULL, NULL);
#undef ADD
    p->conn = p->lib->connect(keys, values, 1);
    if (!p->conn)
        return bj_err_set(err, -ENOMEM, "store");
    if (p->lib->status(p->conn) != BJ_PG_CONNECTION_OK) {
        bj_postgres_fail(p, NULL, err, "connect");
        if (err)
            err->code = -ECONNREFUSED;
        return -ECONNREFUSED;
    }
    p->lib->notice(p->conn, drop_notice, NULL);
    p->cancel = p->lib->get_cancel(p->conn);
    return p->cancel ? 0 : bj_err_set(err, -ENOMEM, "store");
}

/* The name of this program's time zone: TZ, or the target of the link
 * /etc/localtime; "": unknown. */
static void zone_of(char *ret, size_t size)
{
    static const char folder[] = "zoneinfo/";
    char link[256] = "";
    const char *tz = getenv("TZ");
    if (!tz && readlink("/etc/localtime", link, sizeof(link) - 1) > 0) {
        const char *name = strstr(link, folder);
        tz = name ? name + sizeof(folder) - 1 : NULL;
    }
    tz = tz ? tz + (*tz == ':') : "";
    size_t n = strspn(tz, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                          "0123456789_/+-");
    snprintf(ret, size, "%.*s", tz[n] ? 0 : (int)n, tz);
}

static int check_server(struct bj_postgres *p, struct bj_err *err)
{
    const char *encoding = p->lib->parameter(p->conn, "server_encoding");
    int version = p->lib->server_version(p->conn);
    if (version < OLDEST)
        return bj_err_set(err, -ENOTSUP,
                          "the server is PostgreSQL %d; %d or later is needed",
                          version / 10000, OLDEST / 10000);
    if (!encoding || strcmp(encoding, "UTF8") != 0)
        return bj_err_set(err, -ENOTSUP,
                          "the database has encoding %s; make one with "
                          "ENCODING 'UTF8' TEMPLATE template0",
                          encoding ? encoding : "unknown");
    return 0;
}

/* Check that texts are compared by bytes, as in SQLite. */
static int check_order(struct bj_postgres *p, struct bj_err *err)
{
    int64_t other = 0;
    int r = bj_db_int(&p->base, "SELECT ('a' < 'B')::int", &other, err);
    if (r == 0 && other)
        r = bj_err_set(err, -ENOTSUP,
                       "the database sorts texts by a language; make one with "
                       "LOCALE 'C' TEMPLATE template0");
    return r;
}

/* The server ends the queries of a client that has gone (from version 14
 * on). */
static int set_up(struct bj_postgres *p, const struct bj_db_options *opt,
                  struct bj_err *err)
{
    char sql[640];
    snprintf(sql, sizeof(sql),
             "SET standard_conforming_strings = on; SET jit = off;"
             "SET client_min_messages = warning; SET lock_timeout = %llu;"
             "SET synchronous_commit = %s;"
             "SET default_transaction_read_only = %s;"
             "SELECT set_config(name, '10s', false) FROM pg_settings"
             " WHERE name = 'client_connection_check_interval'",
             (unsigned long long)(p->busy_usec / 1000 + 1),
             opt->durable ? "on" : "off", opt->read_only ? "on" : "off");
    return bj_postgres_exec_own(p, sql, err);
}

static int set_lock_timeout(struct bj_postgres *p, uint64_t usec,
                            struct bj_err *err)
{
    char sql[64];
    snprintf(sql, sizeof(sql), "SET lock_timeout = %llu",
             (unsigned long long)(usec / 1000 + 1));
    return bj_postgres_exec_own(p, sql, err);
}

/* The lock is held until the connection ends, so a writer that has lost its
 * connection cannot write.  The server may need some time to notice that a
 * connection has ended. */
static int take_lock(struct bj_postgres *p, struct bj_err *err)
{
    int64_t got = 0;
    int r = set_lock_timeout(p, LEADER_USEC, err);
    if (r == 0)
        r = bj_db_int(&p->base,
                      "SELECT (pg_advisory_lock(hashtextextended("
                      "'batchjob leads ' || current_schema(), 0))::text IS NOT"
                      " NULL)::int",
                      &got, err);
    if (r == -EBUSY)
        return bj_err_set(err, r, "another process is writing it");
    if (r == 0 && got == 0)
        r = bj_err_set(err, -ENOENT, "search_path names no schema");
    return r < 0 ? r : set_lock_timeout(p, p->busy_usec, err);
}

/* Set the time zone, for local times in texts; a zone that the server does not
 * know is ignored. */
static void set_zone(struct bj_postgres *p)
{
    char zone[80], sql[120];
    zone_of(zone, sizeof(zone));
    snprintf(sql, sizeof(sql), "SET TimeZone = '%s'", zone);
    if (zone[0])
        bj_postgres_exec_own(p, sql, NULL);
}

static int check_options(const struct bj_db_options *opt, struct bj_err *err)
{
    if (opt->foreign)
        return bj_err_set(err, -ENOTSUP,
                          "a database of another program must be a file of "
                          "SQLite");
    if (opt->max_bytes)
        return bj_err_set(err, -EINVAL,
                          "PostgreSQL has no limit of size; leave it out");
    return 0;
}

int bj_postgres_open(const struct bj_db_options *opt, struct bj_db **ret,
                     struct bj_err *err)
{
    struct bj_postgres *p = calloc(1, sizeof(*p));
    if (!p)
        return bj_err_set(err, -ENOMEM, "store");
    p->base.engine = &bj_engine_postgres;
    p->busy_usec = opt->busy_usec ? opt->busy_usec : 10000000;
    int r = check_options(opt, err);
    if (r == 0)
        r = bj_libpq_load(&p->lib, err);
    if (r == 0)
        r = connect_to(p, opt->url, err);
    if (r == 0)
        r = check_server(p, err);
    if (r == 0)
        r = set_up(p, opt, err);
    if (r == 0)
        set_zone(p);
    if (r == 0)
        r = check_order(p, err);
    if (r == 0 && opt->only_writer)
        r = take_lock(p, err);
    if (r == 0 && opt->create)
        r = bj_postgres_make_functions(&p->base, err);
    if (r < 0) {
        bj_postgres_close(&p->base);
        return bj_err_wrap(err, r, "PostgreSQL");
    }
    *ret = &p->base;
    return 0;
}

/* The server rolls back an open transaction. */
void bj_postgres_close(struct bj_db *db)
{
    struct bj_postgres *p = bj_postgres_of(db);
    if (p->cancel)
        p->lib->free_cancel(p->cancel);
    if (p->conn)
        p->lib->finish(p->conn);
    bj_buf_free(&p->unused);
    free(p);
}
