#include "apiserver/frame/admit.h"

#include "apiserver/frame/state.h"
#include "base/clock.h"

#include <stdio.h>

/* The requests of this many seconds may arrive at once. */
enum { BURST_SEC = 10 };

static int refuse_for(struct bj_call *c, uint64_t wait_usec, const char *text)
{
    snprintf(c->retry, sizeof(c->retry), "%llu",
             (unsigned long long)((wait_usec + 999999) / 1000000));
    bj_call_header(c, "Retry-After", c->retry);
    return bj_call_refuse(c, 429, "%s", text);
}

int bj_admit_request(struct bj_call *c)
{
    const struct bj_web_conf *web = &bj_auth_web(c->worker->auth)->conf;
    struct bj_server *s = c->worker->server;
    if (web->rate_usec == 0)
        return 0;
    pthread_mutex_lock(&s->lock);
    uint64_t wait = bj_bucket_take(&s->bucket, web->rate_usec, web->burst,
                                   bj_clock_boot_usec());
    pthread_mutex_unlock(&s->lock);
    return wait == 0
               ? 0
               : refuse_for(c, wait, "There are too many requests; try again.");
}

int bj_admit_user(struct bj_call *c)
{
    const struct bj_api_conf *conf = c->worker->conf;
    if (conf->user_rate == 0)
        return 0;
    uint64_t wait =
        bj_limit_take(c->worker->server->limit, bj_slice_str(c->identity.user),
                      1000000 / conf->user_rate, BURST_SEC * conf->user_rate,
                      bj_clock_boot_usec());
    return wait == 0
               ? 0
               : refuse_for(c, wait, "You send too many requests; try again.");
}

bool bj_admit_query(struct bj_call *c)
{
    struct bj_server *s = c->worker->server;
    struct bj_request *t = bj_request_of(c);
    if (!c->identity.admin || !(c->endpoint->needs & BJ_NEED_STORE))
        return true;
    pthread_mutex_lock(&s->lock);
    if (s->admin_queries < s->admin_queries_max) {
        s->admin_queries++;
        t->counted = true;
    }
    pthread_mutex_unlock(&s->lock);
    return t->counted;
}
