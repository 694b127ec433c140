/* Shared by the files of notify only. */
#ifndef BJ_NOTIFY_NOTIFY_IMPL_H
#define BJ_NOTIFY_NOTIFY_IMPL_H

#include "base/arena.h"
#include "base/fetch.h"
#include "notify/notify.h"
#include "statsdb/prom/prom.h"

/* --- alert.c: alerts, and their table ------------------------------------- */

enum bj_alert_kind {
    BJ_ALERT_FINDING,
    BJ_ALERT_NODE,
    BJ_ALERT_GPU,
    BJ_ALERT_IMPORT,
    BJ_ALERT_KINDS
};
extern const char *const bj_alert_kinds[BJ_ALERT_KINDS];

/* The texts of an alert; the first are its labels. */
enum bj_alert_field {
    BJ_AF_ALERT, /* "BatchjobFinding" */
    BJ_AF_CLUSTER,
    BJ_AF_SEVERITY,
    BJ_AF_RULE,
    BJ_AF_JOBID, /* of an array that of the array */
    BJ_AF_NODE,
    BJ_AF_GPU,
    BJ_AF_PARTITION,
    BJ_AF_ACCOUNT,
    BJ_AF_USER,
    BJ_AF_LABELS,
    BJ_AF_TEXT = BJ_AF_LABELS, /* one sentence */
    BJ_AF_ADVICE,
    BJ_AF_RUNBOOK, /* URL of the site, from the rule */
    BJ_AF_TASKS,   /* of an array, if there are several */
    BJ_AF_JOBNAME,
    BJ_AF_PAGE, /* below notify.url */
    BJ_ALERT_FIELDS
};

/* Names of the fields in JSON; personal: only for targets with users. */
struct bj_alert_field_info {
    const char *name;
    bool personal;
};
extern const struct bj_alert_field_info bj_alert_fields[BJ_ALERT_FIELDS];

struct bj_alert {
    enum bj_alert_kind kind;
    bool good;                    /* all is well: not an alert, but its end */
    int64_t since_sec, ended_sec; /* ended_sec 0: it lasts */
    struct bj_slice field[BJ_ALERT_FIELDS]; /* in the arena, clean */
};

/* Zero-initialise. */
struct bj_alerts {
    struct bj_arena arena;
    struct bj_alert *v;
    size_t n, room;
};
void bj_alerts_free(struct bj_alerts *a);

/* Add an alert, whose fields are then set by bj_alert_set.  NULL: no memory. */
struct bj_alert *bj_alerts_add(struct bj_alerts *a, enum bj_alert_kind kind,
                               const char *name, int64_t since_sec);
void bj_alert_set(struct bj_alerts *a, struct bj_alert *v,
                  enum bj_alert_field field, struct bj_slice text);

/* Append "Job 4711, 12 tasks: ...", "Node n1, GPU 0: ...", "Cluster alpha:
 * ...". */
void bj_alert_summary(const struct bj_alert *v, struct bj_buf *b);

/* Append the URL of the page of the job or node below pages (NULL or "": there
 * are none); false: nothing was appended. */
bool bj_alert_page(const struct bj_alert *v, const char *pages,
                   struct bj_buf *b);

/* Add the alert of a row with kind, since, ended and fields. */
struct bj_st;
int bj_alert_of_row(struct bj_st *st, struct bj_alerts *a, struct bj_err *err);

/* The data about a cluster that is complete. */
struct bj_notify_known {
    const char *cluster;
    bool findings; /* all findings are known */
    bool nodes;    /* the states of all nodes are known */
};

/* Write what was found in one transaction: new alerts begin, others last, and
 * those whose end is known end. */
int bj_alerts_write(struct bj_store *s, struct bj_alerts *found,
                    const struct bj_notify_known *known, size_t clusters,
                    int64_t now_sec, struct bj_err *err);

/* Read all that last, and those that ended up to BJ_ALERT_KEPT_SEC ago. */
enum { BJ_ALERT_KEPT_SEC = 15 * 60 };
int bj_alerts_read(struct bj_store *s, int64_t now_sec, struct bj_alerts *ret,
                   struct bj_err *err);

/* --- find.c: what is wrong now -------------------------------------------- */

struct bj_notify_cluster {
    const struct bj_cluster_conf *conf;
    struct bj_prom *prom; /* NULL: it has no Prometheus server */
    struct bj_buf match;  /* labels of the cluster, each with a comma */
    bool failed;          /* its server did not answer; logged */
};

