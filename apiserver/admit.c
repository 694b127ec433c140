#include "apiserver/admit.h"

#include "apiserver/server.h"
#include "base/clock.h"

#include <stdio.h>

static int refuse_for(struct bj_call *c, uint64_t wait_usec, const char *text)
{
    struct bj_ticket *t = bj_ticket_of(c);
    snprintf(t->keep, sizeof(t->keep), "%llu",
             (unsigned long long)((wait_usec + 999999) / 1000000));
    bj_call_header(c, "Retry-After", t->keep);
    return bj_call_refuse(c, 429, "%s", text);
}

/* Queries of admins may be about all jobs, which can take long: they get all
 * threads but one.  A request that finds these in use is parked. */
static bool has_turn(struct bj_call *c)
{
    struct bj_server *s = c->api->server;
    struct bj_ticket *t = bj_ticket_of(c);
    if (!c->who.admin || !(c->endpoint->needs & BJ_NEED_STORE) || t->wide)
        return true;
    pthread_mutex_lock(&s->lock);
    if (s->wide_running < s->wide_max) {
        s->wide_running++;
        t->wide = true;
    }
    t->parked = !t->wide;
    pthread_mutex_unlock(&s->lock);
    return t->wide;
}

int bj_call_identify(struct bj_call *c)
{
    const struct bj_api_conf *conf = c->api->conf;
    struct bj_ticket *t = bj_ticket_of(c);
    struct bj_err why = {0};
    uint64_t now = bj_clock_boot_usec(), wait = 0;
    unsigned status =
        bj_gate_identify(c->api->gate, c->req, now, c->now_sec, &c->who, &why);
    if (status == 429)
        bj_call_header(c, "Retry-After", "1");
    if (status)
        return bj_call_refuse(c, status, "%s", why.msg);
    if (conf->user_rate > 0 && !t->admitted)
        wait = bj_limit_take(c->api->server->limit, bj_slice_str(c->who.user),
                             1000000 / conf->user_rate, conf->user_burst, now);
    if (wait > 0)
        return refuse_for(c, wait, "You send too many requests; try again.");
    /* The refusal is thrown away with what else was written. */
    return has_turn(c) ? 0 : bj_call_refuse(c, 503, "It has to wait.");
}

bool bj_admit(struct bj_call *c)
{
    const struct bj_web_conf *web = &bj_gate_web(c->api->gate)->conf;
    struct bj_server *s = c->api->server;
    if (web->rate_usec == 0 || bj_ticket_of(c)->admitted)
        return true;
    pthread_mutex_lock(&s->lock);
    uint64_t wait = bj_bucket_take(&s->bucket, web->rate_usec, web->burst,
                                   bj_clock_boot_usec());
    pthread_mutex_unlock(&s->lock);
    return wait == 0 ||
           refuse_for(c, wait, "There are too many requests; try again.") == 0;
}
