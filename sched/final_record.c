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

enum {
    TEXT_BYTES = 128,
    HOST_BYTES = 255,
    ENTRIES = 4096,
    DAY = 86400,
    YEARS_SEC = 5 * 366 * DAY,
    EPOCH_2000 = 946684800,
};

static int bad_time(const char *name, const char *field, const char *what,
                    struct bj_err *err)
{
    return bj_err_set(err, -EINVAL, "%s: %s: %s", name, field, what);
}

/* Source: docs/records.md, "Fields". */
static int check_times(const struct bj_json *record, const char *name,
                       int64_t now_sec, struct bj_err *err)
{
    const uint64_t now = now_sec > 0 ? (uint64_t)now_sec : 0;
    uint64_t end = bj_json_u64_or(bj_json_get(record, "end"), 0);
    uint64_t start = bj_json_u64_or(bj_json_get(record, "start"), 0);
    if (end > now + DAY)
        return bad_time(name, "end", "more than a day in the future", err);
    if (start > end + DAY)
        return bad_time(name, "start", "more than a day after the end", err);
    if (start > EPOCH_2000 && start + YEARS_SEC < now)
        return bad_time(name, "start", "more than five years ago", err);
    return 0;
}

static int check_text(const struct bj_json *v, const char *name,
                      const char *field, size_t max, struct bj_err *err)
{
    return bj_json_text(v).n <= max
               ? 0
               : bj_err_set(err, -EINVAL, "%s: %s: longer than %zu bytes", name,
                            field, max);
}

/* An object whose keys are names; its values may be objects with texts. */
static int check_names(const struct bj_json *object, const char *name,
                       const char *field, struct bj_err *err)
{
    unsigned n = 0;
    int r = 0;
    BJ_JSON_EACH(v, object)
    {
        if (++n > ENTRIES || bj_json_key(v).n > TEXT_BYTES)
            return bj_err_set(err, -EINVAL,
                              "%s: %s: a name longer than %d bytes, or more "
                              "than %d entries",
                              name, field, TEXT_BYTES, ENTRIES);
        if (bj_json_kind(v) == BJ_JSON_OBJECT)
            BJ_JSON_EACH(text, v)
            {
                if (bj_json_key(text).n > TEXT_BYTES)
                    r = bj_err_set(err, -EINVAL,
                                   "%s: %s: a name longer than %d bytes", name,
                                   field, TEXT_BYTES);
                if (r == 0)
                    r = check_text(text, name, field, TEXT_BYTES, err);
                if (r < 0)
                    return r;
            }
    }
    return 0;
}

int bj_final_record_bounds(const struct bj_json *record, const char *name,
                           int64_t now_sec, struct bj_err *err)
{
    static const char *const texts[] = {
        "cluster",       "batch_system",  "jobid",          "sluid",
        "slurm_node",    "user",          "account",        "identity_source",
        "energy_policy", "energy_source", "energy_quality", "energy_static"};
    static const char *const objects[] = {"energy_uj", "devices", "gpus",
                                          "executables"};
    int r = check_times(record, name, now_sec, err);
    if (r == 0)
        r = check_text(bj_json_get(record, "host"), name, "host", HOST_BYTES,
                       err);
    for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        r = check_text(bj_json_get(record, texts[i]), name, texts[i],
                       TEXT_BYTES, err);
    for (size_t i = 0; r == 0 && i < sizeof(objects) / sizeof(objects[0]); i++)
        r = check_names(bj_json_get(record, objects[i]), name, objects[i], err);
    return r;
}
