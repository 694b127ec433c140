#include "core/cluster/command.h"

#include "base/slice.h"
#include "core/cluster/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The criteria that select jobs and nodes, and their options. */
static const struct {
    const char *what, *jobs, *nodes; /* of squeue, of sinfo; NULL: none */
} choices[] = {
    {"partition", "--partition", "--partition"},
    {"state", "--states", "--states"},
    {"node", "--nodelist", "--nodes"},
    {"account", "--account", NULL},
    {"user", "--user", NULL},
    {"qos", "--qos", NULL},
    {"reservation", "--reservation", NULL},
};

/* Append the concatenation of two texts to the list. */
static int command_add(struct bj_strv *list, const char *a, struct bj_slice b,
                       struct bj_err *err)
{
    const size_t size = strlen(a) + b.n + 1;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s%.*s", a, (int)b.n, b.n > 0 ? b.p : "");
    return bj_strv_add(list, text) ? 0 : bj_err_set(err, -ENOMEM, "cluster");
}

/* The option for "partition=a"; NULL: unknown. */
static const char *option_of(struct bj_slice what, bool nodes)
{
    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (bj_slice_eq(what, bj_slice_str(choices[i].what)))
            return nodes ? choices[i].nodes : choices[i].jobs;
    return NULL;
}

static bool has(const struct bj_strv *list, const char *option)
{
    for (size_t i = 0; i < list->n; i++)
        if (strncmp(list->v[i], option, strlen(option)) == 0)
            return true;
    return false;
}

static int command_choose(const struct bj_strv *given, bool nodes,
                          struct bj_strv *ret, struct bj_err *err)
{
    const char *name = nodes ? "cluster.nodes" : "cluster.jobs";
    int r = 0;
    for (size_t i = 0; i < given->n && r == 0; i++) {
        struct bj_slice value = bj_slice_str(given->v[i]), what = {0};
        char text[64];
        bj_slice_field(&value, '=', &what);
        const char *option = option_of(what, nodes);
        if (!option || value.n == 0)
            return bj_err_set(err, -EINVAL,
                              "%s: '%.80s' is not WHAT=VALUE with one of "
                              "partition, state, node%s",
                              name, given->v[i],
                              nodes ? "" : ", account, user, qos, reservation");
        snprintf(text, sizeof(text), "%s=", option);
        if (has(ret, text))
            return bj_err_set(
                err, -EINVAL,
                "%s: %.*s is given twice; separate several values by commas",
                name, (int)what.n, what.p);
        r = command_add(ret, text, value, err);
    }
    return r;
}

static int command_check(const struct bj_cluster_command *c, struct bj_err *err)
{
    const struct bj_scheduler_conf *conf = c->conf;
    const char *via = conf->via && *conf->via ? conf->via : "text";
    if (strcmp(via, "text") != 0 && c->jobs.n + c->nodes.n > 0)
        return bj_err_set(
            err, -EINVAL,
            "cluster.jobs and cluster.nodes need cluster.via=text");
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++)
        if (c->own[i] && strcmp(via, "rest") == 0)
            return bj_err_set(
                err, -EINVAL,
                "cluster.command: cluster.via=rest runs no commands");
    if (strcmp(via, "rest") == 0 && c->front.n > 0)
        return bj_err_set(
            err, -EINVAL,
            "cluster.command-prefix: cluster.via=rest runs no commands");
    if (c->front.n > 0 && conf->path && strchr(conf->path, ':'))
        return bj_err_set(err, -EINVAL,
                          "cluster.path: with cluster.command-prefix it must "
                          "be a single directory");
    if (c->front.n + c->jobs.n + c->nodes.n > BJ_CLUSTER_WORDS / 2)
        return bj_err_set(err, -EINVAL,
                          "cluster.command-prefix has too many words");
    return 0;
}

