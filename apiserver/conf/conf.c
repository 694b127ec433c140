#include "apiserver/conf/conf.h"

#include "base/listen.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define AT(member) offsetof(struct bj_api_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

/* An origin: scheme, host and port, without a path. */
static int check_origin(const char *text, struct bj_err *err)
{
    const char *host = strncmp(text, "https://", 8) == 0  ? text + 8
                       : strncmp(text, "http://", 7) == 0 ? text + 7
                                                          : NULL;
    size_t n = 0;
    while (host && (isalnum((unsigned char)host[n]) ||
                    (host[n] && strchr(".-:[]", host[n]))))
        n++;
    return n > 0 && !host[n]
               ? 0
               : bj_err_set(err, -EINVAL, "expected https://HOST[:PORT]");
}

static int check_header_name(const char *text, struct bj_err *err)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '-')
        n++;
    return n > 2 && n <= 60 && !text[n] && strncasecmp(text, "X-", 2) == 0
               ? 0
               : bj_err_set(err, -EINVAL,
                            "expected the name of a header that begins with "
                            "X-");
}

static const struct bj_opt options[] = {
    {.name = "web.listen-address",
     .kind = BJ_OPT_LIST,
     .off = AT(listen),
     .check = bj_listen_check,
     .preset = "127.0.0.1:9020",
     .help = "Address to listen on: HOST:PORT, :PORT or [IPV6]:PORT. Repeat "
             "for more.",
     .more = "Set it to serve other hosts; then use web.config.file for TLS."},
    {.name = "web.unix-socket",
     .kind = BJ_OPT_STR,
     .off = AT(socket),
     .arg = "PATH",
     .help = "Unix socket to listen on, in addition. The user of a client is "
             "the user of its process.",
     .more = "Set it for a proxy or scripts on this host."},
    {.name = "web.config.file",
     .kind = BJ_OPT_STR,
     .off = AT(web_file),
     .arg = "FILE",
     .help = "File with TLS settings, user names and hashed passwords, in the "
             "format of the Prometheus exporters.",
     .more = "Set it when clients connect over a network."},
    {.name = "web.frame-ancestors",
     .kind = BJ_OPT_LIST,
     .off = AT(frame_ancestors),
     .check = check_origin,
     .arg = "ORIGIN",
     .help = "Sites that may show the pages in a frame: https://HOST[:PORT]; "
             "by default none.",
     .more = "Set it to the address of Open OnDemand (docs/ondemand.md).",
     .rare = true},
    {.name = "web.threads",
     .kind = BJ_OPT_U64,
     .off = AT(threads),
     .lo = 1,
     .hi = 64,
     .preset = "2",
     .help = "Number of threads that query the store. Queries of admins use "
             "all but one of them.",
     .more = "Raise it when many users query at once and CPUs are free.",
     .rare = true},
    {.name = "web.max-requests",
     .kind = BJ_OPT_U64,
     .off = AT(max_requests),
     .lo = 1,
     .hi = 10000,
     .preset = "120",
     .help = "Maximum number of concurrent responses. Further requests get "
             "status 503. Twice as many connections may be open; a new one "
             "then closes the oldest one without a request.",
     .more = "Raise it when many dashboards refresh at once and get status "
             "503.",
     .rare = true},
    {.name = "web.max-bytes",
     .kind = BJ_OPT_SIZE,
     .off = AT(flight_bytes),
     .lo = 1 << 20,
     .hi = (uint64_t)1 << 40,
     .preset = "4M",
     .help = "Memory for responses. When it is full, requests wait up to 3 s, "
             "then get status 503. Clients that do not read are disconnected.",
     .more = "Raise it when many users fetch long lists at once.",
     .rare = true},
    {.name = "web.request-timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(request_usec),
     .lo = SEC(1) / 10,
     .hi = SEC(3600),
     .preset = "10s",
     .help = "Time in which a request must arrive completely.",
     .more = "Raise it for clients on very slow links.",
     .rare = true},
    {.name = "store.path",
     .kind = BJ_OPT_STR,
     .off = AT(store),
     .preset = "/var/lib/batchjob/stats.db",
     .arg = "FILE|URL",
     .help = "The store of batchjob_stats_db: a file, or the URL of a database "
             "of PostgreSQL. It is opened read-only.",
     .more = "Set it to the store.path of batchjob_stats_db."},
    {.name = "store.any-filesystem",
     .kind = BJ_OPT_BOOL,
     .off = AT(any_filesystem),
     .preset = "false",
     .help = "Allow a store on a network file system, where SQLite may read "
             "wrong data.",
     .more = "Set it only when the file system supports locks and one host "
             "uses the store.",
     .rare = true},
    {.name = "store.cache",
     .kind = BJ_OPT_SIZE,
     .off = AT(cache_bytes),
     .lo = 256 << 10,
     .hi = (uint64_t)1 << 40,
     .preset = "2M",
     .help = "Memory for pages of the store, for all threads together.",
     .more = "Raise it when the store is much larger than this and queries are "
             "slow.",
     .rare = true},
    {.name = "query.timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(query_usec),
     .lo = SEC(1) / 100,
     .hi = SEC(3600),
     .preset = "2s",
     .help = "Longest time that the queries of one request may take.",
     .more = "Raise it when queries over long periods get an error.",
     .rare = true},
    {.name = "query.max-rows",
     .kind = BJ_OPT_U64,
     .off = AT(max_rows),
     .lo = 1,
     .hi = 100000,
     .preset = "2000",
     .help = "Maximum number of rows in a response.",
     .more = "Raise it for scripts that fetch long lists; each row takes "
             "memory.",
     .rare = true},
    {.name = "query.longest-job",
     .kind = BJ_OPT_DURATION,
     .off = AT(longest_usec),
     .lo = SEC(3600),
     .hi = SEC(3660 * 86400),
     .preset = "92d",
     .help = "Longest run time of a job. Lists leave out jobs that started "
             "this long before the requested time.",
     .more = "Raise it when jobs may run longer; lower it for faster lists.",
     .rare = true},
    {.name = "access.proxies",
     .kind = BJ_OPT_LIST,
     .off = AT(proxies),
     .preset = "grafana",
     .arg = "NAME",
     .help = "Names in web.config.file that belong to a proxy, which sends the "
             "user in the header access.proxy-header. Other names are users.",
     .more = "Set it when Grafana authenticates with another name."},
    {.name = "access.proxy-users",
     .kind = BJ_OPT_LIST,
     .off = AT(proxy_users),
     .preset = "grafana",
     .arg = "USER",
     .help = "System users whose processes are proxies on the unix socket.",
     .more = "Set it when Grafana runs as another user.",
     .rare = true},
    {.name = "access.proxy-header",
     .kind = BJ_OPT_STR,
     .off = AT(proxy_header),
     .preset = "X-Grafana-User",
     .check = check_header_name,
     .arg = "NAME",
     .help = "Header in which a proxy names the user; no other header does.",
     .more = "Set it for a proxy that sends another one, which must remove "
             "this header from the requests of clients.",
     .rare = true},
    {.name = "access.certificates",
     .kind = BJ_OPT_LIST,
     .off = AT(certificates),
     .arg = "RULE",
     .help = "Maps client certificates to users: \"KIND:PATTERN USER\". KIND "
             "is cn, subject, dns, email or uri. PATTERN may contain one '*'; "
             "USER '*' is the text that it matches. USER may be one of "
             "access.proxies.",
     .more = "Set it when users or proxies authenticate with client "
             "certificates.",
     .rare = true},
    {.name = "access.trust-loopback",
     .kind = BJ_OPT_BOOL,
     .off = AT(trust_loopback),
     .preset = "false",
     .help = "Accept clients on the loopback interface as proxies without "
             "credentials.",
     .more = "Enable it only where no other user can log in.",
     .rare = true},
    {.name = "access.rate",
     .kind = BJ_OPT_U64,
     .off = AT(user_rate),
     .hi = 1000000,
     .preset = "50",
     .help = "Maximum number of requests per second of a user; ten seconds' "
             "worth may arrive at once. Further requests get status 429. 0: "
             "unlimited.",
     .more = "Lower it to protect the server from scripts.",
     .rare = true},
    {.name = "access.admins",
     .kind = BJ_OPT_LIST,
     .off = AT(admins),
     .arg = "USER",
     .help = "User who sees all jobs, or @GROUP for the members of a Unix "
             "group.",
     .more = "Set it for operators and user support."},
    {.name = "access.coordinators",
     .kind = BJ_OPT_LIST,
     .off = AT(coordinators),
     .arg = "RULE",
     .help = "Users who see all jobs of an account: \"ACCOUNT: USER @GROUP\".",
     .more = "Set it for the managers of projects."},
    {.name = "access.file",
     .kind = BJ_OPT_STR,
     .off = AT(access_file),
     .arg = "FILE",
     .help = "File with more admins and coordinators: lines \"admin USER\" and "
             "\"coordinator ACCOUNT USER\".",
     .more = "Set it when a script generates the list, for example from LDAP."},
    {.name = "access.token-file",
     .kind = BJ_OPT_STR,
     .off = AT(token_file),
     .arg = "FILE",
     .help = "File with tokens for scripts: lines that the command make-token "
             "prints.",
     .more = "Set it for scripts that cannot use a password."},
    {.name = "script.sacct",
     .kind = BJ_OPT_STR,
     .off = AT(script_sacct),
     .preset = "",
     .arg = "PROGRAM",
     .help = "The sacct program, to show batch scripts to the owner of a job "
             "and to admins. Nothing is stored.",
     .more =
         "Set it when Slurm keeps scripts (AccountingStoreFlags=job_script) "
         "and the user of this service may see those of all users."},
    {.name = "script.scontrol",
     .kind = BJ_OPT_STR,
     .off = AT(script_scontrol),
     .preset = "",
     .arg = "PROGRAM",
     .help =
         "The scontrol program, for scripts that sacct does not have: those "
         "of jobs that wait, run or have just ended.",
     .more = "Set it when the user of this service is an operator of Slurm."},
    {.name = "original.strict",
     .kind = BJ_OPT_BOOL,
     .off = AT(original_strict),
     .preset = "false",
     .help = "Reply to /api/jobs and /api/accounts exactly as the original "
             "server did, mistakes included.",
     .more = "Enable it only when a client depends on these mistakes.",
     .rare = true},
    {.name = "constants.file",
     .kind = BJ_OPT_STR,
     .off = AT(constants),
     .arg = "FILE",
     .help = "File with numbers of the site for /api/v1/constants: lines "
             "\"NAME NUMBER\"; lines below [CLUSTER] apply to that cluster. "
             "Read for each request.",
     .more = "Set it to show prices and other numbers of your site in "
             "dashboards.",
     .rare = true},
    {.name = "faculty.file",
     .kind = BJ_OPT_STR,
     .off = AT(faculties),
     .arg = "FILE",
     .help = "File with the faculty of each account, for usage by faculty: "
             "lines \"ACCOUNT FACULTY\". Read for each request.",
     .more = "Set it to show the usage of faculties or departments to "
             "management.",
     .rare = true},
    {.name = "storage.file",
     .kind = BJ_OPT_STR,
     .off = AT(storage),
     .arg = "FILE",
     .help =
         "File with projects and quotas of users for /api/v1/storage: lines "
         "\"USER KIND NAME BYTES BYTES_LIMIT FILES FILES_LIMIT [PATH]\". "
         "Read for each request.",
     .more = "Set it to show users their quotas; a job of cron writes it from "
             "the reports of your file systems.",
     .rare = true},
    {.name = NULL},
};

