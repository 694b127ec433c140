#include "statsdb/source/source_jobcomp.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/guard.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "sched/jobcomp.h"
#include "sched/sbatch.h"
#include "statsdb/source/source_sacct.h"
#include "store/db.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    SECOND = 1000000,
    CONNECTIONS = 32, /* slurmctld has one; some may wait for their end */
    /* A script has up to 4 MiB, twice as much if each byte is escaped. */
    BODY_BYTES = 16 << 20,
    BODIES_BYTES = 64 << 20,
    SOCKETS_BYTES = 16 << 20, /* of /proc/net/tcp */
    BAD_LOGGED = 5,           /* fields of one record */
};

static const char jobcomp_option[] = "jobcomp.config.file";

/* A request that waits. */
struct jobcomp_post {
    struct jobcomp_post *next;
    const struct bj_http_request *req;
    struct bj_http_reply reply;
    /* The job, if its record is stored and its script was read. */
    bool has_script;
    uint64_t number, submit_sec;
    char cluster[BJ_SOURCE_CLUSTER];
    struct bj_script_options options;
    struct bj_application_script application;
};

struct bj_source_jobcomp {
    const struct bj_statsdb_conf *conf;
    struct bj_store *store;
    struct bj_upsert *upsert;
    const struct bj_applications *applications;
    void (*wake)(void *ctx);
    void *ctx;
    struct bj_httpd *httpd;
    struct bj_guard guard;
    struct bj_thread thread;
    uid_t uid;      /* of jobcomp.user; 0: there is no such user */
    char *sockets;  /* text of /proc/net/tcp */
    bool stop;      /* atomic */
    uint64_t alien; /* atomic: requests of clients that may not send */
    pthread_mutex_t lock;
    struct jobcomp_post *first, **last;     /* under lock: to store */
    struct jobcomp_post *answered;          /* under lock */
    struct bj_arena arena;                  /* of one record */
    struct bj_source_jobcomp_counts counts; /* without alien */
    bool failing;
    unsigned bad; /* fields of the record */
};

/* --- who may send ---------------------------------------------------------*/

static bool jobcomp_is_loopback(struct bj_slice client)
{
    static const char v6[16] = {[15] = 1};
    return client.n == 4 ? client.p[0] == 127
                         : client.n == sizeof(v6) &&
                               memcmp(client.p, v6, sizeof(v6)) == 0;
}

/* Parse an address without port into its bytes; returns how many, 0: none. */
static size_t jobcomp_address(const char *text, char ret[static 16])
{
    if (inet_pton(AF_INET, text, ret) == 1)
        return 4;
    return inet_pton(AF_INET6, text, ret) == 1 ? 16 : 0;
}

/* The address of a client as the kernel writes it in the tables of its
 * sockets: words of 32 bits in the order of the machine, and the port. */
static void jobcomp_socket_name(const struct sockaddr *a, char *ret, size_t cap)
{
    size_t network;
    const struct bj_slice ip = bj_listen_client(a, &network);
    uint16_t port;
    size_t at = 0;
    memcpy(&port, a->sa_data, sizeof(port)); /* of both families */
    for (size_t i = 0; i + 4 <= ip.n; i += 4) {
        uint32_t word;
        memcpy(&word, ip.p + i, sizeof(word));
        at += (size_t)snprintf(ret + at, cap - at, "%08" PRIX32, word);
    }
    snprintf(ret + at, cap - at, ":%04X", ntohs(port));
}

/* Does a user who may send have the client's socket, on this machine? -ENOENT:
 * it is on another one. The kernel writes root as the user of each socket that
 * was closed, so only open ones count; and sockets of several users may have
 * the same port, to different servers. */
