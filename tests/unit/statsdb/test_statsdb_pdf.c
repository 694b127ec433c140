/* Reports as PDF: page breaks, and the document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "report/pdf/pdf.h"
#include "report/pdf/sheet.h"

#include <string.h>

/* Fontconfig and Pango do not free their caches. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\nleak:libpango\nleak:libglib\nleak:libcairo\n";
}

enum { ROWS = 12, PAGE = 100, LEAST = 30 };

/* Rows of height 10 without space between them. */
static void rows_of_ten(struct bj_flow_row row[ROWS])
{
    for (unsigned i = 0; i < ROWS; i++)
        row[i] = (struct bj_flow_row){.height = 10};
}

static void test_full(void **state)
{
    struct bj_flow_row row[ROWS];
    (void)state;
    rows_of_ten(row);
    row[3].before = 5; /* so nine rows fit */
    assert_int_equal(bj_flow(row, ROWS, PAGE, LEAST), 2);
    assert_int_equal(row[8].page, 0);
    assert_int_equal(row[9].page, 1);
    assert_true(row[3].y == 35);
    assert_true(row[9].y == 0);
    assert_int_equal(bj_flow(row, 0, PAGE, LEAST), 0);
}

static void test_few_rows_stay_together(void **state)
{
    struct bj_flow_row row[ROWS];
    (void)state;
    rows_of_ten(row);
    assert_int_equal(bj_flow(row, 11, PAGE, LEAST), 2);
    assert_int_equal(row[7].page, 0); /* the last three move together */
    assert_int_equal(row[8].page, 1);
    rows_of_ten(row);
    row[8].begins = true; /* eight rows, then four */
    assert_int_equal(bj_flow(row, ROWS, PAGE, LEAST), 2);
    assert_int_equal(row[7].page, 0);
    assert_int_equal(row[8].page, 1);
}

static void test_kept_with_next_row(void **state)
{
    struct bj_flow_row row[ROWS];
    (void)state;
    rows_of_ten(row);
    row[8].keep = row[9].keep = true; /* a title and a head */
    row[9].head = 0;
    assert_int_equal(bj_flow(row, ROWS, PAGE, LEAST), 2);
    assert_int_equal(row[7].page, 0);
    assert_int_equal(row[8].page, 1);
    rows_of_ten(row);
    for (unsigned i = 0; i < ROWS; i++)
        row[i].keep = true; /* impossible */
    assert_int_equal(bj_flow(row, ROWS, PAGE, LEAST), 2);
    rows_of_ten(row);
    row[0].height = 500; /* larger than a page */
    assert_int_equal(bj_flow(row, ROWS, PAGE, LEAST), 3);
}

static void test_repeated_head(void **state)
{
    struct bj_flow_row row[ROWS];
    (void)state;
    rows_of_ten(row);
    for (unsigned i = 1; i < ROWS; i++)
        row[i].head = 1;
    assert_int_equal(bj_flow(row, ROWS, 50, 20), 3);
    assert_int_equal(row[5].page, 1);
    assert_true(row[5].y == 10); /* below the head */
    assert_int_equal(row[9].page, 2);
}

/* --- the document ----------------------------------------------------------
 */

/* Write a document with a table of rows, which all have the same text. */
static void document(struct bj_slice text, unsigned rows, struct bj_buf *out)
{
    struct bj_sheet *s = NULL;
    struct bj_err err = {0};
    int r = bj_sheet_new(false, &s, &err);
    if (r == -ENOSYS)
        skip();
    assert_int_equal(r, 0);
    for (unsigned i = 0; i < rows; i++) {
        bj_sheet_row(s, 2, i == 0 ? BJ_ROW_PAGE | BJ_ROW_HEAD : BJ_ROW_BODY);
        double h = bj_sheet_text(
            s, &(struct bj_sheet_text){
                   .text = text, .width = 100, .size = 9, .lines = 2});
        assert_true(h > 0 && h < 40); /* at most two lines */
    }
    assert_int_equal(
        bj_sheet_write(s, &(struct bj_sheet_about){"title", "subject", 0}, out,
                       &err),
        0);
    bj_sheet_free(s);
}

static void test_document(void **state)
{
    struct bj_buf one = {0}, two = {0};
    (void)state;
    document(BJ_SLICE("4711"), 200, &one);
    document(BJ_SLICE("4711"), 200, &two);
    assert_true(one.len > 1000 && memcmp(one.p, "%PDF-", 5) == 0);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.p, two.p, one.len);
    bj_buf_free(&one);
    bj_buf_free(&two);
}

static void test_hostile(void **state)
{
    static char text[100000];
    struct bj_buf out = {0};
    (void)state;
    memset(text, 'x', sizeof(text));
    document((struct bj_slice){text, sizeof(text)}, 3, &out);
    for (size_t i = 0; i + 2 <= sizeof(text); i += 2)
        memcpy(text + i, "\xcc\x81", 2); /* stacked accents */
    document((struct bj_slice){text, sizeof(text)}, 3, &out);
    document(BJ_SLICE("a\0b\033[2J\xff\xe2\x80\xae) %\xe2\x80"), 3, &out);
    document(BJ_SLICE(""), 1, &out);
    bj_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_few_rows_stay_together),
        cmocka_unit_test(test_kept_with_next_row),
        cmocka_unit_test(test_repeated_head),
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
