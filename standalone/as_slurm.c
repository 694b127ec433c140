/* Flags of prometheus-slurm-exporter, some of which are command lines. Of
 * command lines of Slurm we use the prefix words, the directory, and the
 * selection of jobs and nodes; their output options are replaced by ours. Other
 * commands are run unchanged. */
#include "standalone/as_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Known arguments of a command. */
struct known {
    const char *words;  /* its spellings, separated by blanks */
    const char *option; /* our option for it; NULL: ignored, we always do it */
    bool value;         /* it has a value */
    const char *only;   /* a value that is our default; NULL: none */
};

static const struct known squeue_args[] = {
    {.words = "-h --noheader -r --array -a --all --json --local"},
    {.words = "-o --format -O --Format", .value = true},
    {"-p --partition", "--cluster.jobs=partition=%s", true, NULL},
    {"-t --states", "--cluster.jobs=state=%s", true, "all"},
    {"-w --nodelist", "--cluster.jobs=node=%s", true, NULL},
    {"-A --account", "--cluster.jobs=account=%s", true, NULL},
    {"-u --user", "--cluster.jobs=user=%s", true, NULL},
    {"-q --qos", "--cluster.jobs=qos=%s", true, NULL},
    {"-R --reservation", "--cluster.jobs=reservation=%s", true, NULL},
    {.words = NULL},
};
static const struct known sinfo_args[] = {
    {.words = "-h --noheader -N --Node -a --all -e --exact --json --local"},
    {.words = "-o --format -O --Format", .value = true},
    {"-p --partition", "--cluster.nodes=partition=%s", true, NULL},
    {"-t --states", "--cluster.nodes=state=%s", true, "all"},
    {"-n --nodes", "--cluster.nodes=node=%s", true, NULL},
    {.words = NULL},
};
static const struct known scontrol_args[] = {
    {.words = "show lic license licenses --json -o --oneliner -a --all"},
    {.words = NULL},
};
static const struct known sdiag_args[] = {
    {.words = "--json -a --all"},
    {.words = NULL},
};
static const struct known sacctmgr_args[] = {
    {.words = "show list assoc associations -n --noheader -p --parsable -P "
              "--parsable2"},
    {.words = "format", .value = true},
    {.words = NULL},
};

static const struct {
    const char *flag, *name, *other; /* other: our option for any command */
    const struct known *args;
} commands[] = {
    {"slurm.squeue-cli", "squeue", "--cluster.command=queue=%s", squeue_args},
    {"slurm.sinfo-cli", "sinfo", "--cluster.command=nodes=%s", sinfo_args},
    {"slurm.lic-cli", "scontrol", "--cluster.command=licenses=%s",
     scontrol_args},
    {"slurm.diag-cli", "sdiag", "--cluster.command=diag=%s", sdiag_args},
    {"slurm.sacctmgr-cli", "sacctmgr", "--cluster.command=limits=%s",
     sacctmgr_args},
};

static const char front_option[] = "--cluster.command-prefix=";

static char *as_slurm_copy(struct bj_slice s)
{
    return strndup(s.n > 0 ? s.p : "", s.n);
}

static int as_slurm_add(struct bj_as *as, const char *option,
                        struct bj_slice value, struct bj_err *err)
{
    char *text = as_slurm_copy(value);
    int r = text ? bj_as_add(as, option, text, err)
                 : bj_err_set(err, -ENOMEM, "arguments");
    free(text);
    return r;
}

/* The words before the command's name; must be equal for all commands. */
static int take_front(struct bj_as *as, const struct bj_as_flag *flag,
                      struct bj_slice front, struct bj_err *err)
{
    const char *had = NULL;
    bool others = false;
    for (size_t i = 0; i < as->argv.n; i++)
        if (strncmp(as->argv.v[i], front_option, strlen(front_option)) == 0)
            had = as->argv.v[i] + strlen(front_option);
    for (const struct bj_as_flag *f = as->program->flags; f->name; f++)
        others |= f != flag && f->take == flag->take &&
                  as->seen >> (f - as->program->flags) & 1;
    if ((had || others) && !bj_slice_eq(bj_slice_str(had), front))
        return bj_err_set(err, -EINVAL,
                          "%s: the words before the command must be the same "
                          "for all commands",
                          flag->name);
    return front.n > 0 && !had
               ? as_slurm_add(as, "--cluster.command-prefix=%s", front, err)
               : 0;
}

/* A JSON format contains blanks. */
static void skip_format(struct bj_slice value, struct bj_slice *rest)
{
    bool open = value.n > 0 && *value.p == '{';
    while (open && value.p[value.n - 1] != '}' && bj_slice_word(rest, &value))
        ;
}

/* Whether the argument has one of the spellings; *value: the rest of it. */
static bool is_written(const struct known *k, struct bj_slice arg,
                       struct bj_slice *value)
{
    struct bj_slice rest = bj_slice_str(k->words), word;
    while (bj_slice_word(&rest, &word)) {
        const bool letter = word.n == 2 && *word.p == '-';
        *value = (struct bj_slice){0};
        if (bj_slice_eq(arg, word))
            return true;
        if (!k->value || !bj_slice_starts(arg, word))
            continue;
        *value = (struct bj_slice){arg.p + word.n, arg.n - word.n};
        if (letter)
            return true;
        if (*value->p == '=') {
            value->p++;
            value->n--;
            return true;
        }
    }
    return false;
}

