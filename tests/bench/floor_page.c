#include "tests/bench/floor.h"

#include <stdlib.h>
#include <string.h>

#define NAME(text)                                                             \
    {                                                                          \
        "slurm_job_" text, sizeof("slurm_job_" text) - 1                       \
    }
static const struct {
    const char *text;
    size_t len;
} names[FLOOR_VALUES] = {
    [FLOOR_USED] = NAME("memory_usage"),
    [FLOOR_PEAK] = NAME("memory_max"),
    [FLOOR_LIMIT] = NAME("memory_limit"),
    [FLOOR_CACHE] = NAME("memory_cache"),
    [FLOOR_RSS] = NAME("memory_rss"),
    [FLOOR_HUGE] = NAME("memory_rss_huge"),
    [FLOOR_MAPPED] = NAME("memory_mapped_file"),
    [FLOOR_ACTIVE] = NAME("memory_active_file"),
    [FLOOR_INACTIVE] = NAME("memory_inactive_file"),
    [FLOOR_UNEVICTABLE] = NAME("memory_unevictable"),
    [FLOOR_PROCESSES] = NAME("process_count"),
};

static void put(struct floor *f, const char *s, size_t n)
{
    if (f->page_len + n > f->page_cap) {
        f->page_cap = (f->page_len + n) * 2;
        f->page = realloc(f->page, f->page_cap);
        if (!f->page)
            exit(1);
    }
    memcpy(f->page + f->page_len, s, n);
    f->page_len += n;
}

#define PUT(f, text) put(f, text, sizeof(text) - 1)

/* Two digits at a time: half the divisions. */
static void put_number(struct floor *f, uint64_t v)
{
    static const char pair[] =
        "00010203040506070809101112131415161718192021222324"
        "25262728293031323334353637383940414243444546474849"
        "50515253545556575859606162636465666768697071727374"
        "75767778798081828384858687888990919293949596979899";
    char text[20], *p = text + sizeof(text);
    for (; v >= 100; v /= 100) {
        p -= 2;
        memcpy(p, pair + 2 * (v % 100), 2);
    }
    if (v >= 10) {
        p -= 2;
        memcpy(p, pair + 2 * v, 2);
    } else {
        *--p = (char)('0' + v);
    }
    put(f, p, (size_t)(text + sizeof(text) - p));
}

static void put_family(struct floor *f, const char *name, size_t n)
{
    PUT(f, "# HELP ");
    put(f, name, n);
    PUT(f, " of a job\n# TYPE ");
    put(f, name, n);
    PUT(f, " gauge\n");
}

static void put_value(struct floor *f, const struct floor_job *j,
                      enum floor_value i)
{
    put(f, names[i].text, names[i].len);
    put(f, j->label, j->label_len);
    PUT(f, "} ");
    put_number(f, j->value[i]);
    PUT(f, "\n");
}

static void put_cores(struct floor *f, const struct floor_job *j)
{
    for (unsigned c = 0; c < j->cores; c++) {
        PUT(f, "slurm_job_core_usage_total");
        put(f, j->label, j->label_len);
        PUT(f, ",core=\"");
        put_number(f, j->core[c]);
        PUT(f, "\"} ");
        put_number(f, j->core_ns[c]);
        PUT(f, "\n");
    }
}

static void put_states(struct floor *f, const struct floor_job *j)
{
    for (unsigned c = 0; c < 128; c++) {
        if (j->state[c] == 0)
            continue;
        char state = (char)c;
        PUT(f, "slurm_job_threads_count");
        put(f, j->label, j->label_len);
        PUT(f, ",state=\"");
        put(f, &state, 1);
        PUT(f, "\"} ");
        put_number(f, j->state[c]);
        PUT(f, "\n");
    }
}

void floor_write(struct floor *f)
{
    f->page_len = 0;
    for (int v = 0; v < FLOOR_PROCESSES + f->processes; v++) {
        put_family(f, names[v].text, names[v].len);
        for (size_t i = 0; i < f->njobs; i++)
            if (f->jobs[i]->seen == f->pass)
                put_value(f, f->jobs[i], (enum floor_value)v);
    }
    put_family(f, "slurm_job_core_usage_total", 26);
    for (size_t i = 0; i < f->njobs; i++)
        if (f->jobs[i]->seen == f->pass)
            put_cores(f, f->jobs[i]);
    if (!f->processes)
        return;
    put_family(f, "slurm_job_threads_count", 23);
    for (size_t i = 0; i < f->njobs; i++)
        if (f->jobs[i]->seen == f->pass)
            put_states(f, f->jobs[i]);
}
