/* Tables of the documents: columns of jobs, rules, power meters. */
#include "docs/gen.h"

#include "core/energy/meters.h"
#include "statsdb/derive/rule_impl.h"
#include "statsdb/job/job_column.h"

#include <errno.h>

int bj_gen_columns(struct bj_buf *out)
{
    for (const struct bj_column *c = bj_job_columns; c->name; c++) {
        bj_buf_str(out, ".TP\n\\fB");
        bj_gen_roff(out, c->name);
        bj_buf_str(out, "\\fR");
        if (c->title)
            bj_buf_printf(out, ", %s", c->title);
        bj_buf_str(out, "\n");
        bj_gen_roff_lines(out, c->help);
    }
    return 0;
}

/* A cell of a table in Markdown. */
static void put_cell(struct bj_buf *out, struct bj_slice text)
{
    for (size_t i = 0; i < text.n; i++) {
        bj_buf_str(out, text.p[i] == '|' ? "\\" : "");
        bj_buf_put(out, &text.p[i], 1);
    }
}

/* The value of a key of a built-in rule, as its author wrote it, between these
 * brackets; nothing if the rule does not have it. */
static void put_value(struct bj_buf *out, const char *yaml, const char *key,
                      char end)
{
    const char *at = strstr(yaml, key);
    if (!at)
        return;
    at += strlen(key);
    bj_buf_str(out, "`");
    for (; *at != end; at++) {
        /* A long list continues in the next line. */
        if (*at == '\n')
            at += strspn(at, "\n ");
        if (*at == '[' || out->p[out->len - 1] != ',' || *at == ' ')
            bj_buf_put(out, at, 1);
        else
            bj_buf_printf(out, " %c", *at);
    }
    bj_buf_str(out, "`");
}

static int put_rules(struct bj_buf *out, bool running)
{
    struct bj_rules *rules;
    struct bj_slice text, advice;
    int r = bj_rules_load(NULL, &rules, NULL);
    if (r < 0)
        return r;
    bj_buf_printf(out,
                  "| rule | severity |%s when | set | finding |\n"
                  "|---|---|---|---|---|%s\n",
                  running ? " running |" : "", running ? "---|" : "");
    for (size_t i = 0; bj_rules_written(rules, i, &text, &advice); i++) {
        const struct bj_rule *rule = bj_rules_at(rules, i);
        if ((rule->running_sec > 0) != running)
            continue;
        bj_buf_printf(out, "| `%s` | %s%s | ", rule->name, rule->severity,
                      rule->enabled ? "" : ", off");
        if (running)
            bj_buf_printf(out, "%u min | ", rule->running_sec / 60);
        put_value(out, bj_rules_builtin[i], "  when: [", ']');
        bj_buf_str(out, " | ");
        put_value(out, bj_rules_builtin[i], "  set: {", '}');
        bj_buf_str(out, " | ");
        put_cell(out, text);
        bj_buf_str(out, " |\n");
    }
    bj_rules_free(rules);
    return 0;
}

int bj_gen_rules_ended(struct bj_buf *out)
{
    return put_rules(out, false);
}

int bj_gen_rules_running(struct bj_buf *out)
{
    return put_rules(out, true);
}

static int put_meters(struct bj_buf *out, bool local)
{
    for (size_t i = 0; bj_meters_kind(i); i++) {
        const struct bj_meter_kind *k = bj_meters_kind(i);
        if ((k->automatic == NULL) != local)
            continue;
        bj_buf_printf(out, "| `%s` | %s | %s |", k->name, k->reads, k->reports);
        if (!local)
            bj_buf_printf(out, " %s |", k->automatic);
        bj_buf_str(out, "\n");
    }
    return 0;
}

int bj_gen_meters_bmc(struct bj_buf *out)
{
    bj_buf_str(out, "| `energy.meter` | protocol | reports | automatic |\n"
                    "|---|---|---|---|\n");
    return put_meters(out, false);
}

int bj_gen_meters_local(struct bj_buf *out)
{
    bj_buf_str(out, "| `energy.meter` | files | zones and roles |\n"
                    "|---|---|---|\n");
    return put_meters(out, true);
}