static int jobcomp_is_allowed(struct bj_source_jobcomp *j,
                              const struct bj_http_request *req, bool v6)
{
    enum { LOCAL = 1, REMOTE, STATE, USER = 7, INODE = 9, COLUMNS };
    char client[64], server[64];
    struct bj_slice text, line, word[COLUMNS];
    struct sockaddr_storage own;
    socklen_t len = sizeof(own);
    uint64_t uid;
    if (getsockname(req->fd, (struct sockaddr *)&own, &len) < 0)
        return 0;
    jobcomp_socket_name(req->address, client, sizeof(client));
    jobcomp_socket_name((struct sockaddr *)&own, server, sizeof(server));
    if (bj_file_read_all(AT_FDCWD, v6 ? "/proc/net/tcp6" : "/proc/net/tcp",
                         j->sockets, SOCKETS_BYTES, &text, NULL) < 0)
        return 0;
    while (bj_slice_line(&text, &line)) {
        int n = 0;
        while (n < COLUMNS && bj_slice_word(&line, &word[n]))
            n++;
        if (n == COLUMNS && bj_slice_eq(word[LOCAL], bj_slice_str(client)) &&
            bj_slice_eq(word[REMOTE], bj_slice_str(server)))
            return bj_slice_eq(word[STATE], BJ_SLICE("01")) && /* established */
                   !bj_slice_eq(word[INODE], BJ_SLICE("0")) &&
                   bj_slice_u64(word[USER], &uid) == 0 &&
                   (uid == 0 || uid == j->uid);
    }
    return -ENOENT;
}

static bool jobcomp_is_listed(const struct bj_strv *from,
                              struct bj_slice client)
{
    char ip[16];
    for (size_t i = 0; i < from->n; i++)
        if (client.n > 0 && jobcomp_address(from->v[i], ip) == client.n &&
            memcmp(ip, client.p, client.n) == 0)
            return true;
    return false;
}

static bool jobcomp_may_send(struct bj_source_jobcomp *j,
                             const struct bj_http_request *req)
{
    size_t network;
    const struct bj_slice client = bj_listen_client(req->address, &network);
    const bool loopback = jobcomp_is_loopback(client);
    int r = 1;
    if (!loopback && !jobcomp_is_listed(&j->conf->jobcomp.from, client))
        return false;
    /* Twice: it may be closed between the reads of its state and its user. */
    for (int i = 0; i < 2 && r == 1; i++)
        r = jobcomp_is_allowed(j, req, client.n == 16);
    return r == 1 || (r == -ENOENT && !loopback);
}

/* Called before the body is read. */
static unsigned jobcomp_admit(void *ctx, const struct bj_http_request *req)
{
    struct bj_source_jobcomp *j = ctx;
    if (jobcomp_may_send(j, req))
        return 0;
    if (__atomic_fetch_add(&j->alien, 1, __ATOMIC_RELAXED) == 0)
        bj_log(BJ_LOG_WARN, NULL,
               "jobcomp: a client may not send records of jobs: jobcomp.from "
               "does not list its address, or a program of this machine runs "
               "neither as root nor as jobcomp.user; later ones are only "
               "counted");
    return 403;
}

static bool jobcomp_guard(void *ctx, const struct bj_http_request *req,
                          struct bj_http_reply *ret)
{
    struct bj_source_jobcomp *j = ctx;
    return bj_guard_check(&j->guard, req, ret);
}

/* --- connections ----------------------------------------------------------*/

static void jobcomp_receive(void *ctx, const struct bj_http_request *req,
                            struct bj_http_reply *ret)
{
    struct bj_source_jobcomp *j = ctx;
    struct jobcomp_post *p = calloc(1, sizeof(*p));
    if (!p) {
        ret->status = 503;
        return;
    }
    p->req = req;
    p->reply = *ret;
    ret->later = true;
    pthread_mutex_lock(&j->lock);
    *j->last = p;
    j->last = &p->next;
    pthread_mutex_unlock(&j->lock);
    j->wake(j->ctx);
}

/* Any path below: JobCompLoc ends with the name of an index, and /_doc. */
static const struct bj_http_route jobcomp_routes[] = {
    {"/jobcomp", BJ_HTTP_POST, false, jobcomp_receive},
    {"/jobcomp/*", BJ_HTTP_POST, false, jobcomp_receive},
    {.path = NULL},
};

static void jobcomp_finish(struct bj_source_jobcomp *j)
{
    pthread_mutex_lock(&j->lock);
    struct jobcomp_post *next, *p = j->answered;
    j->answered = NULL;
    pthread_mutex_unlock(&j->lock);
    for (; p; p = next) {
        next = p->next;
        bj_httpd_finish(j->httpd, p->req, &p->reply);
        free(p);
    }
}

static void *jobcomp_serve(void *ctx)
{
    struct bj_source_jobcomp *j = ctx;
    eventfd_t wakes;
    nfds_t n;
    while (!__atomic_load_n(&j->stop, __ATOMIC_ACQUIRE)) {
        struct pollfd fds[1 + BJ_HTTPD_FDS] = {
            {.fd = j->thread.wake_fd, .events = POLLIN}};
        bj_httpd_wait(j->httpd, fds, 1, -1, &n);
        const uint64_t now = bj_clock_boot_usec();
        bj_guard_follow(&j->guard, j->httpd, false, now);
        if (fds[0].revents && eventfd_read(fds[0].fd, &wakes) == 0)
            jobcomp_finish(j);
        bj_httpd_run(j->httpd, fds + 1, n, now);
    }
    return NULL;
}

