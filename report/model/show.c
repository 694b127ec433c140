#include "report/model/show.h"

#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"
#include "statsdb/job/rows.h"
#include "store/db.h"

#include <string.h>

/* Is the value known?  Appends a dash if not. */
static bool show_known(struct bj_buf *b, int64_t v)
{
    bj_buf_str(b, v == BJ_SQL_NULL ? "-" : "");
    return v != BJ_SQL_NULL;
}

/* Append a duration, rounded to seconds. */
static void show_duration(struct bj_buf *b, int64_t v, uint64_t parts)
{
    const uint64_t size = v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v;
    bj_buf_str(b, v < 0 ? "-" : "");
    bj_amount_seconds(b, size / parts + (size % parts * 2 >= parts));
}

void bj_show_value(struct bj_buf *b, enum bj_value_unit unit, int64_t v,
                   unsigned digits)
{
    static const enum bj_amount_unit units[] = {
        [BJ_UNIT_COUNT] = BJ_AMOUNT_PLAIN,
        [BJ_UNIT_BYTES] = BJ_AMOUNT_BYTES,
        [BJ_UNIT_JOULES] = BJ_AMOUNT_JOULES,
        [BJ_UNIT_GRAMS] = BJ_AMOUNT_GRAMS,
        [BJ_UNIT_PERCENT] = BJ_AMOUNT_PERCENT};
    uint64_t parts = 1;
    for (unsigned i = 0; i < digits; i++)
        parts *= 10;
    if (!show_known(b, v))
        return;
    if (unit == BJ_UNIT_SECONDS)
        show_duration(b, v, parts);
    else if (unit == BJ_UNIT_MONEY)
        bj_amount_money(b, v);
    else if (unit == BJ_UNIT_COUNT && digits == 0)
        bj_amount_whole(b, v);
    else
        bj_amount(b, units[unit], (double)v / (double)parts);
}

void bj_show_seconds(struct bj_buf *b, int64_t sec)
{
    bj_show_value(b, BJ_UNIT_SECONDS, sec, 0);
}

void bj_show_bytes(struct bj_buf *b, int64_t bytes)
{
    bj_show_value(b, BJ_UNIT_BYTES, bytes, 0);
}

void bj_show_percent(struct bj_buf *b, int64_t ppm)
{
    bj_show_value(b, BJ_UNIT_PERCENT, ppm, 4);
}

void bj_show_energy(struct bj_buf *b, int64_t uj)
{
    bj_show_value(b, BJ_UNIT_JOULES, uj, 6);
}

void bj_show_grams(struct bj_buf *b, int64_t ug)
{
    bj_show_value(b, BJ_UNIT_GRAMS, ug, 6);
}

void bj_show_hours(struct bj_buf *b, int64_t usec)
{
    if (show_known(b, usec))
        bj_amount(b, BJ_AMOUNT_PLAIN, (double)usec / 3.6e9);
}

void bj_show_millionths(struct bj_buf *b, int64_t micro)
{
    bj_show_value(b, BJ_UNIT_COUNT, micro, 6);
}

void bj_show_gib_hours(struct bj_buf *b, int64_t mib_sec)
{
    if (show_known(b, mib_sec))
        bj_amount(b, BJ_AMOUNT_PLAIN, (double)mib_sec / (1024 * 3600.0));
}

void bj_show_number(struct bj_buf *b, int64_t v)
{
    bj_show_value(b, BJ_UNIT_COUNT, v, 0);
}

/* Append the digits of a time, with a T as in RFC 3339 or a blank. */
static void show_stamp(struct bj_buf *b, int64_t sec, char between)
{
    char stamp[BJ_STAMP_MAX];
    int64_t usec;
    if (__builtin_mul_overflow(sec, 1000000, &usec))
        usec = INT64_MAX; /* times beyond the range of years stay beyond it */
    bj_stamp_text(usec, 0, bj_tz_offset(bj_tz_used(), sec) / 60, stamp);
    bj_buf_printf(b, "%.10s%c%.8s", stamp, between, stamp + 11);
}

