/* standalone/trace.h: a posted body is accepted and shown, or refused and not
 * shown; the page consists of lines of samples, and its text has no markup. */
#include "standalone/trace.h"

#include "tests/fuzz/fuzz.h"

static const struct bj_trace_conf conf = {
    .keep_usec = 1000000, .entries = 8, .rate = 1000};

static void check_page(struct bj_slice rest)
{
    struct bj_slice line;
    MUST(rest.n == 0 || rest.p[rest.n - 1] == '\n');
    while (bj_slice_line(&rest, &line)) {
        if (bj_slice_starts(line, BJ_SLICE("# ")))
            continue;
        MUST(bj_slice_starts(line, BJ_SLICE("slurm_proc_")));
        MUST(line.p[line.n - 1] >= '0' && line.p[line.n - 1] <= '9');
        for (size_t i = 0; i < line.n; i++)
            MUST((unsigned char)line.p[i] >= ' ');
    }
}

/* Rows have ten cells, and text adds no markup. */
static void check_html(struct bj_slice s, bool taken)
{
    size_t open = 0, close = 0;
    for (size_t i = 0; i < s.n; i++) {
        open += s.p[i] == '<';
        close += s.p[i] == '>';
    }
    MUST(open == close);
    MUST((memmem(s.p, s.n, "<tr><td>", 8) != NULL) == taken);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_trace *t = NULL;
    struct bj_buf why = {0}, page = {0}, html = {0};
    char *mem;
    struct bj_slice body = fuzz_exact(data, size, &mem);
    MUST(bj_trace_new(&conf, &t, NULL) == 0);
    unsigned status = bj_trace_post(t, body, (struct bj_slice){0}, 1, &why);
    MUST(status == 200 || status == 400);
    MUST((status == 200) == (why.len == 0));
    bj_trace_metrics(t, 2, &(struct bj_trace_page){.format = BJ_PAGE_TEXT},
                     &page);
    check_page((struct bj_slice){page.p, page.len});
    MUST(status == 200 || page.len == 0);
    bj_trace_html(t, 2, &html);
    check_html((struct bj_slice){html.p, html.len}, status == 200);
    bj_buf_free(&why);
    bj_buf_free(&page);
    bj_buf_free(&html);
    bj_trace_free(t);
    free(mem);
    return 0;
}