/* A command of the site, split at blanks. */
static int add_own(struct bj_cluster_command *c, const char *text,
                   struct bj_err *err)
{
    enum bj_cluster_source id;
    const char *command;
    size_t n = 0;
    int r = bj_cluster_own_parse(text, &id, &command, err);
    if (r < 0)
        return bj_err_wrap(err, r, "cluster.command");
    struct bj_cluster_line *line = calloc(1, sizeof(*line));
    free(c->own[id]);
    c->own[id] = line;
    if (!line)
        return bj_err_set(err, -ENOMEM, "cluster");
    if (strlen(command) >= sizeof(line->program))
        return bj_err_set(err, -EINVAL, "cluster.command is too long");
    memcpy(line->program, command, strlen(command) + 1);
    char *rest = line->program, *word;
    while ((word = strsep(&rest, " \t")) != NULL) {
        if (n == BJ_CLUSTER_WORDS - 1)
            return bj_err_set(err, -EINVAL,
                              "cluster.command has too many words");
        if (*word)
            line->argv[n++] = word;
    }
    return 0;
}

int bj_cluster_command_init(struct bj_cluster_command *c,
                            const struct bj_scheduler_conf *conf,
                            struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(conf->prefix), word;
    int r = 0;
    *c = (struct bj_cluster_command){.conf = conf};
    while (r == 0 && bj_slice_word(&rest, &word))
        r = command_add(&c->front, "", word, err);
    if (r == 0)
        r = command_choose(&conf->jobs, false, &c->jobs, err);
    if (r == 0)
        r = command_choose(&conf->nodes, true, &c->nodes, err);
    for (size_t i = 0; i < conf->commands.n && r == 0; i++)
        r = add_own(c, conf->commands.v[i], err);
    if (r == 0)
        r = command_check(c, err);
    if (r < 0)
        bj_cluster_command_free(c);
    return r;
}

void bj_cluster_command_free(struct bj_cluster_command *c)
{
    bj_strv_free(&c->front);
    bj_strv_free(&c->jobs);
    bj_strv_free(&c->nodes);
    for (unsigned i = 0; i < BJ_CLUSTER_SOURCES; i++) {
        free(c->own[i]);
        c->own[i] = NULL;
    }
}

/* sinfo accepts only one of --all and --partition. */
static bool excluded(const struct bj_cluster_command *c,
                     enum bj_cluster_source id, const char *arg)
{
    return id == BJ_CLUSTER_NODES && strcmp(arg, "--all") == 0 &&
           has(&c->nodes, "--partition=");
}

int bj_cluster_command_line(const struct bj_cluster_command *c,
                            enum bj_cluster_source id, const char *const *argv,
                            const char *const *env, struct bj_cluster_line *ret,
                            struct bj_err *err)
{
    const struct bj_strv *more = id == BJ_CLUSTER_QUEUE   ? &c->jobs
                                 : id == BJ_CLUSTER_NODES ? &c->nodes
                                                          : NULL;
    const char *path = c->conf->path;
    size_t n = 0, most = BJ_CLUSTER_WORDS - 1;
    if (c->own[id]) {
        memcpy(ret->argv, c->own[id]->argv, sizeof(ret->argv));
        return 0;
    }
    for (size_t i = 0; i < c->front.n && n < most; i++)
        ret->argv[n++] = c->front.v[i];
    if (n > 0)
        ret->argv[n++] = "env";
    for (size_t i = 0; c->front.n > 0 && env[i] && n < most; i++)
        ret->argv[n++] = env[i];
    const size_t name = n;
    for (size_t i = 0; argv[i] && n < most; i++)
        if (!excluded(c, id, argv[i]))
            ret->argv[n++] = argv[i];
    for (size_t i = 0; more && i < more->n && n < most; i++)
        ret->argv[n++] = more->v[i];
    ret->argv[n] = NULL;
    if (n == most)
        return bj_err_set(err, -E2BIG, "%s has too many words", argv[0]);
    if (c->front.n == 0 || !path || !*path)
        return 0;
    /* The path of a command, possibly on another host. */
    if ((size_t)snprintf(ret->program, sizeof(ret->program), "%s/%s", path,
                         argv[0]) >= sizeof(ret->program))
        return bj_err_set(err, -E2BIG, "cluster.path is too long");
    ret->argv[name] = ret->program;
    return 0;
}
