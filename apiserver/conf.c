#include "apiserver/conf.h"

#include "base/listen.h"

#include <stdlib.h>
#include <unistd.h>

#define AT(member) offsetof(struct bj_api_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

static const struct bj_opt options[] = {
    {.name = "web.listen-address",
     .kind = BJ_OPT_LIST,
     .off = AT(listen),
     .check = bj_listen_check,
     .preset = "127.0.0.1:9020",
     .help = "Address to listen on: HOST:PORT, :PORT or [IPV6]:PORT; give it "
             "again for more."},
    {.name = "web.unix-socket",
     .kind = BJ_OPT_STR,
     .off = AT(socket),
     .arg = "PATH",
     .help = "Listen on a unix socket as well; who connects is who asks."},
    {.name = "web.config.file",
     .kind = BJ_OPT_STR,
     .off = AT(web_file),
     .arg = "FILE",
     .help = "TLS, names and hashed passwords, in the format of Prometheus' "
             "exporters."},
    {.name = "web.threads",
     .kind = BJ_OPT_U64,
     .off = AT(threads),
     .lo = 1,
     .hi = 64,
     .preset = "2",
     .help = "Threads that read the store.  Questions of admins take all but "
             "one of them at most."},
    {.name = "web.max-requests",
     .kind = BJ_OPT_U64,
     .off = AT(max_requests),
     .lo = 1,
     .hi = 10000,
     .preset = "120",
     .help = "Responses in flight at a time; more are refused with status "
             "503."},
    {.name = "web.max-connections",
     .kind = BJ_OPT_U64,
     .off = AT(max_connections),
     .lo = 2,
     .hi = 20000,
     .preset = "128",
     .help = "Connections open at a time; the oldest without a request makes "
             "room for a new one."},
    {.name = "web.max-bytes",
     .kind = BJ_OPT_SIZE,
     .off = AT(flight_bytes),
     .lo = 1 << 20,
     .hi = (uint64_t)1 << 40,
     .preset = "4M",
     .help = "Memory for answers in flight; from there on requests wait for "
             "readers to take theirs, which those that stand still lose.  "
             "After 3 s a request is refused with status 503."},
    {.name = "web.request-timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(request_usec),
     .lo = SEC(1) / 10,
     .hi = SEC(3600),
     .preset = "10s",
     .help = "Time in which a request must have arrived in full."},
    {.name = "store.path",
     .kind = BJ_OPT_STR,
     .off = AT(store),
     .preset = "/var/lib/batchjob/stats.db",
     .arg = "FILE",
     .help = "The store that batchjob_stats_db writes; it is only read."},
    {.name = "store.any-filesystem",
     .kind = BJ_OPT_BOOL,
     .off = AT(any_filesystem),
     .preset = "false",
     .help = "Read it also from a network file system, which can go wrong."},
    {.name = "store.cache",
     .kind = BJ_OPT_SIZE,
     .off = AT(cache_bytes),
     .lo = 256 << 10,
     .hi = (uint64_t)1 << 40,
     .preset = "2M",
     .help = "Memory for pages of the store, for all threads together."},
    {.name = "query.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(query_usec),
     .lo = SEC(1) / 100,
     .hi = SEC(3600),
     .preset = "2s",
     .help = "How long the store may work for one request."},
    {.name = "query.max-rows",
     .kind = BJ_OPT_U64,
     .off = AT(max_rows),
     .lo = 1,
     .hi = 100000,
     .preset = "2000",
     .help = "Rows of one answer, at most."},
    {.name = "query.longest-job",
     .kind = BJ_OPT_DURATION,
     .off = AT(longest_usec),
     .lo = SEC(3600),
     .hi = SEC(3660 * 86400),
     .preset = "92d",
     .help = "Jobs that began this long before the time that is asked for are "
             "not looked at."},
    {.name = "access.proxies",
     .kind = BJ_OPT_LIST,
     .off = AT(proxies),
     .preset = "grafana",
     .arg = "NAME",
     .help = "Names of web.config.file that stand for a proxy: it tells the "
             "user by X-Grafana-User.  Other names are users themselves."},
    {.name = "access.proxy-users",
     .kind = BJ_OPT_LIST,
     .off = AT(proxy_users),
     .preset = "grafana",
     .arg = "USER",
     .help = "Users of this machine that are such a proxy on the unix "
             "socket."},
    {.name = "access.certificates",
     .kind = BJ_OPT_LIST,
     .off = AT(certificates),
     .arg = "TEXT",
     .help = "Whose a client's certificate is: \"KIND:PATTERN NAME\", KIND "
             "being cn, subject, dns, email or uri; a '*' in PATTERN stands "
             "for any text, and is that text as NAME.  NAME may be one of "
             "access.proxies."},
    {.name = "access.trust-loopback",
     .kind = BJ_OPT_BOOL,
     .off = AT(trust_loopback),
     .preset = "false",
     .help = "Take whoever connects from this machine for such a proxy, "
             "without proof.  Only where nobody else can log in."},
    {.name = "access.rate",
     .kind = BJ_OPT_U64,
     .off = AT(user_rate),
     .hi = 1000000,
     .preset = "50",
     .help = "Requests a second that each user may make; more get status 429. "
             " 0 for as many as they like."},
    {.name = "access.burst",
     .kind = BJ_OPT_U64,
     .off = AT(user_burst),
     .lo = 1,
     .hi = 1000000,
     .preset = "500",
     .help = "Requests that they may make at once, after a pause."},
    {.name = "access.admins",
     .kind = BJ_OPT_LIST,
     .off = AT(admins),
     .arg = "WORD",
     .help = "Who sees everything: users, and @group for the members of a "
             "Unix group."},
    {.name = "access.coordinators",
     .kind = BJ_OPT_LIST,
     .off = AT(coordinators),
     .arg = "TEXT",
     .help = "Who sees the jobs of an account: \"ACCOUNT: WORD WORD\"."},
    {.name = "access.file",
     .kind = BJ_OPT_STR,
     .off = AT(access_file),
     .arg = "FILE",
     .help = "More of them: lines \"admin WORD\" and \"coordinator ACCOUNT "
             "WORD\"."},
    {.name = "access.token-file",
     .kind = BJ_OPT_STR,
     .off = AT(token_file),
     .arg = "FILE",
     .help = "Tokens for scripts, as \"make-token\" prints them."},
    {.name = "original.strict",
     .kind = BJ_OPT_BOOL,
     .off = AT(original_strict),
     .preset = "false",
     .help = "Answer /api/jobs and /api/accounts as the original server did, "
             "its mistakes included."},
    {.name = "constants.file",
     .kind = BJ_OPT_STR,
     .off = AT(constants),
     .arg = "FILE",
     .help = "Numbers of the site's own for /api/v1/constants: lines with a "
             "name and a number, below [CLUSTER] where they are one's; read "
             "with each request."},
    {.name = NULL},
};

