#include "report/request.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

static int64_t round_up(int64_t v, int64_t step)
{
    return (v + step - 1) / step * step;
}

/* Whole GiB in the steps of jobstats (docs/reports.md); MiB below 1 GiB. */
int64_t bj_request_round_memory(int64_t bytes)
{
    int64_t gib = round_up(bytes, GIB) / GIB;
    if (bytes < GIB)
        return round_up(bytes > 0 ? bytes : 1, 256 * MIB);
    if (gib > 1000)
        return round_up(gib, 100) * GIB;
    if (gib > 100)
        return round_up(gib, 10) * GIB;
    if (gib > 30)
        return round_up(gib, 5) * GIB;
    return gib * GIB;
}

int64_t bj_request_memory(int64_t peak_bytes)
{
    return peak_bytes > INT64_MAX / 4
               ? peak_bytes
               : bj_request_round_memory(peak_bytes + peak_bytes / 5);
}

int64_t bj_request_round_time(int64_t sec)
{
    int64_t step = sec < HOUR       ? 5 * MINUTE
                   : sec < 6 * HOUR ? 15 * MINUTE
                   : sec < 2 * DAY  ? HOUR
                                    : 6 * HOUR;
    sec = round_up(sec, step);
    return sec < 10 * MINUTE ? 10 * MINUTE : sec;
}

/* --- words -----------------------------------------------------------------
 */

enum system { SLURM, PBS, LSF, SYSTEMS };

/* %m: memory, %t: time, %n: a number. */
static const char *const words[SYSTEMS][BJ_REQUEST_GPUS + 1] = {
    [SLURM] = {[BJ_REQUEST_MEMORY] = "--mem=%m",
               [BJ_REQUEST_MEMORY_PER_CPU] = "--mem-per-cpu=%m",
               [BJ_REQUEST_MEMORY_PER_GPU] = "--mem-per-gpu=%m",
               [BJ_REQUEST_TIME] = "--time=%t",
               [BJ_REQUEST_CPUS] = "--cpus-per-task=%n",
               [BJ_REQUEST_TASKS] = "--ntasks=%n",
               [BJ_REQUEST_NODES] = "--nodes=%n",
               [BJ_REQUEST_GPUS] = "--gpus=%n"},
    [PBS] = {[BJ_REQUEST_MEMORY] = "-l mem=%m",
             [BJ_REQUEST_TIME] = "-l walltime=%t",
             [BJ_REQUEST_CPUS] = "-l ncpus=%n",
             [BJ_REQUEST_TASKS] = "-l ncpus=%n"},
    [LSF] = {[BJ_REQUEST_MEMORY] = "-M %m",
             [BJ_REQUEST_TIME] = "-W %t",
             [BJ_REQUEST_CPUS] = "-n %n",
             [BJ_REQUEST_TASKS] = "-n %n"},
};

static const char *const directives[SYSTEMS] = {"#SBATCH", "#PBS", "#BSUB"};

static void put_memory(struct bj_buf *b, enum system system, int64_t bytes)
{
    static const char *const units[SYSTEMS][2] = {
        {"G", "M"}, {"gb", "mb"}, {"GB", "MB"}};
    const bool gib = bytes % GIB == 0;
    bj_buf_printf(b, "%lld%s", (long long)(bytes / (gib ? GIB : MIB)),
                  units[system][!gib]);
}

static void put_time(struct bj_buf *b, enum system system, int64_t sec)
{
    int hours = (int)(sec / HOUR), minutes = (int)(sec % HOUR / MINUTE);
    if (system == LSF)
        bj_buf_printf(b, "%d:%02d", hours, minutes);
    else if (system == SLURM && hours >= 24)
        bj_buf_printf(b, "%d-%02d:%02d:00", hours / 24, hours % 24, minutes);
    else
        bj_buf_printf(b, "%02d:%02d:00", hours, minutes);
}

bool bj_request_option(struct bj_slice name, enum bj_request what,
                       int64_t amount, struct bj_buf *option,
                       struct bj_buf *line)
{
    enum system system = bj_slice_eq(name, BJ_SLICE("pbs"))   ? PBS
                         : bj_slice_eq(name, BJ_SLICE("lsf")) ? LSF
                                                              : SLURM;
    const char *word = words[system][what];
    if (!word)
        return false;
    for (; *word; word++) {
        if (*word != '%') {
            bj_buf_put(option, word, 1);
            continue;
        }
        word++;
        if (*word == 'm')
            put_memory(option, system, amount);
        else if (*word == 't')
            put_time(option, system, amount);
        else
            bj_buf_printf(option, "%lld", (long long)amount);
    }
    bj_buf_printf(line, "%s ", directives[system]);
    bj_buf_put(line, option->p, option->len);
    return true;
}