/* --- records --------------------------------------------------------------*/

static void jobcomp_answer(struct jobcomp_post *p, unsigned status,
                           const char *result, const char *why)
{
    struct bj_json_out o = {.to = &p->reply.body};
    p->reply.status = status;
    p->reply.type = "application/json";
    p->reply.body.len = 0;
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "result", bj_slice_str(result));
    if (why)
        bj_json_put_str(&o, "error", bj_slice_str(why));
    bj_json_put_end(&o);
    bj_json_out_end(&o);
}

static void jobcomp_bad(void *ctx, const struct bj_sacct_bad *bad)
{
    struct bj_source_jobcomp *j = ctx;
    char job[32], field[32], value[96];
    if (++j->bad > BAD_LOGGED)
        return;
    bj_text_clean(bad->job, job, sizeof(job));
    bj_text_clean(bad->field, field, sizeof(field));
    bj_text_clean(bad->value, value, sizeof(value));
    bj_log(BJ_LOG_WARN, NULL,
           "jobcomp: job %s: %s '%s' is not %s; field skipped", job, field,
           value, bad->expected);
}

/* The configuration of a cluster: the only one may have another name in it than
 * in Slurm. NULL: unknown. */
static const struct bj_cluster_conf *
jobcomp_conf(const struct bj_source_jobcomp *j, struct bj_slice name)
{
    const struct bj_cluster_conf *c = j->conf->cluster;
    for (size_t i = 0; i < j->conf->clusters; i++)
        if (bj_slice_eq(name, bj_slice_str(c[i].name)))
            return &c[i];
    return j->conf->clusters == 1 ? c : NULL;
}

/* Is it the name of a cluster of the configuration, or of one that has jobs? */
static int jobcomp_has_cluster(const struct bj_source_jobcomp *j,
                               struct bj_slice name, struct bj_err *err)
{
    struct bj_st *st;
    const struct bj_cluster_conf *c = jobcomp_conf(j, name);
    if (c && bj_slice_eq(name, bj_slice_str(c->name)))
        return 1;
    int r = bj_db_prepare(bj_store_db(j->store),
                          "SELECT 1 FROM cluster WHERE name = :name", &st, err);
    if (r < 0)
        return r;
    bj_st_set_text(st, "name", name);
    r = bj_st_row(st, err);
    bj_st_finalize(st);
    return r;
}

/* Read the script, as sacct.batch-scripts says: it is not stored. */
static void jobcomp_read_script(const struct bj_source_jobcomp *j,
                                struct jobcomp_post *p,
                                const struct bj_sched_job *job,
                                struct bj_slice script)
{
    const struct bj_cluster_conf *c = jobcomp_conf(j, job->cluster);
    struct bj_slice line;
    if (!c || !c->scripts || script.n == 0 || job->start_sec == BJ_ABSENT ||
        job->het_job != BJ_ABSENT || job->cluster.n >= sizeof(p->cluster))
        return;
    for (unsigned n = 1; bj_slice_line(&script, &line); n++) {
        const bool cut = line.n > BJ_SCRIPT_LINE;
        line.n = cut ? BJ_SCRIPT_LINE : line.n;
        bj_script_options_line(&p->options, n, line, cut);
        if (j->applications)
            bj_application_script_line(j->applications, line, &p->application);
    }
    memcpy(p->cluster, job->cluster.p, job->cluster.n);
    p->number = job->id_number;
    p->submit_sec = job->submit_sec;
    p->has_script = true;
}

