#include "snmp-agent/table.h"

#include <stddef.h>
#include <stdlib.h>

enum {
    /* Sizes of index columns.  A root of BJ_SNMP_BASE_MAX, four numbers of the
     * column, and for the longest index two lengths, JOB_ID and GPU_ID are
     * BJ_OID_MAX. */
    JOB_ID = 64,
    GPU_ID = 48,
    GPU_NUMBER = 16,
    WORD = 32,
    ZONE_NAME = 64
};

#define LIST_OF_SNAP(member)                                                   \
    .owner = BJ_OF_SNAP, .list = true, .off = offsetof(struct bj_snap, member)
#define LIST_OF_JOB(member)                                                    \
    .owner = BJ_OF_JOB, .list = true, .off = offsetof(struct bj_job, member)

const struct bj_snmp_table bj_snmp_tables[BJ_SNMP_TABLES] = {
    [BJ_SNMP_SCALARS] = {.name = "bj",
                         .group = BJ_SNMP_NODE,
                         .number = 1,
                         .metric = {"node", "sampler", "process"},
                         .owner = BJ_OF_SNAP},
    [BJ_SNMP_NODE_ENERGY] = {.name = "bjNodeEnergy",
                             .rows = "the node's energy by component",
                             .is = "A component",
                             .group = BJ_SNMP_NODE,
                             .number = 2,
                             .metric = {"node_energy"},
                             LIST_OF_SNAP(node.energy),
                             .size = sizeof(struct bj_energy_split),
                             .keys = 1,
                             .key_max = {WORD}},
    [BJ_SNMP_NODE_CPU] = {.name = "bjNodeCpu",
                          .rows = "the node's CPU time by mode",
                          .is = "A mode",
                          .group = BJ_SNMP_NODE,
                          .number = 3,
                          .metric = {"node"},
                          LIST_OF_SNAP(node.modes),
                          .size = sizeof(struct bj_mode_use),
                          .keys = 1,
                          .key_max = {WORD}},
    [BJ_SNMP_METER] = {.name = "bjMeter",
                       .rows = "power meters",
                       .is = "A power meter",
                       .group = BJ_SNMP_NODE,
                       .number = 4,
                       .metric = {"meter"},
                       LIST_OF_SNAP(meters),
                       .size = sizeof(struct bj_meter_stat),
                       .keys = 1,
                       .key_max = {WORD}},
    [BJ_SNMP_ZONE] = {.name = "bjMeterZone",
                      .rows = "zones of power meters",
                      .is = "A zone, one counter of a power meter",
                      .group = BJ_SNMP_NODE,
                      .number = 5,
                      .metric = {"meter_zone"},
                      LIST_OF_SNAP(zones),
                      .size = sizeof(struct bj_zone_stat),
                      .keys = 2,
                      .key_max = {WORD, ZONE_NAME}},
    [BJ_SNMP_METER_ERRORS] = {.name = "bjMeterErrors",
                              .rows = "errors of power meters by kind",
                              .is = "A kind of error of a power meter",
                              .group = BJ_SNMP_NODE,
                              .number = 6,
                              .metric = {"meter_errors"},
                              LIST_OF_SNAP(meter_errors),
                              .size = sizeof(struct bj_meter_errors),
                              .keys = 2,
                              .key_max = {WORD, WORD}},
    [BJ_SNMP_GPU] = {.name = "bjGpu",
                     .rows = "GPUs of the node",
                     .is = "A GPU, or an instance of a partitioned one",
                     .group = BJ_SNMP_NODE,
                     .number = 7,
                     .metric = {"gpu"},
                     LIST_OF_SNAP(gpus),
                     .size = sizeof(struct bj_gpu_use),
                     .keys = 1,
                     .key_max = {GPU_ID}},
    [BJ_SNMP_GPU_SOURCE] = {.name = "bjGpuSource",
                            .rows = "sources of GPUs",
                            .is = "A driver of GPUs, or another source",
                            .group = BJ_SNMP_NODE,
                            .number = 8,
                            .metric = {"gpu_source"},
                            LIST_OF_SNAP(gpu_sources),
                            .size = sizeof(struct bj_gpu_source),
                            .keys = 1,
                            .key_max = {WORD}},
    [BJ_SNMP_COLLECTOR] = {.name = "bjCollector",
                           .rows = "collectors with their faults",
                           .is = "A collector, which reads one kind of source",
                           .group = BJ_SNMP_NODE,
                           .number = 9,
                           .metric = {"collector"},
                           LIST_OF_SNAP(self.collectors),
                           .size = sizeof(struct bj_collector_stat),
                           .keys = 1,
                           .key_max = {WORD}},
    [BJ_SNMP_GPU_THROTTLE] = {.name = "bjGpuThrottle",
                              .rows = "reasons why clocks of GPUs are "
                                      "throttled",
                              .is = "A reason, of a GPU",
                              .group = BJ_SNMP_NODE,
                              .number = 10,
                              .metric = {"gpu_throttle"},
                              LIST_OF_SNAP(gpu_reasons),
                              .size = sizeof(struct bj_gpu_label),
                              .keys = 3,
                              .key_max = {GPU_ID, GPU_NUMBER, WORD}},
    [BJ_SNMP_GPU_CONFLICTS] = {.name = "bjGpuConflicts",
                               .rows = "conflicting assignments of GPUs",
                               .is = "A kind of conflict",
                               .group = BJ_SNMP_NODE,
                               .number = 11,
                               .metric = {"gpu_conflicts"},
                               LIST_OF_SNAP(gpu_conflicts),
                               .size = sizeof(struct bj_gpu_label),
                               .keys = 1,
                               .key_max = {WORD}},
    [BJ_SNMP_JOB] = {.name = "bjJob",
                     .rows = "jobs on this node",
                     .is = "A job; one that has ended keeps its row, without "
                           "levels such as memory in use, for the grace period",
                     .group = BJ_SNMP_JOBS,
                     .number = 1,
                     .metric = {"job"},
                     .owner = BJ_OF_JOB,
                     .key_max = {JOB_ID}},
    [BJ_SNMP_JOB_GPU] = {.name = "bjJobGpu",
                         .rows = "GPUs of jobs",
                         .is = "A GPU, or a share of it, that a job holds",
                         .group = BJ_SNMP_JOBS,
                         .number = 2,
                         .metric = {"job_gpu"},
                         LIST_OF_JOB(gpus),
                         .size = sizeof(struct bj_gpu_part),
                         .keys = 1,
                         .key_max = {JOB_ID, GPU_ID}},
    [BJ_SNMP_JOB_ENERGY] = {.name = "bjJobEnergy",
                            .rows = "energy of jobs by component",
                            .is = "A component of the energy of a job",
                            .group = BJ_SNMP_JOBS,
                            .number = 3,
                            .metric = {"job_energy"},
                            LIST_OF_JOB(energy),
                            .size = sizeof(struct bj_energy_use),
                            .keys = 1,
                            .key_max = {JOB_ID, WORD}},
    [BJ_SNMP_OWNER] = {.name = "bjOwner",
                       .rows = "owners and names of jobs",
                       .is = "A job of bjJobTable: to whom it belongs. Texts "
                             "that users choose are among these columns",
                       .group = BJ_SNMP_OWNERS,
                       .number = 1,
                       .owner = BJ_OF_JOB,
                       .key_max = {JOB_ID}},
};

