#include "core/gpu/nvml_read.h"

bool bj_nvml_succeeded(struct bj_nvml_visit *v, int code, const char *what)
{
    int r = bj_nvml_errno(code);
    if (r == 0 || r == -ENODATA)
        return r == 0;
    bj_err_set(v->err, r, "GPU %s: %s: %s (%d)", v->dev->uuid, what,
               bj_nvml_text(code), code);
    v->set->faults++;
    v->gpu->failed = true;
    v->gpu->use.last_error = (uint64_t)code;
    if (v->worst != -ENODEV)
        v->worst = r;
    v->lost |= r == -ENXIO || r == -ENODEV;
    return false;
}
