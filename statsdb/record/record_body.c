#include "statsdb/record/record_body.h"

#include "base/json.h"

#include <stdio.h>
#include <strings.h>

enum { MALFORMED = 400, DENIED = 403 };

/* --- access --------------------------------------------------------------- */

static bool equal(struct bj_slice a, struct bj_slice b)
{
    return a.n == b.n && a.n > 0 && strncasecmp(a.p, b.p, a.n) == 0;
}

/* Is name the host, or does it begin with the host and a dot? */
static bool is_of(struct bj_slice name, struct bj_slice host)
{
    if (equal(name, host))
        return true;
    bool is_short = host.n > 0 && !memchr(host.p, '.', host.n);
    return is_short && name.n > host.n && name.p[host.n] == '.' &&
           equal((struct bj_slice){name.p, host.n}, host);
}

bool bj_record_client_may(const struct bj_record_client *c,
                          struct bj_slice host)
{
    struct bj_slice names = c->names, s;
    while (bj_slice_field(&names, '\0', &s)) {
        size_t kind = bj_slice_starts(s, BJ_SLICE("dns:"))  ? 4
                      : bj_slice_starts(s, BJ_SLICE("cn:")) ? 3
                                                            : 0;
        if (kind > 0 && is_of((struct bj_slice){s.p + kind, s.n - kind}, host))
            return true;
    }
    return bj_slice_eq(c->host, BJ_SLICE("*")) || equal(c->host, host);
}

static bool body_is_known(const struct bj_record_clusters *known,
                          struct bj_slice cluster)
{
    for (size_t i = 0; i < known->n; i++)
        if (bj_slice_eq(known->name(known->ctx, i), cluster))
            return true;
    return false;
}

static int check_cluster(struct bj_records *r,
                         const struct bj_record_clusters *known,
                         const char *name, struct bj_slice cluster,
                         struct bj_err *err)
{
    if (cluster.n == 0)
        return known->n == 1
                   ? 0
                   : bj_err_set(err, -EPERM,
                                "%s: cluster: required, as several clusters "
                                "are configured",
                                name);
    int e = body_is_known(known, cluster)
                ? 1
                : bj_records_have_cluster(r, cluster, err);
    if (e != 0)
        return e < 0 ? e : 0;
    return bj_err_set(err, -EPERM,
                      "%s: cluster: '%.64s' is not configured and has no jobs "
                      "in the store",
                      name, cluster.p);
}

static int admit(struct bj_records *r, const struct bj_record_clusters *known,
                 const struct bj_record_client *client, const char *name,
                 const struct bj_json *doc, struct bj_err *err)
{
    struct bj_slice host = bj_json_text(bj_json_get(doc, "host"));
    if (!bj_record_client_may(client, host))
        return bj_err_set(err, -EPERM,
                          "%s: host: the client's certificate or token is not "
                          "that of '%.64s'",
                          name, host.p);
    return check_cluster(r, known, name,
                         bj_json_text(bj_json_get(doc, "cluster")), err);
}

/* --- a body ---------------------------------------------------------------*/

/* Is this an error of the record, not of the store? */
static bool of_record(int e)
{
    return e == -EINVAL || e == -EPERM || e == -EEXIST || e == -EFBIG;
}

static void body_refuse(struct bj_json_out *o, unsigned number, int e,
                        const struct bj_err *why, struct bj_record_verdict *ret)
{
    ret->denied += e == -EPERM;
    ret->malformed += e != -EPERM;
    bj_json_put_object(o, NULL);
    bj_json_put_u64(o, "record", number);
    bj_json_put_u64(o, "status", e == -EPERM ? DENIED : MALFORMED);
    bj_json_put_str(o, "error", bj_slice_str(why->msg));
    bj_json_put_end(o);
}

static int take_record(struct bj_records *r,
                       const struct bj_record_clusters *known,
                       const struct bj_record_client *client, unsigned number,
                       struct bj_slice line, struct bj_err *err)
{
    char name[32];
    const struct bj_json *doc;
    snprintf(name, sizeof(name), "record %u", number);
    int e = bj_record_read(r, name, line, &doc, err);
    if (e == 0)
        e = admit(r, known, client, name, doc, err);
    if (e < 0)
        return e;
    struct bj_slice only =
        known->n > 0 ? known->name(known->ctx, 0) : BJ_SLICE("");
    return bj_record_store(r, only, name, doc, err);
}

static unsigned count_lines(struct bj_slice body)
{
    struct bj_slice line;
    unsigned n = 0;
    while (n <= BJ_RECORD_LINES && bj_slice_line(&body, &line))
        n++;
    return n;
}

int bj_record_body(struct bj_records *r, const struct bj_record_clusters *known,
                   const struct bj_record_client *client, struct bj_slice body,
                   struct bj_record_verdict *ret, struct bj_buf *reply,
                   struct bj_err *err)
{
    struct bj_json_out refused = {.to = reply};
    struct bj_slice line;
    *ret = (struct bj_record_verdict){0};
    if (count_lines(body) > BJ_RECORD_LINES)
        return bj_err_set(err, -E2BIG, "more than %d records", BJ_RECORD_LINES);
    bj_json_put_object(&refused, NULL);
    bj_json_put_array(&refused, "refused");
    for (unsigned number = 1; bj_slice_line(&body, &line); number++) {
        struct bj_err why = {0};
        int e = take_record(r, known, client, number, line, &why);
        if (e < 0 && !of_record(e)) {
            if (err)
                *err = why;
            return e;
        }
        if (e < 0)
            body_refuse(&refused, number, e, &why, ret);
        else
            ret->stored++;
    }
    bj_json_put_end(&refused);
    bj_json_put_u64(&refused, "stored", ret->stored);
    bj_json_put_end(&refused);
    return bj_json_out_end(&refused);
}
