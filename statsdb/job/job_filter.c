#include "statsdb/job/job_filter.h"

#include "base/array.h"
#include "sched/hostlist.h"
#include "sched/state.h"
#include "statsdb/job/job_name.h"
#include "store/db.h"

#include <string.h>

int bj_filter_names(struct bj_sql_build *b, const char *column,
                    enum bj_word which, struct bj_filter_texts names,
                    const struct bj_filter_names *find, struct bj_err *err)
{
    int r = 0;
    bj_buf_printf(&b->sql, " AND %s IN (", column);
    for (unsigned i = 0; i < names.n && r == 0; i++) {
        int64_t id = -1;
        r = find->find(find->ctx, which, names.v[i], &id, err);
        bj_sql_build_add(b, i ? "," : "");
        bj_sql_build_int(b, id);
    }
    /* an empty list matches no row */
    bj_sql_build_add(b, names.n ? ")" : "NULL)");
    return r;
}

/* --- states ----------------------------------------------------------------
 */

bool bj_filter_only_open(struct bj_filter_texts states)
{
    for (unsigned i = 0; i < states.n; i++)
        if (!bj_state_is_open(bj_state_from_people(states.v[i])))
            return false;
    return states.n > 0;
}

static int filter_no_state(struct bj_slice s, struct bj_err *err)
{
    struct bj_buf names = {0};
    for (unsigned i = 0; i < BJ_STATES; i++)
        bj_buf_printf(&names, "%s, ", bj_state_name((enum bj_job_state)i));
    bj_buf_put(&names, "", 1);
    int r = names.failed
                ? bj_err_set(err, -ENOMEM, "states")
                : bj_err_set(err, -EINVAL,
                             "unknown state '%.*s'; expected %sended, all, or "
                             "a state of Slurm",
                             s.n < 30 ? (int)s.n : 30, s.p, names.p);
    bj_buf_free(&names);
    return r;
}

int bj_filter_states(struct bj_sql_build *b, struct bj_filter_texts states,
                     struct bj_err *err)
{
    if (states.n == 0)
        return 0;
    bj_sql_build_add(b, " AND (1 = 0");
    for (unsigned i = 0; i < states.n; i++) {
        const struct bj_slice s = states.v[i];
        if (bj_slice_eq(s, BJ_SLICE("all"))) {
            bj_sql_build_add(b, " OR 1 = 1");
            continue;
        }
        if (bj_slice_eq(s, BJ_SLICE("ended"))) {
            bj_sql_build_add(b, " OR j.\"end\" IS NOT NULL");
            continue;
        }
        const enum bj_job_state state = bj_state_from_people(s);
        if (state == BJ_STATES)
            return filter_no_state(s, err);
        bj_sql_build_add(b, " OR +j.state = ");
        bj_sql_build_int(b, state);
    }
    bj_sql_build_add(b, bj_filter_only_open(states) ? ") AND j.\"end\" IS NULL"
                                                    : ")");
    return 0;
}

/* --- nodes -----------------------------------------------------------------
 */

static int filter_add_node(struct bj_st *st, struct bj_slice name,
                           struct bj_filter_nodes *ret, struct bj_err *err)
{
    if (++ret->named > BJ_FILTER_NODES)
        return bj_err_set(err, -E2BIG, "more than %d nodes", BJ_FILTER_NODES);
    bj_st_bind_text(st, 1, name);
    int r = bj_st_row(st, err);
    if (r > 0 && !BJ_GROW(ret->v, ret->n + 1, ret->room))
        r = bj_err_set(err, -ENOMEM, "nodes");
    if (r > 0)
        ret->v[ret->n++] = bj_st_get_i64(st, 0);
    bj_st_reset(st);
    return r < 0 ? r : 0;
}

int bj_filter_nodes_find(struct bj_st *st, struct bj_filter_texts nodes,
                         struct bj_filter_nodes *ret, struct bj_err *err)
{
    struct bj_hostlist list;
    struct bj_slice name;
    int r = 0;
    for (unsigned i = 0; i < nodes.n && r == 0; i++) {
        const struct bj_slice text = nodes.v[i];
        if (!memchr(text.p, '[', text.n)) {
            r = filter_add_node(st, text, ret, err);
            continue;
        }
        if (bj_hostlist_begin(&list, text, BJ_HOSTS_SLURM) < 0)
            return bj_err_set(err, -EINVAL,
                              "'%.*s' is not a list of nodes, such as "
                              "n[101-104,107]",
                              (int)(text.n < 60 ? text.n : 60), text.p);
        while (r == 0 && bj_hostlist_next(&list, &name))
            r = filter_add_node(st, name, ret, err);
    }
    return r;
}

void bj_filter_nodes(struct bj_sql_build *b,
                     const struct bj_filter_nodes *nodes)
{
    bj_sql_build_add(b, " AND +j.hosts IN (SELECT hosts FROM hosts_host WHERE "
                        "host IN (NULL");
    for (size_t i = 0; i < nodes->n; i++)
        bj_buf_printf(&b->sql, ",%lld", (long long)nodes->v[i]);
    bj_sql_build_add(b, "))");
}

/* --- names and times -------------------------------------------------------
 */

void bj_filter_jobs(struct bj_sql_build *b, struct bj_filter_texts names)
{
    const bool many = names.n > 1;
    bj_sql_build_add(b, " AND j.id IN (");
    for (unsigned i = 0; i < names.n; i++) {
        const struct bj_job_name name = bj_job_name_parse(names.v[i]);
        bj_sql_build_add(b, i ? " AS below UNION ALL " : "");
        bj_sql_build_add(b, many ? "SELECT id FROM (" : "");
        bj_job_name_query(&name, BJ_NAME_WITH_PARTS, b);
        bj_sql_build_add(b, many ? ")" : "");
    }
    bj_sql_build_add(b, names.n == 0 ? "NULL)" : many ? " AS below)" : ")");
}

int bj_filter_months(struct bj_db *db, const struct bj_filter_time *t,
                     struct bj_job_ranges *ret, struct bj_err *err)
{
    /* INT64_MIN would become SQL's NULL. */
    return bj_job_months_find(db, t->at_from > 0 ? t->at_from : 0, t->at_to,
                              t->end_from, ret, err);
}

void bj_filter_began(struct bj_sql_build *b, const char *at,
                     const struct bj_filter_time *t,
                     const struct bj_job_ranges *months)
{
    if (t->at_from > INT64_MIN || t->at_to < INT64_MAX) {
        bj_buf_printf(&b->sql, " AND %s BETWEEN ", at);
        bj_sql_build_int(b,
                         t->at_from > INT64_MIN ? t->at_from : INT64_MIN + 1);
        bj_sql_build_add(b, " AND ");
        bj_sql_build_int(b, t->at_to);
    }
    bj_job_ranges_put(months, "j.id", &b->sql);
}

void bj_filter_ended(struct bj_sql_build *b, const struct bj_filter_time *t)
{
    if (t->end_from == 0)
        return;
    bj_sql_build_add(b, " AND (j.\"end\" IS NULL OR j.\"end\" >= ");
    bj_sql_build_int(b, t->end_from);
    bj_sql_build_add(b, ")");
}

void bj_filter_order(struct bj_sql_build *b, bool ascending, bool named,
                     int64_t limit)
{
    bj_sql_build_add(b, named ? " ORDER BY +j.at" : " ORDER BY j.at");
    bj_sql_build_add(b,
                     ascending ? ", j.id LIMIT " : " DESC, j.id DESC LIMIT ");
    bj_sql_build_int(b, limit);
}
