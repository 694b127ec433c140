/* The simulated NVML: events, MIG instances and GPM. */
#include "tests/gpu/fake_nvml.h"

/* --- events ---------------------------------------------------------------*/

/* The Xid line of that number; NULL: there are fewer. */
static char (*xid_line(size_t want))[WORD]
{
    size_t n = 0;
    for (size_t k = 0; k < script.n; k++)
        if (strcmp(script.line[k][0], "xid") == 0 && n++ == want)
            return script.line[k];
    return NULL;
}

CALL(nvmlDeviceGetSupportedEventTypes, DEV d, unsigned long long *ret)
{
    return return_u64(d, "nvmlDeviceGetSupportedEventTypes", "events", ret);
}

CALL(nvmlEventSetCreate, struct bj_nvml_events **ret)
{
    int code = begin_call(NULL, "nvmlEventSetCreate");
    *ret = calloc(1, sizeof(**ret));
    while (*ret && xid_line((*ret)->next_xid))
        (*ret)->next_xid++;
    return end_call(code);
}

CALL(nvmlDeviceRegisterEvents, DEV d, unsigned long long types,
     struct bj_nvml_events *set)
{
    int code = begin_call(d, "nvmlDeviceRegisterEvents");
    if (types & BJ_NVML_XID)
        set->gpus |= 1u << d->gpu;
    return end_call(code);
}

CALL(nvmlEventSetWait_v2, struct bj_nvml_events *set, struct bj_nvml_event *ret,
     unsigned msec)
{
    char(*line)[WORD];
    int code = begin_call(NULL, "nvmlEventSetWait_v2");
    if (msec > 0 && !code)
        code = BJ_NVML_UNKNOWN; /* it would block */
    while (!code && (line = xid_line(set->next_xid))) {
        set->next_xid++;
        if (parse_int(line[1]) >= GPUS ||
            !(set->gpus >> parse_int(line[1]) & 1))
            continue;
        *ret = (struct bj_nvml_event){&handles[parse_int(line[1])][0],
                                      BJ_NVML_XID, strtoull(line[2], NULL, 0),
                                      UINT32_MAX, UINT32_MAX};
        return end_call(0);
    }
    return end_call(code ? code : BJ_NVML_TIMEOUT);
}

CALL(nvmlEventSetFree, struct bj_nvml_events *set)
{
    free(set);
    return 0;
}

/* --- MIG ------------------------------------------------------------------*/

CALL(nvmlDeviceGetMigMode, DEV d, unsigned *current, unsigned *pending)
{
    *pending = 0;
    return return_value(d, "nvmlDeviceGetMigMode", "mig_mode", current);
}

CALL(nvmlDeviceGetMaxMigDeviceCount, DEV d, unsigned *ret)
{
    *ret = 7;
    return end_call(begin_call(d, "nvmlDeviceGetMaxMigDeviceCount"));
}

CALL(nvmlDeviceGetMigDeviceHandleByIndex, DEV d, unsigned i, DEV *ret)
{
    int code = begin_call(d, "nvmlDeviceGetMigDeviceHandleByIndex");
    if (!code && i < MIGS) {
        handles[d->gpu][i + 1] = (struct bj_nvml_device){d->gpu, (int)i};
        *ret = &handles[d->gpu][i + 1];
    }
    if (!code && (i >= MIGS || !get_value(*ret, "uuid")))
        code = BJ_NVML_NOT_FOUND;
    return end_call(code);
}

CALL(nvmlDeviceGetGpuInstanceId, DEV d, unsigned *ret)
{
    return return_value(d, "nvmlDeviceGetGpuInstanceId", "gi", ret);
}

CALL(nvmlDeviceGetComputeInstanceId, DEV d, unsigned *ret)
{
    return return_value(d, "nvmlDeviceGetComputeInstanceId", "ci", ret);
}

CALL(nvmlDeviceGetAttributes_v2, DEV d, struct bj_nvml_attributes *ret)
{
    static const char me[] = "nvmlDeviceGetAttributes_v2";
    memset(ret, 0, sizeof(*ret));
    int code = return_value(d, me, "slices", &ret->gpu_slices);
    return code ? code : return_value(d, me, "sms", &ret->sms);
}

/* --- GPM ------------------------------------------------------------------*/

CALL(nvmlGpmQueryDeviceSupport, DEV d, struct bj_nvml_gpm_support *ret)
{
    if (ret->version != 1)
        return 25;
    return return_value(d, "nvmlGpmQueryDeviceSupport", "gpm", &ret->supported);
}

CALL(nvmlGpmSampleAlloc, struct bj_nvml_gpm_sample **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : BJ_NVML_UNKNOWN;
}

CALL(nvmlGpmSampleFree, struct bj_nvml_gpm_sample *s)
{
    free(s);
    return 0;
}

CALL(nvmlGpmMigSampleGet, DEV d, unsigned gi, struct bj_nvml_gpm_sample *s)
{
    int code = begin_call(d, "nvmlGpmMigSampleGet");
    s->dev = d;
    s->gi = (int)gi;
    clock_gettime(CLOCK_MONOTONIC, &s->at);
    return end_call(code);
}

CALL(nvmlGpmSampleGet, DEV d, struct bj_nvml_gpm_sample *s)
{
    int code = begin_call(d, "nvmlGpmSampleGet");
    s->dev = d;
    s->gi = -1;
    clock_gettime(CLOCK_MONOTONIC, &s->at);
    return end_call(code);
}

CALL(nvmlGpmMetricsGet, struct bj_nvml_gpm_get *get_)
{
    const struct bj_nvml_gpm_sample *a = get_->older, *b = get_->newer;
    if (get_->version != 1)
        return 25;
    if (!a->dev || a->dev != b->dev || a->gi != b->gi ||
        a->at.tv_sec > b->at.tv_sec ||
        (a->at.tv_sec == b->at.tv_sec && a->at.tv_nsec >= b->at.tv_nsec))
        return 2;
    int code = begin_call(a->dev, "nvmlGpmMetricsGet");
    for (uint32_t i = 0; !code && i < get_->n; i++) {
        struct bj_nvml_gpm_metric *m = &get_->metric[i];
        m->code = BJ_NVML_NOT_SUPPORTED;
        for (size_t k = 0; k < script.n; k++) {
            char(*l)[WORD] = script.line[k];
            if (!strcmp(l[0], "refuse") && parse_int(l[1]) == a->dev->gpu &&
                (uint32_t)parse_int(l[2]) == m->id)
                code = parse_int(l[3]);
            if (strcmp(l[0], "gpm") != 0 || parse_int(l[1]) != a->dev->gpu ||
                parse_int(l[2]) != a->gi || (uint32_t)parse_int(l[3]) != m->id)
                continue;
            m->value = strtod(l[4], NULL);
            m->code = parse_int(l[5]);
        }
    }
    return end_call(code);
}