void bj_show_time(struct bj_buf *b, int64_t sec)
{
    if (show_known(b, sec > INT64_C(253402300799) ? BJ_SQL_NULL : sec))
        show_stamp(b, sec, ' ');
}

void bj_show_zone(struct bj_buf *b)
{
    const char *name = bj_tz_name(bj_tz_used());
    if (strcmp(name, "UTC") == 0)
        bj_local_str(b, "{Times are UTC.}");
    else
        bj_local_put(b, "{Times are those of the time zone %s.}", name);
}

void bj_show_money(struct bj_buf *b, int64_t micro, struct bj_slice currency)
{
    if (!show_known(b, micro))
        return;
    bj_amount_money(b, micro);
    bj_buf_str(b, currency.n > 0 ? " " : "");
    bj_buf_clean(b, currency);
}

void bj_show_gpu(struct bj_buf *b, struct bj_slice node, struct bj_slice index,
                 struct bj_slice gpu)
{
    bj_buf_clean(b, node);
    bj_buf_str(b, node.n > 0 ? ": " : "");
    uint64_t number;
    if (index.n > 0 || bj_slice_u64(gpu, &number) == 0)
        bj_local_str(b, "{GPU} ");
    bj_buf_clean(b, index.n > 0 ? index : gpu);
}

void bj_show_unit(struct bj_buf *b, struct bj_slice unit, int64_t v)
{
    if (bj_slice_eq(unit, BJ_SLICE("bytes")))
        bj_show_bytes(b, v);
    else if (bj_slice_eq(unit, BJ_SLICE("joules")))
        bj_show_energy(b, v);
    else if (bj_slice_eq(unit, BJ_SLICE("grams")))
        bj_show_grams(b, v);
    else if (!bj_slice_eq(unit, BJ_SLICE("seconds")))
        bj_show_money(b, v, unit);
    else
        bj_show_value(b, BJ_UNIT_SECONDS, v, 6);
}

void bj_show_unit_html(struct bj_buf *b, struct bj_slice unit, int64_t v)
{
    struct bj_buf text = {0};
    bj_show_unit(&text, unit, v);
    bj_html_text(b, (struct bj_slice){text.p, text.len});
    b->failed |= text.failed;
    bj_buf_free(&text);
}

void bj_show_column(struct bj_buf *b, const struct bj_column *c,
                    const struct bj_job_value *v)
{
    if (!v->known)
        return;
    if (bj_job_is_text(c->kind))
        bj_buf_clean(b, v->text);
    else if (c->kind == BJ_AS_TIME)
        show_stamp(b, v->number, 'T');
    else if (c->kind == BJ_AS_LIMIT && v->number == INT64_MAX)
        bj_buf_str(b, "unlimited");
    else if (c->unit == BJ_UNIT_NONE || c->unit == BJ_UNIT_FREE) /* an id */
        bj_value_json(b, c->kind == BJ_AS_LINK_END ? BJ_AS_TIME_MS : c->kind,
                      v);
    else
        bj_show_value(b, c->unit, v->number, bj_value_digits(c->kind));
}