void bj_api_conf_sets(struct bj_api_conf *c, struct bj_optset sets[BJ_API_SETS])
{
    sets[0] = (struct bj_optset){options, c};
    sets[1] = (struct bj_optset){bj_prompool_opts, &c->prom};
    sets[2] = (struct bj_optset){bj_gate_opts, &c->gate};
    sets[3] = (struct bj_optset){bj_program_opts, &c->program};
}

void bj_api_conf_free(struct bj_api_conf *c)
{
    struct bj_optset sets[BJ_API_SETS];
    bj_api_conf_sets(c, sets);
    bj_gate_conf_free(&c->gate);
    for (int i = 0; i < BJ_API_SETS; i++)
        bj_opt_free(&sets[i]);
}

static int conf_check(struct bj_api_conf *c, struct bj_err *err)
{
    if (c->listen.n == 0)
        return bj_err_set(err, -EINVAL,
                          "web.listen-address: an address is required");
    if (!c->store || !c->store[0])
        return bj_err_set(err, -EINVAL,
                          "store.path: a file or a URL is required");
    size_t n = 0;
    for (size_t i = 0; i < c->frame_ancestors.n; i++)
        n += strlen(c->frame_ancestors.v[i]) + 1;
    if (n > BJ_FRAME_ANCESTORS_MAX)
        return bj_err_set(err, -EINVAL,
                          "web.frame-ancestors: more than %d bytes",
                          BJ_FRAME_ANCESTORS_MAX);
    if (!c->proxy_header || !c->proxy_header[0])
        return bj_err_set(err, -EINVAL, "access.proxy-header: required");
    int r = bj_prompool_check(&c->prom, err);
    return r < 0 ? r : bj_gate_conf_check(&c->gate, &c->prom.server, err);
}