/* Write what the scripts say, after the jobs. */
static int jobcomp_write_scripts(struct bj_source_jobcomp *j,
                                 const struct jobcomp_post *first,
                                 struct bj_err *err)
{
    static const char sql[] =
        "UPDATE job_more SET script_options = :options, script_application ="
        " :application WHERE script_options IS NULL AND job = (SELECT j.id FROM"
        " job AS j JOIN cluster AS c ON c.id = j.cluster WHERE c.name = "
        ":cluster"
        " AND j.jobid = :number AND j.submit = :submit)";
    struct bj_st *st;
    int r = bj_upsert_flush(j->upsert, err);
    if (r == 0)
        r = bj_db_prepare(bj_store_db(j->store), sql, &st, err);
    if (r < 0)
        return r;
    for (const struct jobcomp_post *p = first; r == 0 && p; p = p->next) {
        if (!p->has_script)
            continue;
        const char *name = bj_application_script_name(&p->application);
        struct bj_script_options options = p->options;
        bj_st_clear(st);
        bj_st_set_text(st, "options", bj_script_options_text(&options));
        if (name)
            bj_st_set_text(st, "application", bj_slice_str(name));
        bj_st_set_text(st, "cluster", bj_slice_str(p->cluster));
        bj_st_set_i64(st, "number", (int64_t)p->number);
        bj_st_set_i64(st, "submit", (int64_t)p->submit_sec);
        r = bj_st_run(st, err);
    }
    bj_st_finalize(st);
    return r;
}

/* Store the record of a post in the open transaction. */
static int jobcomp_store(struct bj_source_jobcomp *j, struct jobcomp_post *p,
                         struct bj_err *err)
{
    const bool alone = j->conf->clusters == 1;
    const struct bj_slice cluster = alone
                                        ? bj_slice_str(j->conf->cluster[0].name)
                                        : (struct bj_slice){NULL, 0};
    struct bj_sched_job job;
    struct bj_slice script;
    struct bj_err why = {0};
    bj_arena_reset(&j->arena);
    j->bad = 0;
    int r = bj_jobcomp_read(&j->arena, p->req->body, cluster, jobcomp_bad, j,
                            &job, &script, &why);
    if (r == -ENOMEM)
        return bj_err_copy(err, r, &why);
    if (r < 0) {
        /* It would be as unreadable the next time: slurmctld forgets it. */
        bj_log(BJ_LOG_WARN, &why, "a record of a job is left out");
        j->counts.malformed++;
        jobcomp_answer(p, 200, "noop", why.msg);
        return 0;
    }
    if (r == BJ_JOBCOMP_SIZE) {
        jobcomp_answer(p, 200, "noop", NULL);
        return 0;
    }
    r = jobcomp_has_cluster(j, job.cluster, err);
    if (r < 0)
        return r;
    if (r == 0) {
        char name[64];
        bj_text_clean(job.cluster, name, sizeof(name));
        bj_err_set(
            &why, -ENOENT,
            "cluster '%s' is not configured and has no jobs in the store",
            name);
        if (j->counts.denied++ == 0)
            bj_log(BJ_LOG_WARN, &why, "jobcomp");
        jobcomp_answer(p, 404, "not_found", why.msg);
        return 0;
    }
    jobcomp_answer(p, 201, "created", NULL);
    jobcomp_read_script(j, p, &job, script);
    return bj_upsert_job(j->upsert, job.cluster, &job, err);
}

static void jobcomp_return(struct bj_source_jobcomp *j,
                           struct jobcomp_post *first)
{
    struct jobcomp_post *next;
    pthread_mutex_lock(&j->lock);
    for (struct jobcomp_post *p = first; p; p = next) {
        next = p->next;
        j->counts.stored += p->reply.status == 201;
        p->next = j->answered;
        j->answered = p;
    }
    pthread_mutex_unlock(&j->lock);
    bj_thread_wake(&j->thread);
}

int bj_source_jobcomp_run(struct bj_source_jobcomp *j, struct bj_err *err)
{
    pthread_mutex_lock(&j->lock);
    struct jobcomp_post *first = j->first;
    j->first = NULL;
    j->last = &j->first;
    pthread_mutex_unlock(&j->lock);
    if (!first)
        return 0;
    int r = bj_upsert_begin(j->upsert, err);
    for (struct jobcomp_post *p = first; r == 0 && p; p = p->next)
        r = jobcomp_store(j, p, err);
    if (r == 0)
        r = jobcomp_write_scripts(j, first, err);
    if (r == 0)
        r = bj_upsert_commit(j->upsert, err);
    if (r < 0) {
        bj_upsert_rollback(j->upsert);
        j->counts.failures++;
        if (!j->failing)
            bj_log(BJ_LOG_ERROR, err, "jobcomp: records cannot be stored");
        for (struct jobcomp_post *p = first; p; p = p->next)
            jobcomp_answer(p, 503, "error", "The record could not be stored.");
    }
    j->failing = r < 0;
    jobcomp_return(j, first);
    return r;
}

/* --- start and end --------------------------------------------------------*/

