/* Lines of /proc/PID/stat and io. */
#include "core/collect/process_impl.h"
#include "tests/fuzz/fuzz.h"

#include "base/text.h"

/* Parsed values, written as the kernel writes them, are parsed the same
 * again. */
static void stat_again(const struct bj_procstat *st)
{
    struct bj_procstat again;
    struct bj_buf b = {0};
    bj_buf_str(&b, "1 (");
    bj_buf_slice(&b, st->comm);
    bj_buf_printf(&b, ") %c", st->state);
    for (int field = 4; field <= 39; field++) {
        uint64_t v = field == 4    ? st->ppid
                     : field == 14 ? st->utime_ticks
                     : field == 15 ? st->stime_ticks
                     : field == 20 ? st->threads
                     : field == 22 ? st->start_ticks
                     : field == 28 ? st->stack
                     : field == 33 ? st->sigignore
                     : field == 39 ? st->cpu
                                   : 0;
        bj_buf_str(&b, " ");
        bj_buf_u64(&b, v);
    }
    bj_buf_str(&b, "\n");
    MUST(bj_procstat_parse((struct bj_slice){b.p, b.len}, &again) == 0);
    MUST(bj_slice_eq(again.comm, st->comm) && again.state == st->state);
    MUST(again.ppid == st->ppid && again.utime_ticks == st->utime_ticks);
    MUST(again.stime_ticks == st->stime_ticks && again.cpu == st->cpu);
    MUST(again.threads == st->threads && again.stack == st->stack);
    MUST(again.start_ticks == st->start_ticks);
    MUST(again.sigignore == st->sigignore);
    bj_buf_free(&b);
}

static void stat_line(struct bj_slice in)
{
    struct bj_procstat st;
    MUST(bj_proc_state(bj_procstat_state(in)) < BJ_PROC_STATES);
    bj_proc_hash(in);
    if (bj_procstat_parse(in, &st) < 0)
        return;
    MUST(st.comm.p > in.p && st.comm.p + st.comm.n < in.p + in.n);
    MUST(st.comm.p[-1] == '(' && st.comm.p[st.comm.n] == ')');
    MUST(st.state == bj_procstat_state(in));
    stat_again(&st);
}

static void io_text(struct bj_slice in)
{
    static const char *const names[] = {"rchar",
                                        "wchar",
                                        "syscr",
                                        "syscw",
                                        "read_bytes",
                                        "write_bytes",
                                        "cancelled_write_bytes"};
    uint64_t v[BJ_PROCIO_FIELDS], again[BJ_PROCIO_FIELDS];
    struct bj_buf b = {0};
    if (bj_procio_parse(in, v) < 0)
        return;
    for (int f = 0; f < BJ_PROCIO_FIELDS; f++) {
        bj_buf_printf(&b, "%s: ", names[f]);
        bj_buf_u64(&b, v[f]);
        bj_buf_str(&b, "\n");
    }
    MUST(bj_procio_parse((struct bj_slice){b.p, b.len}, again) == 0);
    MUST(memcmp(v, again, sizeof(v)) == 0);
    bj_buf_free(&b);
}

static void label(struct bj_slice in)
{
    char a[BJ_LABEL_MAX + 1], b[BJ_LABEL_MAX + 1];
    size_t n = bj_exe_label(in, a);
    MUST(n <= BJ_LABEL_MAX && a[n] == 0 && strlen(a) == n);
    /* The label is clean already. */
    MUST(bj_text_clean((struct bj_slice){a, n}, b, sizeof(b)) == n);
    MUST(memcmp(a, b, n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    struct bj_slice in = fuzz_exact(data, size, &mem);
    stat_line(in);
    io_text(in);
    label(in);
    free(mem);
    return 0;
}