/* Append what is wrong, and set what is known.  start_sec: when the program
 * started, which may not have imported yet; 0: it has tried. */
int bj_notify_find(struct bj_store *s, const struct bj_statsdb_conf *conf,
                   struct bj_notify_cluster *cluster, int64_t start_sec,
                   int64_t now_sec, struct bj_alerts *ret,
                   struct bj_notify_known *known, struct bj_err *err);

/* --- target.c: requests to targets ---------------------------------------- */

struct bj_target {
    const struct bj_target_conf *conf;
    bool wants[BJ_ALERT_KINDS];
    unsigned severity;
    bool failed; /* the last request; logged */
    uint64_t requests, errors;
    const struct bj_form *form; /* NULL: Alertmanager */
    uint64_t waiting;           /* events and messages */
    uint64_t lost;              /* messages that were refused or too old */
};

/* Does the target get this alert? */
bool bj_target_wants(const struct bj_target *t, const struct bj_alert *v);

void bj_target_init(struct bj_target *t, const struct bj_target_conf *conf);

/* Check the files of a target. */
int bj_target_check(const struct bj_target_conf *c, struct bj_err *err);

/* A URL for people: of a secret one host and last 4 characters. */
enum { BJ_TARGET_SHOWN = BJ_FETCH_SHOWN };
const char *bj_target_show(const char *url, bool secret,
                           char buf[static BJ_TARGET_SHOWN]);

/* The one URL of a target, a secret if it has url-file: 0, or an error whose
 * message does not have it. */
enum { BJ_TARGET_URL_MAX = 2048 };
int bj_target_url(const struct bj_target_conf *c, char *ret, size_t cap,
                  struct bj_err *err);

/* A request to a target. */
struct bj_target_post {
    const struct bj_target_conf *conf;
    const char *id;     /* of the message; NULL: none */
    const char *method; /* "POST" */
    const char *url;    /* with the path */
    const char *type;   /* Content-Type */
    struct bj_slice body;
    const atomic_bool *stop;
};

/* Post; 0, or an error whose message has no secrets. */
int bj_target_send(struct bj_fetch *f, const struct bj_target_post *p,
                   struct bj_fetch_reply *reply, struct bj_err *err);

/* Post a body to all URLs of an Alertmanager; the last error. */
int bj_alertmanager_send(struct bj_target *t, struct bj_fetch *f,
                         struct bj_slice body, const atomic_bool *stop,
                         struct bj_err *err);

/* Post the alerts that a target wants to all of its URLs; errors are logged
 * once. */
void bj_alertmanager_post(struct bj_target *t, struct bj_fetch *f,
                          const struct bj_notify_conf *conf, const char *pages,
                          const struct bj_alerts *alerts, int64_t now_sec,
                          const atomic_bool *stop);

/* --- form.c: what messages look like -------------------------------------- */

/* What a message is made of. */
struct bj_form_input {
    const struct bj_target_conf *conf;
    const char *id, *pages;
    const struct bj_alert *v; /* those that have ended have an end */
    size_t n;
};

/* A kind of target that gets messages. */
struct bj_form {
    const char *kind, *type; /* Content-Type */
    const char *method;
    bool digest; /* a message may have several events */
    /* Append the path of a request below the URL of the target; NULL: none. */
    void (*put_path)(const struct bj_form_input *in, struct bj_buf *out);
    void (*put)(const struct bj_form_input *in, struct bj_buf *out);
};

/* NULL: not a kind that gets messages. */
const struct bj_form *bj_form_of(const char *kind);

/* --- queue.c: messages that wait, at least once --------------------------- */

struct bj_queue {
    struct bj_store *store;
    struct bj_fetch *fetch;
    const char *pages;
    const atomic_bool *stop;
    int64_t now_sec;
};

/* Alerts that began or ended since the last call become events of the targets
 * that want them. */
int bj_queue_fill(const struct bj_queue *q, struct bj_target *target, size_t n,
                  struct bj_err *err);

/* Make and send the messages of a target that are due.  An error of the store;
 * those of the target are logged once. */
int bj_queue_send(const struct bj_queue *q, struct bj_target *t,
                  struct bj_err *err);

/* Forget messages that were sent or refused a week ago. */
int bj_queue_forget(const struct bj_queue *q, struct bj_err *err);

#endif
