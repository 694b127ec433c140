#include "statsdb/conf/report_conf.h"

#include "base/json.h"
#include "base/tz.h"
#include "store/db.h"

#include <stddef.h>
#include <string.h>

#define OF(member) offsetof(struct bj_report_conf, member)

enum { DIGITS = 6 };
static const int64_t most = INT64_C(1000000000000); /* a million */

int bj_price_read(const char *text, int64_t *ret)
{
    *ret = BJ_SQL_NULL;
    if (!text || !text[0])
        return 0;
    int r = bj_decimal_i64(bj_slice_str(text), DIGITS, ret);
    return r == 0 && *ret >= 0 && *ret <= most ? 0 : -EINVAL;
}

static int check_price(const char *text, struct bj_err *err)
{
    int64_t v;
    return bj_price_read(text, &v) == 0
               ? 0
               : bj_err_set(err, -EINVAL,
                            "'%.40s' is not a number from 0 to 1000000, such "
                            "as 0.015",
                            text);
}

static int check_currency(const char *text, struct bj_err *err)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return bj_err_set(err, -EINVAL, "a control character");
    return n <= BJ_CURRENCY_MAX
               ? 0
               : bj_err_set(err, -EINVAL, "longer than %d bytes",
                            BJ_CURRENCY_MAX);
}

static int check_zone(const char *text, struct bj_err *err)
{
    struct bj_tz *tz = NULL;
    int r = text && text[0] ? bj_tz_load(text, &tz, err) : 0;
    bj_tz_free(tz);
    return r;
}

#define PRICE(key, member, what)                                               \
    {                                                                          \
        .name = key, .kind = BJ_OPT_STR, .off = OF(member), .arg = "NUMBER",   \
        .check = check_price, .help = "Price of " what "."                     \
    }

const struct bj_opt bj_report_opts[] = {
    {.name = "price.currency",
     .kind = BJ_OPT_STR,
     .off = OF(currency),
     .check = check_currency,
     .arg = "TEXT",
     .help = "Currency of the prices, shown behind amounts: any text, such as "
             "EUR or credits.",
     .more = "Set prices to show users what their jobs cost. A change applies "
             "to all jobs in the store."},
    PRICE("price.cpu-hour", cpu_hour, "one allocated CPU for one hour"),
    PRICE("price.gpu-hour", gpu_hour, "one allocated GPU for one hour"),
    PRICE("price.gib-hour", gib_hour,
          "one GiB of allocated memory for one "
          "hour"),
    PRICE("price.kwh", kwh, "one kWh that jobs used, without PUE"),
    {.name = "price.failed-nodes-free",
     .kind = BJ_OPT_BOOL,
     .off = OF(failed_nodes_free),
     .preset = "false",
     .help = "Do not charge jobs that ended since a node failed.",
     .more = "Their hours count as used; bills show what is not charged."},
    {.name = "time-zone",
     .kind = BJ_OPT_STR,
     .off = OF(time_zone),
     .check = check_zone,
     .arg = "ZONE",
     .help = "Time zone of the site, such as Europe/Paris. Days and months of "
             "sums, bills and reports are those of this zone, and times are "
             "shown in it. Default: the zone of this machine when the store "
             "is used first; then the store keeps it.",
     .more = "After a change, the sums of all jobs move to the days of the "
             "new zone when batchjob_stats_db starts."},
    {.name = "report.memory-margin",
     .kind = BJ_OPT_U64,
     .off = OF(memory_margin),
     .lo = 5,
     .hi = 1000,
     .preset = "20",
     .arg = "PERCENT",
     .help = "Memory that reports advise to request, in percent more than the "
             "job used.",
     .more = "Raise it where the memory of jobs varies between runs.",
     .rare = true},
    {.name = "report.time-margin",
     .kind = BJ_OPT_U64,
     .off = OF(time_margin),
     .lo = 5,
     .hi = 1000,
     .preset = "50",
     .arg = "PERCENT",
     .help = "Time limit that reports advise to request, in percent more than "
             "the run time; half of it for arrays.",
     .more = "Raise it where the run time of jobs varies between runs.",
     .rare = true},
    {.name = "report.memory-per-cpu-limit",
     .kind = BJ_OPT_SIZE,
     .off = OF(memory_of_cpu),
     .arg = "SIZE",
     .help = "The lowest MaxMemPerCPU of Slurm's configuration and "
             "partitions.",
     .more = "Set it if Slurm has such a limit: a job that requests more "
             "memory gets more CPUs, so that advice on memory would change "
             "its CPUs.",
     .rare = true},
    {.name = "report.texts",
     .kind = BJ_OPT_STR,
     .off = OF(texts),
     .arg = "FILE",
     .help =
         "File with texts of reports, pages and mails instead of the built-in "
         "ones: lines \"NAME = TEXT\".",
     .more = "Set it to translate reports or to use your site's words; the "
             "command \"texts\" prints the built-in ones.",
     .rare = true},
    {.name = NULL},
};
