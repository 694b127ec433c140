/* Rows of the API as JSON and CSV. */
#include "statsdb/job/rows.h"

#include "base/stamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka.h needs the headers above */
#include <cmocka.h>

static void write_table(const struct bj_output *out)
{
    static const char *const keys[] = {"a", "b", "t", "t_ms"};
    struct bj_rows r;
    bj_rows_begin(&r, out, keys, 4);
    bj_row_begin(&r);
    bj_put_text(&r, BJ_SLICE("x"));
    bj_put_fixed(&r, -1500, 3);
    bj_put_time(&r, 1700000000);
    bj_put_time_ms(&r, 1700000000);
    bj_row_end(&r);
    bj_row_begin(&r);
    bj_put_text(&r, (struct bj_slice){0});
    bj_put_int(&r, INT64_MIN);
    bj_put_null(&r);
    bj_put_bool(&r, true);
    bj_row_end(&r);
    bj_rows_end(&r);
    if (out->to)
        bj_buf_put(out->to, "", 1);
}

static void test_tables(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    write_table(&(struct bj_output){.to = &b, .shape = BJ_SHAPE_OBJECTS});
    assert_string_equal(
        b.p, "[{\"a\":\"x\",\"b\":-1.5,\"t\":\"2023-11-14T22:13:20Z\","
             "\"t_ms\":1700000000000},{\"a\":null,\"b\":-9223372036854775808,"
             "\"t\":null,\"t_ms\":true}]");
    b.len = 0;
    write_table(&(struct bj_output){.to = &b, .shape = BJ_SHAPE_CSV});
    assert_string_equal(b.p, "a,b,t,t_ms\r\n"
                             "x,-1.5,2023-11-14T22:13:20Z,1700000000000\r\n"
                             ",-9223372036854775808,,true\r\n");
    b.len = 0;
    write_table(&(struct bj_output){.to = &b, .shape = BJ_SHAPE_ARRAYS});
    assert_string_equal(b.p,
                        "[[\"x\",-1.5,\"2023-11-14T22:13:20Z\",1700000000000],"
                        "[null,-9223372036854775808,null,true]]");
    bj_buf_free(&b);
}

/* Times equal those of base/stamp.h, also at the limits of the range. */
static void test_times(void **state)
{
    (void)state;
    static const int64_t secs[] = {
        0,          -1,           1,          951782399,    951782400,
        1700000000, 253402300799, 4102444799, -62135596800, INT64_MAX,
        INT64_MIN,  -86400,       -86401,     86399,        1709164800};
    static const char *const keys[] = {"t"};
    struct bj_buf b = {0};
    struct bj_rows r;
    bj_rows_begin(&r, &(struct bj_output){.to = &b, .shape = BJ_SHAPE_CSV},
                  keys, 1);
    for (size_t i = 0; i < sizeof(secs) / sizeof(secs[0]); i++) {
        char want[BJ_STAMP_MAX];
        int64_t sec = secs[i] > INT64_MAX / 1000000   ? INT64_MAX / 1000000
                      : secs[i] < INT64_MIN / 1000000 ? INT64_MIN / 1000000
                                                      : secs[i];
        bj_stamp_text(sec * 1000000, 0, 0, want);
        bj_row_begin(&r);
        b.len = 0;
        bj_put_time(&r, secs[i]);
        bj_buf_put(&b, "", 1);
        assert_string_equal(b.p, want);
    }
    bj_buf_free(&b);
}

/* The cells of a row as one line of text. */
static void on_row(void *ctx, const struct bj_cells *row)
{
    struct bj_buf *b = ctx;
    for (unsigned i = 0; i < row->keys; i++) {
        bj_buf_str(b, row->key[i]);
        bj_buf_str(b, bj_cell_is_empty(&row->cell[i]) ? "-" : "=");
        bj_cell_text(b, &row->cell[i]);
        bj_buf_str(b, " ");
    }
    assert_ptr_equal(bj_cells_get(row, "t"), &row->cell[2]);
    assert_null(bj_cells_get(row, "no"));
}

static void test_cells(void **state)
{
    (void)state;
    struct bj_buf b = {0};
    struct bj_cells cells = {.row = on_row, .ctx = &b};
    write_table(&(struct bj_output){.cells = &cells});
    bj_buf_put(&b, "", 1);
    assert_string_equal(b.p, "a=x b=-1.5 t=2023-11-14T22:13:20Z "
                             "t_ms=1700000000000 "
                             "a- b=-9223372036854775808 t- t_ms=true ");
    bj_cells_free(&cells);
    bj_buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