static int take_arg(struct bj_as *as, const struct bj_as_flag *flag,
                    const struct known *k, struct bj_slice arg,
                    struct bj_slice *rest, struct bj_err *err)
{
    struct bj_slice value = {0};
    while (k->words && !is_written(k, arg, &value))
        k++;
    if (!k->words)
        return bj_err_set(err, -EINVAL,
                          "%s: '%.*s' is not supported: only arguments that "
                          "select jobs and nodes are",
                          flag->name, (int)(arg.n < 80 ? arg.n : 80), arg.p);
    if (!k->value)
        return 0;
    if (value.n == 0 && !bj_slice_word(rest, &value))
        return bj_err_set(err, -EINVAL, "%s: '%.*s' needs a value", flag->name,
                          (int)arg.n, arg.p);
    if (!k->option)
        skip_format(value, rest);
    return !k->option || bj_slice_eq(value, bj_slice_str(k->only))
               ? 0
               : as_slurm_add(as, k->option, value, err);
}

/* Split off the prefix words, the directory and the name of the command. */
static bool as_slurm_find_name(struct bj_slice *rest, struct bj_slice name,
                               struct bj_slice *front,
                               struct bj_slice *directory)
{
    const char *begin = rest->p;
    struct bj_slice word;
    while (bj_slice_word(rest, &word)) {
        *directory = word;
        while (directory->n > 0 && directory->p[directory->n - 1] != '/')
            directory->n--;
        const struct bj_slice last = {word.p + directory->n,
                                      word.n - directory->n};
        if (!bj_slice_eq(last, name))
            continue;
        *front =
            bj_slice_trim((struct bj_slice){begin, (size_t)(word.p - begin)});
        directory->n -= directory->n > 1;
        return true;
    }
    return false;
}

static int take_command(struct bj_as *as, const struct bj_as_flag *flag,
                        const char *value, struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(value), front, directory, arg;
    size_t i = 0;
    while (strcmp(commands[i].flag, flag->name) != 0)
        i++;
    if (bj_slice_trim(rest).n == 0)
        return bj_err_set(err, -EINVAL, "%s: expected a command", flag->name);
    if (!as_slurm_find_name(&rest, bj_slice_str(commands[i].name), &front,
                            &directory))
        return bj_as_add(as, commands[i].other, value, err);
    int r = take_front(as, flag, front, err);
    if (r == 0 && directory.n > 0)
        r = as_slurm_add(as, "--cluster.path=%s", directory, err);
    while (r == 0 && bj_slice_word(&rest, &arg))
        r = take_arg(as, flag, commands[i].args, arg, &rest, err);
    return r;
}

static int take_level(struct bj_as *as, const struct bj_as_flag *flag,
                      const char *value, struct bj_err *err)
{
    (void)flag;
    return bj_as_add(as, "--log.level=%s",
                     strcmp(value, "warning") == 0 ? "warn" : value, err);
}

static int take_fallback(struct bj_as *as, const struct bj_as_flag *flag,
                         const char *value, struct bj_err *err)
{
    (void)flag;
    return bj_as_add(as, "--cluster.via=%s",
                     strcmp(value, "true") == 0 ? "text" : "json", err);
}

#define COMMAND(flag)                                                          \
    {                                                                          \
        .name = flag, .take = take_command,                                    \
        .why = "words before it (cluster.command-prefix), directory "          \
               "(cluster.path), arguments that select jobs and nodes; any "    \
               "other command is run as it is (cluster.command)"               \
    }

static const struct bj_as_flag flags[] = {
    {COPY("web.listen-address", "web.listen-address")},
    {COPY("web.telemetry-path", "web.telemetry-path")},
    {COPY("web.log-level", "log.level"), .env = "LOGLEVEL", .take = take_level},
    {COPY("slurm.poll-limit", "cluster.interval"), .env = "POLL_LIMIT"},
    {COPY("CLI_TIMEOUT", "cluster.timeout"), .env = "CLI_TIMEOUT",
     .only_env = true},
    {SWITCH("slurm.cli-fallback"), .take = take_fallback,
     .to = "--cluster.via=text"},
    COMMAND("slurm.squeue-cli"),
    COMMAND("slurm.sinfo-cli"),
    COMMAND("slurm.lic-cli"),
    COMMAND("slurm.diag-cli"),
    COMMAND("slurm.sacctmgr-cli"),
    {SWITCH("slurm.collect-licenses"), .to = "--cluster.source=licenses"},
    {SWITCH("slurm.collect-diags"), .to = "--cluster.source=diag"},
    {SWITCH("slurm.collect-limits"), .to = "--cluster.source=limits"},
    {SWITCH("trace.enabled"), .to = "--trace.enabled"},
    {COPY("trace.path", "trace.path")},
    {COPY("trace.rate", "trace.rate")},
    {COPY("metrics.exclude", "dialect.exclude")},
    {.name = NULL},
};

const struct bj_as_program bj_as_prometheus_slurm_exporter = {
    .names = NAMES("prometheus-slurm-exporter"),
    .syntax = BJ_AS_GO,
    .first = "--web.dialect=prometheus-slurm-exporter --cluster.interval=10 "
             "--cluster.source=none",
    .flags = flags,
};
