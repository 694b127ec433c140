/* A site's factor file: accepted values are in order and within limits, and an
 * error message is one line without control characters.  The first byte selects
 * CSV or JSON. */
#include "carbon/factor_file.h"
#include "tests/fuzz/fuzz.h"

#define NOW 1795187400u /* 2026-11-20T15:10:00Z */

static void check_points(const struct bj_points *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct bj_carbon_point *c = &p->v[i], *b = c - 1;
        MUST(c->mg_per_kwh >= 1 && c->mg_per_kwh <= BJ_FACTOR_MG_MAX);
        MUST(c->kind < BJ_FACTOR_KINDS && c->len_sec > 0);
        MUST(i == 0 || b->start_sec < c->start_sec ||
             (b->start_sec == c->start_sec && b->kind < c->kind));
    }
    for (unsigned k = 0; k < BJ_FACTOR_KINDS; k++) {
        enum bj_factor_from from;
        const struct bj_carbon_point *c =
            bj_points_at(p, (enum bj_factor_kind)k, NOW, &from);
        MUST(!c || (c->kind == k && c->start_sec <= NOW));
        MUST(!c || (from == BJ_FACTOR_LIVE) ==
                       (NOW - c->start_sec < BJ_FACTOR_LIVE_SEC));
    }
}

static void check_message(int r, const struct bj_err *err)
{
    MUST(r == -EINVAL || r == -EFBIG);
    MUST(err->code == r && err->msg[0]);
    for (const char *p = err->msg; *p; p++)
        MUST((unsigned char)*p >= ' ');
}

static void read_drop(struct bj_slice text, bool json)
{
    struct bj_points p = {0};
    struct bj_err err = {0};
    struct bj_factor_rows want = {"FR", NOW};
    int r = (json ? bj_factor_file_json : bj_factor_file_csv)(text, "f", &want,
                                                              &p, &err);
    if (r < 0)
        check_message(r, &err);
    check_points(&p);
    bj_points_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *mem;
    struct bj_slice text = fuzz_exact(data + 1, size - 1, &mem);
    read_drop(text, (data[0] - (unsigned)'0') % 2 == 1);
    free(mem);
    return 0;
}
