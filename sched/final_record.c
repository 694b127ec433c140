#include "sched/final_record.h"

#include "base/absent.h"
#include "base/json.h"

int bj_final_record_check(const struct bj_json *record, const char *name,
                          struct bj_err *err)
{
    static const char *const wanted[] = {"jobid", "host", "end"};
    if (bj_json_u64_or(bj_json_get(record, "format"), 0) != BJ_FINAL_FORMAT)
        return bj_err_set(err, -EINVAL, "%s: format: expected %d", name,
                          BJ_FINAL_FORMAT);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (bj_json_text(bj_json_get(record, wanted[i])).n == 0)
            return bj_err_set(err, -EINVAL, "%s: %s: required field is missing",
                              name, wanted[i]);
    return bj_json_u64_or(bj_json_get(record, "end"), BJ_ABSENT) == BJ_ABSENT
               ? bj_err_set(err, -EINVAL, "%s: end: expected a time in seconds",
                            name)
               : 0;
}
