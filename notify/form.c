/* What messages look like. */
#include "base/json.h"
#include "base/stamp.h"
#include "notify/notify_impl.h"

#include <stdio.h>
#include <string.h>

static void form_put_json(struct bj_json_out *o, struct bj_buf *out)
{
    out->failed = out->failed || bj_json_out_end(o) < 0;
}

static struct bj_slice form_slice(const struct bj_buf *b)
{
    return (struct bj_slice){b->p, b->len};
}

/* --- CloudEvents 1.0 -------------------------------------------------------
 * One event in structured JSON; the keys of data are those of
 * /api/v1/findings. */

static void put_event_data(struct bj_json_out *o,
                           const struct bj_form_input *in)
{
    const struct bj_alert *v = in->v;
    struct bj_buf text = {0};
    bj_json_put_object(o, "data");
    for (int i = BJ_AF_CLUSTER; i < BJ_AF_PAGE; i++)
        if (v->field[i].n > 0 &&
            (in->conf->users || !bj_alert_fields[i].personal))
            bj_json_put_str(
                o, i == BJ_AF_RULE ? "finding" : bj_alert_fields[i].name,
                v->field[i]);
    bj_alert_summary(v, &text);
    bj_json_put_str(o, "summary", form_slice(&text));
    bj_buf_reset(&text);
    if (bj_alert_page(v, in->pages, &text))
        bj_json_put_str(o, "page", form_slice(&text));
    bj_json_put_i64(o, "since", v->since_sec);
    if (v->ended_sec > 0)
        bj_json_put_i64(o, "end", v->ended_sec);
    bj_json_put_end(o);
    o->to->failed = o->to->failed || text.failed;
    bj_buf_free(&text);
}

static void put_cloud_event(const struct bj_form_input *in, struct bj_buf *out)
{
    const struct bj_alert *v = in->v;
    const enum bj_alert_field subject =
        v->kind == BJ_ALERT_FINDING  ? BJ_AF_JOBID
        : v->kind == BJ_ALERT_IMPORT ? BJ_AF_CLUSTER
                                     : BJ_AF_NODE;
    const bool ended = v->ended_sec > 0;
    char text[200], stamp[BJ_STAMP_MAX];
    struct bj_json_out o = {.to = out};
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "specversion", BJ_SLICE("1.0"));
    bj_json_put_str(&o, "id", bj_slice_str(in->id));
    snprintf(text, sizeof(text), "/batchjob/%.*s",
             (int)v->field[BJ_AF_CLUSTER].n, v->field[BJ_AF_CLUSTER].p);
    bj_json_put_str(&o, "source", bj_slice_str(text));
    snprintf(text, sizeof(text), "org.batchjob.%s.%s", bj_alert_kinds[v->kind],
             ended ? "ended" : "started");
    bj_json_put_str(&o, "type", bj_slice_str(text));
    bj_json_put_str(&o, "subject", v->field[subject]);
    bj_stamp_text((ended ? v->ended_sec : v->since_sec) * 1000000, 0, 0, stamp);
    bj_json_put_str(&o, "time", bj_slice_str(stamp));
    bj_json_put_str(&o, "datacontenttype", BJ_SLICE("application/json"));
    put_event_data(&o, in);
    bj_json_put_end(&o);
    form_put_json(&o, out);
}

/* --- the kinds -------------------------------------------------------------
 */

static const struct bj_form forms[] = {
    {.kind = "webhook",
     .type = "application/cloudevents+json",
     .put = put_cloud_event},
};

const struct bj_form *bj_form_of(const char *kind)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (strcmp(forms[i].kind, kind) == 0)
            return &forms[i];
    return NULL;
}
