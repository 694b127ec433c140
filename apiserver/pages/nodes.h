/* What is known about nodes, for the pages /nodes and /nodes/NAME: from
 * Prometheus now, from the store for the last week. */
#ifndef BJ_APISERVER_PAGES_NODES_H
#define BJ_APISERVER_PAGES_NODES_H

#include "apiserver/frame/params.h"
#include "apiserver/frame/widget.h"
#include "apiserver/pages/grid.h"

/* Values of a node now, from Prometheus. */
enum bj_node_value {
    BJ_NODE_CPUS,   /* of the scheduler, else of its exporter */
    BJ_NODE_HELD,   /* CPUs that jobs hold */
    BJ_NODE_BUSY,   /* CPUs that jobs use */
    BJ_NODE_MEMORY, /* part in use, percent */
    BJ_NODE_WATTS,
    BJ_NODE_GPUS,
    BJ_NODE_GPUS_HELD,
    BJ_NODE_GPUS_BUSY,
    BJ_NODE_XID,    /* GPU errors in a week */
    BJ_NODE_HEALTH, /* of its worst GPU: batchjob_gpu_health */
    BJ_NODE_UP,     /* 1: its exporter answers, 0: it does not */
    BJ_NODE_UPTIME, /* seconds */
    BJ_NODE_VALUES
};

enum bj_node_service {
    BJ_NODE_UNKNOWN,
    BJ_NODE_FULL,
    BJ_NODE_PARTLY,
    BJ_NODE_FREE,
    BJ_NODE_OUT /* down, drained, failing, or not responding */
};

struct bj_node {
    struct bj_slice name;
    struct bj_slice state;          /* "idle+drain"; {NULL, 0}: not known */
    struct bj_slice reason;         /* of that state; {NULL, 0}: not known */
    unsigned state_age, reason_age; /* points since they were reported */
    double value[BJ_NODE_VALUES];   /* NaN: not known */
    /* Jobs of the last week that the user may see, from the store. */
    int64_t jobs, failed; /* failed: by themselves or by the node */
    int64_t node_failed;
    int64_t users_failed; /* users of failed jobs */
    /* Jobs on at least three nodes whose records are there, and those that
     * were slow here; the lowest speed against the median of their nodes. */
    int64_t compared, slow, users_slow;
    double speed; /* percent */
};

/* A reason that the scheduler had for the state of a node, such as a drain, in
 * the last 30 days. */
struct bj_node_reason {
    struct bj_slice node, by, text; /* by: who set it; empty: not known */
    int64_t from, to;               /* seen first and last, to ten minutes */
};

/* The nodes, in the order of their names. */
struct bj_nodes {
    struct bj_arena names;
    struct bj_node *v;
    size_t n, room;
    struct bj_node_reason *reason;
    size_t reasons, reason_room;
    struct bj_buf jobs; /* HTML of a page between its two parts */
    unsigned show;      /* which of them a page shows */
};
void bj_nodes_free(void *nodes); /* also the struct */

/* Read the last week from the store; node: only this one, {NULL, 0}: all.  0 or
 * an error. */
int bj_nodes_week(struct bj_call *c, const struct bj_params *p,
                  struct bj_slice node, struct bj_nodes *ret);

/* Add the queries of the values to a grid, whose labels it sets, for admins
 * also of the reasons of states; take their newest values.  -ENOMEM. */
void bj_nodes_query(struct bj_grid *g, bool is_admin);
void bj_nodes_query_history(struct bj_grid *g); /* for admins */
bool bj_nodes_is_state(const struct bj_grid_row *row);
bool bj_nodes_is_reason(const struct bj_grid_row *row);
int bj_nodes_take(struct bj_nodes *n, const struct bj_grid *g);

/* The host of a scraped address. */
struct bj_slice bj_node_host_of(struct bj_slice instance);

enum bj_node_service bj_node_service_of(const struct bj_node *n);
const char *bj_node_service_title(enum bj_node_service service);

/* Append the name as a link to the page of the node. */
void bj_node_put_link(struct bj_buf *b, struct bj_slice name,
                      const char *to_root);

/* Why a node is bad; look is BJ_LOOK_NONE if it is not.  Append how it shows.
 */
struct bj_node_trouble {
    enum bj_look look;
    const char *what; /* "Slow" */
    unsigned rank;    /* the most serious is 0 */
};
struct bj_node_trouble bj_node_trouble_of(const struct bj_nodes *all,
                                          const struct bj_node *n);
void bj_node_put_trouble(struct bj_buf *b, const struct bj_node *n,
                         const struct bj_node_trouble *t);

/* Append ": replace PSU", the reason of the state, if it is known. */
void bj_node_put_reason(struct bj_buf *b, const struct bj_node *n);

/* Append a card with the worst nodes of the week, the most serious first. */
void bj_nodes_put_worst(struct bj_buf *b, const struct bj_nodes *n,
                        size_t most);

/* Append a card with the nodes that are out of service or whose exporter does
 * not answer, with state and reason; it needs no jobs. */
void bj_nodes_put_out(struct bj_buf *b, const struct bj_grid *g,
                      const struct bj_nodes *n, size_t most);

/* Append a card with the reasons of the last 30 days, those that there are
 * still and the newest first; node: without a column of nodes.  Nothing without
 * reasons. */
void bj_nodes_put_history(struct bj_buf *b, const struct bj_nodes *n,
                          int64_t now_sec, const struct bj_node *node);

/* Append "48 of 64"; nothing known is a dash. */
void bj_node_put_of(struct bj_buf *b, double part, double all);

/* What its worst GPU is fit for, in words; NULL: not known. */
const char *bj_node_gpu_health(const struct bj_node *n);

#endif