struct columns {
    struct bj_snmp_column *v;
    size_t n;
};

static bool shows(const struct bj_snmp_table *s,
                  const struct bj_metric_table *m)
{
    if (m->info || m->owner != s->owner || m->list != s->list ||
        (s->list && m->off != s->off))
        return false;
    for (size_t i = 0; i < sizeof(s->metric) / sizeof(s->metric[0]); i++)
        if (s->metric[i] && strcmp(s->metric[i], m->name) == 0)
            return true;
    return false;
}

/* The name of a metric as text in buf; NULL: no memory. */
static const char *table_metric_name(const struct bj_metric_table *t,
                                     const struct bj_metric *m,
                                     struct bj_buf *buf)
{
    buf->len = 0;
    bj_metric_prom_name(t, m, buf);
    bj_buf_put(buf, "", 1);
    return buf->failed ? NULL : buf->p;
}

/* The type of the values of a metric: levels that fit are Gauge32, which
 * SNMPv1 can read. */
static enum bj_value_type type_of(const struct bj_metric *m)
{
    const bool small =
        m->unit == BJ_NUMBER || m->unit == BJ_PPM || m->unit == BJ_UCELSIUS;
    return m->kind == BJ_GAUGE && small ? BJ_VALUE_GAUGE32 : BJ_VALUE_COUNTER64;
}

/* Find the metric of a column, if it exists; false: no memory. */
static bool find_metric(struct bj_snmp_column *c, struct bj_buf *buf)
{
    for (size_t i = 0; i < bj_metric_ntables; i++) {
        const struct bj_metric_table *t = &bj_metric_tables[i];
        for (size_t k = 0; shows(c->table, t) && k < t->nrows; k++) {
            const char *name = table_metric_name(t, &t->rows[k], buf);
            if (!name)
                return false;
            if (strcmp(name, c->number->name) != 0)
                continue;
            c->metrics = t;
            c->metric = &t->rows[k];
            c->off = t->rows_off + t->rows[k].off + (t->list ? 0 : t->off);
            c->type = type_of(c->metric);
            return true;
        }
    }
    return true;
}