void bj_show_finding(struct bj_buf *b, struct bj_slice name)
{
    static const struct {
        const char *rule, *words;
    } names[] = {{"gpus_unused", "GPUs never used"},
                 {"nodes_unused", "Nodes never used"},
                 {"gpu_hardware", "A GPU failed"},
                 {"gpu_suspect", "A GPU failed, the job completed"},
                 {"memory_remote", "Memory on other NUMA nodes"},
                 {"gpu_slice", "A part of a GPU is enough"},
                 {"gpu_low_interactive", "Session with idle GPUs"},
                 {"gpu_very_low", "GPUs nearly idle"},
                 {"gpu_low", "GPUs mostly idle"},
                 {"serial_many_cpus", "One CPU busy of several"},
                 {"cpu_very_low", "Few CPUs busy"},
                 {"cpu_low", "Some CPUs idle"},
                 {"cpu_uneven", "CPUs busy for a part of the time"},
                 {"core_imbalance", "Cores unevenly busy"},
                 {"nodes_uneven", "Nodes unevenly busy"},
                 {"gpus_uneven", "GPUs unevenly busy"},
                 {"threads", "Too many threads"},
                 {"small_io", "Many small files"},
                 {"scratch_unused", "Scratch not used"},
                 {"oom", "Out of memory"},
                 {"oom_kills", "Processes killed for memory"},
                 {"oom_steps", "Steps out of memory"},
                 {"oom_leak", "Memory leak until the limit"},
                 {"leak", "Memory leak"},
                 {"hang", "Hung at the end"},
                 {"idle_end", "Idle at the end"},
                 {"idle_start", "Idle at the start"},
                 {"timeout", "Time limit reached"},
                 {"time_limit_far_too_long", "Time limit far too long"},
                 {"time_limit_too_long", "Time limit too long"},
                 {"too_many_nodes", "One node is enough"},
                 {"gpu_spread", "GPUs spread over nodes"},
                 {"cpus_per_gpu", "Many CPUs for each GPU"},
                 {"memory_per_gpu", "Much memory for each GPU"},
                 {"memory_low", "Much memory unused"},
                 {"memory_low_gpu", "Much memory unused, with GPUs"},
                 {"cpu_over_100", "More CPU time than allocated"},
                 {"memory_over_100", "More memory than allocated"},
                 {"energy_reserved", "Most energy for what was not used"},
                 {"running_no_progress", "No progress now"},
                 {"running_gpus_unused", "GPUs idle now"},
                 {"running_nodes_unused", "Nodes idle now"},
                 {"running_nodes_uneven", "Nodes unevenly busy now"},
                 {"running_gpus_uneven", "GPUs unevenly busy now"},
                 {"running_leak", "Memory rises now"},
                 {"running_serial", "One CPU busy of several now"},
                 {"running_cpu_very_low", "Few CPUs busy now"},
                 {"running_memory_limit", "Memory near its limit"}};
    struct bj_slice word;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (bj_slice_eq(name, bj_slice_str(names[i].rule))) {
            bj_buf_str(b, bj_local(names[i].words));
            return;
        }
    for (bool first = true; bj_slice_field(&name, '_', &word); first = false) {
        bj_buf_str(b, first ? "" : " ");
        bj_buf_clean(b, word);
    }
}

void bj_show_wasted(struct bj_buf *b, const struct bj_paid *wasted,
                    int64_t cost, struct bj_slice currency)
{
    const struct {
        int64_t amount;
        double of;
        const char *unit;
    } amounts[] = {{wasted->gpu_sec, 3600, "GPU hours"},
                   {wasted->cpu_sec, 3600, "CPU hours"},
                   {wasted->memory_mib_sec, 3600.0 * 1024, "GiB hours"}};
    bool any = false;
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++) {
        if (amounts[i].amount == BJ_SQL_NULL || amounts[i].amount <= 0 ||
            (any && i == 2))
            continue;
        bj_buf_str(b, any ? ", " : "");
        bj_amount(b, BJ_AMOUNT_PLAIN,
                  (double)amounts[i].amount / amounts[i].of);
        bj_buf_printf(b, " %s", bj_local(amounts[i].unit));
        any = true;
    }
    if (any && cost != BJ_SQL_NULL) {
        bj_buf_str(b, ", ");
        bj_show_money(b, cost, currency);
    }
}

void bj_show_advice_html(struct bj_buf *b, struct bj_slice text)
{
    while (text.n > 0) {
        size_t n = 0, end;
        while (n < text.n && text.p[n] != ' ')
            n++;
        for (end = n; end > 0 && strchr(".,:;)", text.p[end - 1]);)
            end--;
        const bool option = end > 1 && text.p[0] == '-';
        bj_buf_str(b, option ? "<span class=\"option\">" : "");
        bj_html_text(b, (struct bj_slice){text.p, end});
        bj_buf_str(b, option ? "</span>" : "");
        n += n < text.n;
        bj_html_text(b, (struct bj_slice){text.p + end, n - end});
        text = (struct bj_slice){text.p + n, text.n - n};
    }
}