static int jobcomp_check_from(const struct bj_jobcomp_conf *c,
                              struct bj_err *err)
{
    char ip[16];
    for (size_t i = 0; i < c->from.n; i++)
        if (jobcomp_address(c->from.v[i], ip) == 0)
            return bj_err_set(err, -EINVAL,
                              "jobcomp.from: '%s': expected an address of IPv4 "
                              "or IPv6, without a port",
                              c->from.v[i]);
    return 0;
}

int bj_source_jobcomp_check(const struct bj_jobcomp_conf *c, struct bj_err *err)
{
    struct bj_web *web = NULL;
    int r = jobcomp_check_from(c, err);
    if (r == 0 && c->listen.n > 0)
        r = bj_web_new(jobcomp_option, c->web_file, &web, err);
    bj_web_unref(web);
    return r;
}

static int jobcomp_open(struct bj_source_jobcomp *j, struct bj_err *err)
{
    const struct bj_jobcomp_conf *c = &j->conf->jobcomp;
    const struct bj_http_limits limits = {.connections = CONNECTIONS,
                                          .responses = CONNECTIONS - 1,
                                          .request_usec = 20 * SECOND,
                                          .idle_usec = 15 * SECOND,
                                          .work_usec = 600ull * SECOND,
                                          .body_bytes = BODY_BYTES,
                                          .bodies_bytes = BODIES_BYTES,
                                          .later = true};
    int r = bj_httpd_new(jobcomp_routes, j, &limits, &j->httpd, err);
    if (r < 0)
        return r;
    bj_httpd_guard(j->httpd, jobcomp_guard);
    bj_httpd_admit(j->httpd, jobcomp_admit);
    r = bj_guard_init(&j->guard, jobcomp_option, c->web_file, j->httpd, err);
    if (r < 0)
        return r;
    return bj_httpd_listen_all(j->httpd, "jobcomp.listen-address", &c->listen,
                               "receiving records of slurmctld on",
                               j->guard.web->tls ? "" : ", without TLS", err);
}

int bj_source_jobcomp_new(const struct bj_statsdb_conf *conf,
                          struct bj_store *store, struct bj_upsert *upsert,
                          const struct bj_applications *applications,
                          void (*wake)(void *ctx), void *ctx,
                          struct bj_source_jobcomp **ret, struct bj_err *err)
{
    struct bj_source_jobcomp *j = calloc(1, sizeof(*j));
    if (!j || !(j->sockets = malloc(SOCKETS_BYTES))) {
        free(j);
        return bj_err_set(err, -ENOMEM, "jobcomp");
    }
    const struct passwd *user = getpwnam(conf->jobcomp.user);
    j->conf = conf;
    j->store = store;
    j->upsert = upsert;
    j->applications = applications;
    j->wake = wake;
    j->ctx = ctx;
    j->uid = user ? user->pw_uid : 0;
    j->last = &j->first;
    pthread_mutex_init(&j->lock, NULL);
    int r = jobcomp_check_from(&conf->jobcomp, err);
    if (r == 0)
        r = jobcomp_open(j, err);
    if (r == 0)
        r = bj_thread_start(&j->thread, "jobcomp", jobcomp_serve, j, err);
    if (r < 0) {
        bj_source_jobcomp_free(j);
        return r;
    }
    *ret = j;
    return 0;
}

void bj_source_jobcomp_free(struct bj_source_jobcomp *j)
{
    if (!j)
        return;
    __atomic_store_n(&j->stop, true, __ATOMIC_RELEASE);
    bj_thread_end(&j->thread);
    for (struct jobcomp_post *p = j->first; p; p = p->next)
        jobcomp_answer(p, 503, "error", "The program is being stopped.");
    jobcomp_return(j, j->first);
    if (j->httpd) {
        jobcomp_finish(j);
        bj_httpd_run(j->httpd, NULL, 0, bj_clock_boot_usec());
    }
    bj_httpd_free(j->httpd);
    bj_guard_free(&j->guard);
    bj_thread_free(&j->thread);
    bj_arena_free(&j->arena);
    pthread_mutex_destroy(&j->lock);
    free(j->sockets);
    free(j);
}

struct bj_source_jobcomp_counts
bj_source_jobcomp_counts(const struct bj_source_jobcomp *j)
{
    struct bj_source_jobcomp_counts n = j->counts;
    n.denied += __atomic_load_n(&j->alien, __ATOMIC_RELAXED);
    return n;
}