enum { SETS = 3 };

static void name_sets(struct bj_api_conf *c, struct bj_optset sets[SETS])
{
    sets[0] = (struct bj_optset){options, c};
    sets[1] = (struct bj_optset){bj_prompool_opts, &c->prom};
    sets[2] = (struct bj_optset){bj_program_opts, &c->program};
}

void bj_api_conf_free(struct bj_api_conf *c)
{
    struct bj_optset sets[SETS];
    name_sets(c, sets);
    for (int i = 0; i < SETS; i++)
        bj_opt_free(&sets[i]);
}

static int check(const struct bj_api_conf *c, struct bj_err *err)
{
    if (c->listen.n == 0)
        return bj_err_set(err, -EINVAL,
                          "web.listen-address: there must be one");
    if (c->max_connections <= c->max_requests)
        return bj_err_set(err, -EINVAL,
                          "web.max-connections must be more than "
                          "web.max-requests");
    if (!c->store || !c->store[0])
        return bj_err_set(err, -EINVAL, "store.path: there must be one");
    return bj_prompool_check(&c->prom, err);
}

int bj_api_conf_load(struct bj_api_conf *c, int argc, char **argv,
                     struct bj_err *err)
{
    struct bj_optset sets[SETS];
    name_sets(c, sets);
    int r = bj_program_load(&c->program, sets, SETS, argc, argv, err);
    if (r < 0 || c->program.help || c->program.version)
        return r;
    return check(c, err);
}

int bj_api_conf_unread(const char *option, struct bj_err *err)
{
    char text[240];
    if (!err)
        return -EINVAL;
    bj_err_text(err, text, sizeof(text));
    return bj_err_set(err, -EINVAL, "%s: %s", option, text);
}

void bj_api_conf_help(struct bj_buf *out)
{
    bj_opt_help(&(struct bj_optset){options, NULL}, out);
    bj_opt_help(&(struct bj_optset){bj_prompool_opts, NULL}, out);
    bj_opt_help(&(struct bj_optset){bj_program_opts, NULL}, out);
}