/* False: no memory. */
static bool make_column(const struct bj_snmp_number *number,
                        struct bj_snmp_column *ret, struct bj_buf *buf)
{
    const struct bj_snmp_table *t = &bj_snmp_tables[number->table];
    *ret = (struct bj_snmp_column){.number = number,
                                   .table = t,
                                   .type = BJ_VALUE_TEXT,
                                   .path = {t->group, t->number}};
    unsigned n = 2;
    if (number->table != BJ_SNMP_SCALARS)
        ret->path[n++] = 1;
    ret->path[n++] = number->number;
    ret->npath = n;
    switch (number->source) {
    case BJ_SNMP_METRIC:
    case BJ_SNMP_TRUTH:
        if (!find_metric(ret, buf))
            return false;
        break;
    case BJ_SNMP_AGE:
    case BJ_SNMP_REFUSED:
        ret->type = BJ_VALUE_GAUGE32;
        break;
    case BJ_SNMP_UNSENT:
    case BJ_SNMP_ENERGY:
        ret->type = BJ_VALUE_COUNTER64;
        break;
    default:
        break;
    }
    if (number->source == BJ_SNMP_TRUTH || number->source == BJ_SNMP_PASSED)
        ret->type = BJ_VALUE_INTEGER;
    return true;
}

/* Numbers of a table are 1, 2, 3, ..., and each metric exists. */
static int check_numbers(const struct columns *c, struct bj_err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct bj_snmp_number *n = c->v[i].number;
        const struct bj_snmp_number *before = i > 0 ? n - 1 : NULL;
        bool first = !before || before->table != n->table;
        if (before && before->table > n->table)
            return bj_err_set(err, -EINVAL,
                              "numbers.c: the tables are not in order");
        if (n->number != (first ? 1 : before->number + 1))
            return bj_err_set(err, -EINVAL,
                              "numbers.c: %s, %s: number %u is not the next "
                              "one; numbers are never removed or used again",
                              c->v[i].table->name, n->name, n->number);
        bool metric = n->source == BJ_SNMP_METRIC || n->source == BJ_SNMP_TRUTH;
        if (metric && !c->v[i].metric == !n->gone)
            return bj_err_set(err, -EINVAL,
                              n->gone ? "numbers.c: %s is marked as gone, but "
                                        "%s exists"
                                      : "numbers.c: %s has no metric %s; a "
                                        "metric that has gone keeps its line "
                                        "and gets its syntax",
                              c->v[i].table->name, n->name);
    }
    return 0;
}

/* Each metric of a table has one number. */
static int check_metrics(const struct columns *all,
                         const struct bj_snmp_table *s, struct bj_buf *buf,
                         struct bj_err *err)
{
    for (size_t i = 0; i < bj_metric_ntables; i++) {
        const struct bj_metric_table *t = &bj_metric_tables[i];
        for (size_t k = 0; shows(s, t) && k < t->nrows; k++) {
            unsigned n = 0;
            for (size_t c = 0; c < all->n; c++)
                n += all->v[c].table == s && all->v[c].metric == &t->rows[k];
            if (n == 1)
                continue;
            const char *name = table_metric_name(t, &t->rows[k], buf);
            return bj_err_set(err, -EINVAL,
                              "numbers.c: %s has %u numbers in %s, not "
                              "one; append a line with the next number",
                              name ? name : "a metric", n, s->name);
        }
    }
    return 0;
}

/* The columns of a list of numbers.  On failure there are none. */
static int columns_make(const struct bj_snmp_number *numbers, size_t n,
                        struct columns *ret, struct bj_err *err)
{
    struct bj_buf name = {0};
    int r = 0;
    *ret = (struct columns){calloc(n, sizeof(*ret->v)), n};
    if (!ret->v)
        return bj_err_set(err, -ENOMEM, "columns of the MIB");
    for (size_t i = 0; i < n && r == 0; i++)
        if (!make_column(&numbers[i], &ret->v[i], &name))
            r = bj_err_set(err, -ENOMEM, "columns of the MIB");
    if (r == 0)
        r = check_numbers(ret, err);
    for (unsigned t = 0; t < BJ_SNMP_TABLES && r == 0; t++)
        r = check_metrics(ret, &bj_snmp_tables[t], &name, err);
    bj_buf_free(&name);
    if (r < 0) {
        free(ret->v);
        *ret = (struct columns){0};
    }
    return r;
}

int bj_snmp_numbers_check(const struct bj_snmp_number *numbers, size_t n,
                          struct bj_err *err)
{
    struct columns c;
    int r = columns_make(numbers, n, &c, err);
    free(c.v);
    return r;
}

static struct columns columns;

int bj_snmp_columns(const struct bj_snmp_column **ret, size_t *ret_n,
                    struct bj_err *err)
{
    int r = columns.v ? 0
                      : columns_make(bj_snmp_numbers, bj_snmp_nnumbers,
                                     &columns, err);
    *ret = columns.v;
    *ret_n = columns.n;
    return r;
}

const struct bj_snmp_column *bj_snmp_column(enum bj_snmp_table_id table,
                                            const char *name)
{
    for (size_t i = 0; i < columns.n; i++)
        if (columns.v[i].number->table == table &&
            columns.v[i].number->source != BJ_SNMP_INDEX &&
            strcmp(columns.v[i].number->name, name) == 0)
            return &columns.v[i];
    return NULL;
}
