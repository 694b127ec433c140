/* Reports as PDF: page breaks, and the document. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

#include "base/json.h"
#include "report/pdf/pdf.h"
#include "report/pdf/sheet.h"
#include "report/pdf/tagged.h"

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

static bool contains(const struct bj_buf *b, const char *text)
{
    return memmem(b->p, b->len, text, strlen(text)) != NULL;
}

/* Rows are tagged as what they are, the language is that of the site, and
 * figures have a text: "Ab" as UTF-16. */
static void test_tags(void **state)
{
    static const unsigned flags[] = {BJ_ROW_PAGE | BJ_ROW_TITLE,
                                     BJ_ROW_SECTION,
                                     0,
                                     BJ_ROW_HEAD,
                                     BJ_ROW_BODY,
                                     BJ_ROW_ITEM,
                                     BJ_ROW_FIGURE};
    static const char *const tags[] = {"/S /H1\n",    "/S /H2\n",    "/S /P\n",
                                       "/S /Table\n", "/S /TR\n",    "/S /TH\n",
                                       "/S /TD\n",    "/S /L\n",     "/S /LI\n",
                                       "/S /LBody\n", "/S /Figure\n"};
    struct bj_sheet *s = NULL;
    struct bj_err err;
    struct bj_buf out = {0};
    (void)state;
    int r = bj_sheet_new(false, &s, &err);
    if (r == -ENOSYS)
        skip();
    assert_int_equal(r, 0);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        bj_sheet_row(s, 2, flags[i]);
        bj_sheet_text(s, &(struct bj_sheet_text){
                             .text = BJ_SLICE("x"), .width = 100, .size = 9});
    }
    bj_sheet_figure_text(s, BJ_SLICE("A"));
    bj_sheet_figure_text(s, BJ_SLICE("b\xc3\xa9"));
    assert_int_equal(bj_sheet_write(s,
                                    &(struct bj_sheet_about){"title", NULL, 0},
                                    &out, &err),
                     0);
    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
        if (!contains(&out, tags[i]))
            fail_msg("no %s", tags[i]);
    assert_true(contains(&out, "/Lang <FEFF0065006E>"));
    assert_true(contains(&out, "/DisplayDocTitle true"));
    assert_true(contains(&out, "/Alt <FEFF00410020006200E9>"));
    bj_sheet_free(s);
    bj_buf_free(&out);
}

/* A PDF of another form stays as it is. */
static void test_untagged(void **state)
{
    static const char *const texts[] = {
        "", "%PDF-1.4\n", "%PDF-1.4\ntrailer\n<< /Size 2 /Root 1 0 R >>\n",
        "<< /Type /Catalog\n>>\nendobj\n\ntrailer\n<< /Size 1\n/Root 1 0 R\n"
        "/Info 2 0 R\n>>\nstartxref\n7\n"};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct bj_buf b = {0};
        bj_buf_str(&b, texts[i]);
        bj_tagged_amend(&b, "en", BJ_SLICE("a\0"));
        assert_int_equal(b.len, strlen(texts[i]));
        assert_false(b.failed);
        bj_buf_free(&b);
    }
}

/* A document is the same after it was written and read. */
static void test_document_json(void **state)
{
    struct bj_doc d = {.created_sec = 7}, e = {.created_sec = 0};
    struct bj_buf one = {0}, two = {0};
    struct bj_arena arena = {0};
    const struct bj_json *json;
    struct bj_err err;
    (void)state;
    d.title = d.whole_title = BJ_SLICE("physics, \"October\"");
    d.name = BJ_SLICE("x");
    struct bj_doc_section *s =
        bj_doc_add(&d, BJ_DOC_FIGURES, "Total", BJ_DOC_FIGURE_COLUMNS);
    s->head[BJ_DOC_AMOUNT] = "EUR";
    for (int i = 0; i < 20; i++) {
        struct bj_doc_cell *row = bj_doc_row(&d, s);
        row[BJ_DOC_LABEL].text = BJ_SLICE("CPU");
        row[BJ_DOC_PERCENT].text = BJ_SLICE("12 %");
        row[BJ_DOC_PERCENT].has_meter = true;
        row[BJ_DOC_PERCENT].ppm = 120000 + i;
    }
    bj_doc_add(&d, BJ_DOC_REQUEST, "Requested", BJ_DOC_REQUEST_COLUMNS);
    bj_doc_write(&d, &one);
    assert_int_equal(bj_json_parse(&arena, (struct bj_slice){one.p, one.len},
                                   "doc", NULL, &json, &err),
                     0);
    assert_int_equal(bj_doc_parse(json, &e, &err), 0);
    assert_int_equal(e.section[BJ_DOC_FIGURES].rows, 20);
    assert_int_equal(
        bj_doc_cell(&e.section[BJ_DOC_FIGURES], 19, BJ_DOC_PERCENT)->ppm,
        120019);
    assert_false(e.section[BJ_DOC_VERDICT].is_there);
    assert_false(bj_doc_has_next(&e)); /* without a heading */
    bj_doc_write(&e, &two);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.p, two.p, one.len);
    bj_doc_free(&e);
    static const char *const wrong[] = {
        "{}", "{\"sections\":[]}",
        "{\"sections\":[{\"columns\":99}],\"created\":1}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(bj_json_parse(&arena, bj_slice_str(wrong[i]), "doc",
                                       NULL, &json, &err),
                         0);
        assert_int_equal(bj_doc_parse(json, &e, &err), -EBADMSG);
        bj_doc_free(&e);
    }
    bj_doc_free(&d);
    bj_buf_free(&one);
    bj_buf_free(&two);
    bj_arena_free(&arena);
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
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_untagged),
        cmocka_unit_test(test_document_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
