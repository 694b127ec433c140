#include "statsdb/conf/notify_conf.h"

#include "base/fetch.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define OF(member) offsetof(struct bj_notify_conf, member)
#define AT(member) offsetof(struct bj_target_conf, member)
#define SEC(n) ((uint64_t)(n)*1000000)

const struct bj_opt bj_notify_opts[] = {
    {.name = "notify.target-file",
     .kind = BJ_OPT_LIST,
     .off = OF(target_files),
     .arg = "FILE",
     .help = "File of a target that gets notifications of findings on running "
             "jobs, of nodes, GPUs and late imports (docs/notify.md).",
     .more = "One for each Alertmanager cluster, webhook or chat."},
    {.name = "notify.url",
     .kind = BJ_OPT_STR,
     .off = OF(url),
     .arg = "URL",
     .check = bj_fetch_check,
     .help = "Address of batchjob_stats_server's pages for links in "
             "notifications: https://HOST/PATH; by default mail.url."},
    {.name = "notify.interval",
     .kind = BJ_OPT_DURATION,
     .off = OF(interval_usec),
     .lo = SEC(10),
     .hi = SEC(3600),
     .preset = "1m",
     .help = "Time between two rounds, each of which repeats the alerts that "
             "last.",
     .more = "An alert that is not repeated ends after three of them.",
     .rare = true},
    {.name = "notify.import-late",
     .kind = BJ_OPT_DURATION,
     .off = OF(import_late_usec),
     .lo = SEC(60),
     .hi = SEC(30 * 86400),
     .preset = "1h",
     .help = "Accounting is late when its last import was longer ago.",
     .more = "Keep it above sacct.interval of the clusters."},
    {.name = NULL},
};

static bool is_word(const char *text)
{
    const char *p = text;
    while (isalnum((unsigned char)*p) || (p > text && strchr("-_", *p) && *p))
        p++;
    return p > text && !*p && p - text <= 40;
}

static int check_name(const char *text, struct bj_err *err)
{
    return is_word(text) ? 0
                         : bj_err_set(err, -EINVAL,
                                      "expected up to 40 letters, digits, - "
                                      "and _");
}

/* A name of a label in Prometheus. */
static int check_label(const char *text, struct bj_err *err)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n > 0 && text[n] == '=' && text[n + 1] &&
                   !isdigit((unsigned char)text[0])
               ? 0
               : bj_err_set(err, -EINVAL, "expected NAME=VALUE");
}

const struct bj_opt bj_target_opts[] = {
    {.name = "name",
     .kind = BJ_OPT_STR,
     .off = AT(name),
     .check = check_name,
     .help = "Name of the target, for messages and metrics."},
    {.name = "kind",
     .kind = BJ_OPT_STR,
     .off = AT(kind),
     .choices = BJ_TARGET_KINDS,
     .help = "What the target is."},
    {.name = "url",
     .kind = BJ_OPT_LIST,
     .off = AT(url),
     .check = bj_fetch_check,
     .arg = "URL",
     .help = "Its address; of Alertmanager, one for each member of the "
             "cluster."},
    {.name = "url-file",
     .kind = BJ_OPT_STR,
     .off = AT(url_file),
     .arg = "FILE",
     .help = "File with the address, where who knows it may post."},
    {.name = "user",
     .kind = BJ_OPT_STR,
     .off = AT(user),
     .help = "User name (basic authentication)."},
    {.name = "password-file",
     .kind = BJ_OPT_STR,
     .off = AT(password_file),
     .arg = "FILE",
     .help = "File with the password, read for each request."},
    {.name = "token-file",
     .kind = BJ_OPT_STR,
     .off = AT(token_file),
     .arg = "FILE",
     .help = "File with a bearer token, read for each request."},
    {.name = "secret-file",
     .kind = BJ_OPT_STR,
     .off = AT(secret_file),
     .arg = "FILE",
     .help = "File with the key that signs what a webhook gets (Standard "
             "Webhooks), read for each request."},
    {.name = "to",
     .kind = BJ_OPT_STR,
     .off = AT(to),
     .help = "Room of Matrix, topic of ntfy, or channel of Mattermost (by "
             "default that of the hook)."},
    {.name = "ca-file",
     .kind = BJ_OPT_STR,
     .off = AT(ca_file),
     .arg = "FILE",
     .help = "CA certificates to trust; the system's by default."},
    {.name = "cert-file",
     .kind = BJ_OPT_STR,
     .off = AT(cert_file),
     .arg = "FILE",
     .help = "Client certificate of this program."},
    {.name = "key-file",
     .kind = BJ_OPT_STR,
     .off = AT(key_file),
     .arg = "FILE",
     .help = "Private key of that certificate; by default in the same file."},
    {.name = "allow-http",
     .kind = BJ_OPT_BOOL,
     .off = AT(allow_http),
     .preset = "false",
     .help = "Allow http to other hosts, which anybody on the way can read."},
    {.name = "event",
     .kind = BJ_OPT_LIST,
     .off = AT(event),
     .preset = "finding,node,gpu,import",
     .choices = "finding|node|gpu|import",
     .help = "What it gets."},
    {.name = "severity",
     .kind = BJ_OPT_STR,
     .off = AT(severity),
     .preset = "warning",
     .choices = "info|warning|critical",
     .help = "The least severity that it gets."},
    {.name = "cluster",
     .kind = BJ_OPT_LIST,
     .off = AT(cluster),
     .help = "Clusters that it gets; by default all."},
    {.name = "account",
     .kind = BJ_OPT_LIST,
     .off = AT(account),
     .help = "Accounts whose jobs it gets; by default all."},
    {.name = "users",
     .kind = BJ_OPT_BOOL,
     .off = AT(users),
     .preset = "false",
     .help = "Show names of users and of jobs there."},
    {.name = "label",
     .kind = BJ_OPT_LIST,
     .off = AT(label),
     .check = check_label,
     .arg = "NAME=VALUE",
     .help = "Labels to add to each alert of Alertmanager."},
    {.name = "ended",
     .kind = BJ_OPT_BOOL,
     .off = AT(ended),
     .preset = "true",
     .help = "Also send a message when something has ended."},
    {.name = "per-hour",
     .kind = BJ_OPT_U64,
     .off = AT(per_hour),
     .lo = 1,
     .hi = 3600,
     .preset = "20",
     .help = "Most messages to a chat in an hour; what comes in between is "
             "one message afterwards."},
    {.name = NULL},
};

