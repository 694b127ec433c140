#include "standalone/check_config.h"

#include "base/fetch.h"
#include "base/listen.h"
#include "base/secret_file.h"
#include "base/tls.h"
#include "base/web.h"
#include "core/check.h"
#include "core/sender.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Options of the exporter that name a file. */
static const struct bj_check_path paths[] = {
    {"dialect.skip-uids", R_OK, false},
    {"trace.token-file", R_OK, false},
};

static int check_config_report(const struct bj_err *err)
{
    char text[320];
    fprintf(stderr, "batchjob_exporter: %s\n",
            bj_err_reason(err, text, sizeof(text)));
    return -EINVAL;
}

static void check_config_problem(void *ctx, const struct bj_err *err)
{
    (void)ctx;
    check_config_report(err);
}

int bj_exporter_check_records(const struct bj_exporter_conf *conf,
                              struct bj_err *err)
{
    const struct bj_sender_conf *s = &conf->core.sender;
    char token[512];
    if (!s->url || !s->url[0])
        return 0;
    int r = bj_tls_check_files(s->ca_file, NULL, NULL, err);
    if (r < 0)
        return bj_err_wrap(err, r, "record.ca-file");
    r = bj_tls_check_files(NULL, s->cert_file, s->key_file, err);
    if (r < 0)
        return bj_err_wrap(err, r, "record.cert-file");
    r = bj_secret_read(s->token_file, token, sizeof(token), err);
    explicit_bzero(token, sizeof(token));
    return r < 0 ? bj_err_wrap(err, r, "record.token-file") : 0;
}

/* Could the exporter listen, and would batchjob_stats_db accept its records? */
static int check_online(const struct bj_exporter_conf *conf)
{
    const struct bj_sender_conf *s = &conf->core.sender;
    struct bj_err err = {0};
    int r = bj_listen_try(&conf->listen, &err);
    if (r < 0)
        check_config_report(&err);
    if (!s->url || !s->url[0])
        return r;
    int tried = bj_sender_try(s, &err);
    if (tried == 0) {
        printf("record.url: batchjob_stats_db accepts records of this host\n");
        return r;
    }
    bj_err_wrap(&err, tried, "record.url%s",
                bj_fetch_is_placeholder(s->url)
                    ? ": the host in capitals is a placeholder of the documents"
                    : "");
    return check_config_report(&err);
}

int bj_exporter_check(struct bj_exporter_conf *conf, bool online)
{
    struct bj_web *web = NULL;
    struct bj_err err = {0};
    struct bj_optset sets[BJ_EXPORTER_SETS];
    bj_exporter_conf_sets(conf, sets);
    int r = bj_check_core(&conf->core, check_config_problem, NULL);
    if (bj_check_paths(paths, sizeof(paths) / sizeof(paths[0]), sets,
                       BJ_EXPORTER_SETS, check_config_problem, NULL) < 0)
        r = -EINVAL;
    if (r == 0 && bj_exporter_check_records(conf, &err) < 0)
        r = check_config_report(&err);
    if (bj_web_new("web.config.file", conf->web_file, &web, &err) < 0)
        r = check_config_report(&err);
    bj_web_unref(web);
    if (r == 0 && online)
        r = check_online(conf);
    return r;
}