int bj_api_conf_load(struct bj_api_conf *c, int argc, char **argv,
                     struct bj_err *err)
{
    struct bj_optset sets[BJ_API_SETS];
    bj_api_conf_sets(c, sets);
    int r = bj_program_load(&c->program, sets, BJ_API_SETS, argc, argv, err);
    if (r < 0 || c->program.help || c->program.version)
        return r;
    return conf_check(c, err);
}

int bj_api_conf_unread(const char *option, struct bj_err *err)
{
    char text[240];
    if (!err)
        return -EINVAL;
    bj_err_text(err, text, sizeof(text));
    return bj_err_set(err, -EINVAL, "%s: %s", option, text);
}

void bj_api_conf_help(bool all, struct bj_buf *out)
{
    struct bj_api_conf c;
    struct bj_optset sets[BJ_API_SETS];
    bj_api_conf_sets(&c, sets);
    bj_buf_str(
        out,
        "Usage: batchjob_stats_server [OPTION]...\n"
        "       batchjob_stats_server check-config [--online] [OPTION]...\n"
        "       batchjob_stats_server make-token USER [EXPIRES]\n"
        "       batchjob_stats_server write-access [OPTION]...\n"
        "HTTP API and web pages for the accounting of batch jobs.\n");
    bj_opt_help_groups(sets, BJ_API_SETS, all, out);
    if (!all)
        bj_buf_str(out, "\n--help=all shows all options.\n");
}
