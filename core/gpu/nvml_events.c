/* Xid errors: events of the driver since a device was registered.
 *
 * Source: nvml.h, "Event Handling Methods".  A wait of 0 ms returns pending
 * events. */
#include "core/gpu/nvml_read.h"

#include <string.h>

/* The entry of a device, added if missing; NULL: too many. */
static struct bj_gpu_xid *entry_of(struct bj_gpu_xids *x, const char *uuid)
{
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->v[i].uuid, uuid) == 0)
            return &x->v[i];
    if (x->n == BJ_GPU_XIDS_MAX)
        return NULL;
    struct bj_gpu_xid *e = &x->v[x->n++];
    *e = (struct bj_gpu_xid){.count = 0};
    memcpy(e->uuid, uuid, sizeof(e->uuid));
    return e;
}

static bool listen_to(const struct bj_nvml_reader *r,
                      const struct bj_nvml_dev *dev)
{
    unsigned long long types = 0;
    return dev->handle && *dev->uuid &&
           r->nv.event_types(dev->handle, &types) == BJ_NVML_OK &&
           (types & BJ_NVML_XID) &&
           r->nv.event_register(dev->handle, BJ_NVML_XID, r->events) ==
               BJ_NVML_OK;
}

void bj_nvml_events_open(struct bj_nvml_reader *r, struct bj_gpu_xids *xids)
{
    const struct bj_nvml *nv = &r->nv;
    if (!xids || !nv->event_types || !nv->event_set || !nv->event_register ||
        !nv->event_wait || !nv->event_free ||
        nv->event_set(&r->events) != BJ_NVML_OK)
        return;
    for (unsigned i = 0; i < r->n; i++)
        if (listen_to(r, &r->dev[i]))
            r->dev[i].xid = entry_of(xids, r->dev[i].uuid);
}

void bj_nvml_events_close(struct bj_nvml_reader *r)
{
    if (r->events)
        r->nv.event_free(r->events);
    r->events = NULL;
}

void bj_nvml_events_take(struct bj_nvml_reader *r)
{
    enum { MOST = 256 }; /* the others are read next time */
    struct bj_nvml_event e = {0};
    for (int n = 0; r->events && n < MOST &&
                    r->nv.event_wait(r->events, &e, 0) == BJ_NVML_OK;
         n++)
        for (unsigned i = 0; i < r->n; i++)
            if ((e.type & BJ_NVML_XID) && r->dev[i].xid &&
                r->dev[i].handle == e.device) {
                r->dev[i].xid->count++;
                r->dev[i].xid->last = e.data;
            }
}