/* What a kind of target needs. */
static const struct kind {
    const char *name;
    bool many;      /* several URLs */
    bool url;       /* its URL may be an option */
    bool url_file;  /* or in a file */
    bool token, to; /* required */
    bool may_sign;
} kinds[] = {
    {.name = "alertmanager", .many = true, .url = true},
    {.name = "webhook", .url = true, .url_file = true, .may_sign = true},
    {.name = "mattermost", .url_file = true},
    {.name = "slack", .url_file = true},
    {.name = "teams", .url_file = true},
    {.name = "matrix", .url = true, .token = true, .to = true},
    {.name = "ntfy", .url = true, .to = true},
};

static const struct kind *kind_of(const char *name)
{
    size_t i = 0;
    while (i + 1 < sizeof(kinds) / sizeof(kinds[0]) &&
           strcmp(kinds[i].name, name) != 0)
        i++;
    return &kinds[i];
}

/* The option that is missing, or that the kind does not have; NULL: none. */
static const char *target_problem(const struct bj_target_conf *t,
                                  const struct kind *k)
{
    const struct {
        bool wrong;
        const char *what;
    } rows[] = {
        {t->url.n == 0 && !bj_is_set(t->url_file),
         k->url ? "url: required" : "url-file: required"},
        {t->url.n > 0 && bj_is_set(t->url_file),
         "url and url-file: only one of them"},
        {t->url.n > 0 && !k->url, "url: a secret, write it to url-file"},
        {bj_is_set(t->url_file) && !k->url_file, "url-file: this kind has url"},
        {t->url.n > 1 && !k->many, "url: this kind has only one"},
        {bj_is_set(t->user) && bj_is_set(t->token_file),
         "user and token-file: only one of them"},
        {k->token && !bj_is_set(t->token_file), "token-file: required"},
        {k->to && !bj_is_set(t->to), "to: required"},
        {bj_is_set(t->secret_file) && !k->may_sign,
         "secret-file: this kind has no signature"},
        {!k->many && t->label.n > 0, "label: this kind has no labels"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].wrong)
            return rows[i].what;
    return NULL;
}

static int check_target(const struct bj_target_conf *t, const char *path,
                        struct bj_err *err)
{
    if (!bj_is_set(t->name) || !bj_is_set(t->kind))
        return bj_err_set(err, -EINVAL, "%s: %s: required", path,
                          bj_is_set(t->name) ? "kind" : "name");
    const char *problem = target_problem(t, kind_of(t->kind));
    if (problem)
        return bj_err_set(err, -EINVAL, "%s: %s", path, problem);
    for (size_t i = 0; i < t->url.n; i++)
        if (bj_fetch_is_clear(t->url.v[i]) && !t->allow_http)
            return bj_err_set(err, -EINVAL,
                              "%s: url: http to another host needs "
                              "allow-http: true",
                              path);
    return 0;
}

static int load_target(struct bj_target_conf *t, const char *path,
                       struct bj_err *err)
{
    const struct bj_optset set = {bj_target_opts, t};
    int r = bj_opt_presets(&set, err);
    if (r == 0)
        r = bj_opt_yaml(&set, 1, path, err);
    if (r == 0)
        r = bj_opt_finish(&set, err);
    return r == 0 ? check_target(t, path, err) : r;
}

int bj_targets_load(struct bj_notify_conf *c, struct bj_err *err)
{
    const size_t n = c->target_files.n;
    if (n > BJ_TARGETS_MAX)
        return bj_err_set(err, -EINVAL, "notify.target-file: more than %d",
                          BJ_TARGETS_MAX);
    c->target = calloc(n ? n : 1, sizeof(*c->target));
    if (!c->target)
        return bj_err_set(err, -ENOMEM, "options");
    for (size_t i = 0; i < n; i++) {
        const char *path = c->target_files.v[i];
        c->targets = i + 1;
        int r = load_target(&c->target[i], path, err);
        if (r < 0)
            return r;
        for (size_t k = 0; k < i; k++)
            if (strcmp(c->target[k].name, c->target[i].name) == 0)
                return bj_err_set(err, -EINVAL, "%s: name: '%s' is used twice",
                                  path, c->target[i].name);
    }
    return 0;
}

void bj_targets_free(struct bj_notify_conf *c)
{
    while (c->targets > 0)
        bj_opt_free(
            &(struct bj_optset){bj_target_opts, &c->target[--c->targets]});
    free(c->target);
    c->target = NULL;
}
