#include "report/pdf/tagged.h"

#include "base/slice.h"

#include <string.h>

enum { OBJECTS = 1 + 200 }; /* the catalog and figures, at most */

/* The update: changed objects, and where each begins. */
struct update {
    struct bj_slice pdf; /* as cairo wrote it */
    struct bj_buf out;
    uint64_t number[OBJECTS];
    size_t at[OBJECTS];
    unsigned objects;
};

static struct bj_slice tagged_find(struct bj_slice in, const char *text)
{
    const char *p = in.n > 0 ? memmem(in.p, in.n, text, strlen(text)) : NULL;
    return p ? (struct bj_slice){p, in.n - (size_t)(p - in.p)}
             : (struct bj_slice){NULL, 0};
}

/* The number behind a word; false: it is not there. */
static bool tagged_number(struct bj_slice in, const char *word, uint64_t *ret)
{
    struct bj_slice s = tagged_find(in, word);
    const size_t n = strlen(word);
    if (s.n <= n)
        return false;
    s = (struct bj_slice){s.p + n, s.n - n};
    return bj_slice_number(&s, ret);
}

/* The last place of a word. */
static struct bj_slice tagged_find_last(struct bj_slice in, const char *word)
{
    struct bj_slice last = {NULL, 0}, s = in;
    while ((s = tagged_find(s, word)).n > 0) {
        last = s;
        s = (struct bj_slice){s.p + 1, s.n - 1};
    }
    return last;
}

/* Begin to change the object whose dictionary is dict: copy it without its
 * end.  false: it has another form. */
static bool tagged_begin(struct update *u, struct bj_slice dict,
                         uint64_t number)
{
    const struct bj_slice end = tagged_find(dict, "\n>>\nendobj\n");
    const struct bj_slice in_line = tagged_find(dict, ">>\nendobj\n");
    if (u->objects == OBJECTS || in_line.n == 0)
        return false;
    const char *stop = end.n > in_line.n ? end.p : in_line.p;
    u->number[u->objects] = number;
    u->at[u->objects++] = u->pdf.n + u->out.len;
    bj_buf_printf(&u->out, "%llu 0 obj\n", (unsigned long long)number);
    bj_buf_put(&u->out, dict.p, (size_t)(stop - dict.p));
    return true;
}

static void tagged_end(struct update *u)
{
    bj_buf_str(&u->out, "\n>>\nendobj\n");
}

/* Append a text as UTF-16 in hexadecimal digits. */
static void tagged_text(struct bj_buf *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    bj_buf_str(out, "<FEFF");
    while (*p) {
        const unsigned more = *p < 0xc0 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
        unsigned c = more == 0 ? *p : *p & (0x3fu >> more);
        p++;
        for (unsigned i = 0; i < more && (*p & 0xc0) == 0x80; i++)
            c = c << 6 | (*p++ & 0x3f);
        if (c >= 0x10000)
            bj_buf_printf(out, "%04X%04X", 0xd800 + ((c - 0x10000) >> 10),
                          0xdc00 + ((c - 0x10000) & 0x3ff));
        else
            bj_buf_printf(out, "%04X", c);
    }
    bj_buf_str(out, ">");
}

/* The number of the object in whose dictionary a place is: that of the line
 * before it. */
static bool tagged_object(struct bj_slice pdf, const char *dict, uint64_t *ret)
{
    static const char behind[] = " 0 obj\n";
    const size_t n = sizeof(behind) - 1;
    const char *p = dict - n;
    if (p <= pdf.p || memcmp(p, behind, n) != 0)
        return false;
    while (p > pdf.p && p[-1] >= '0' && p[-1] <= '9')
        p--;
    struct bj_slice s = {p, (size_t)(dict - p)};
    return bj_slice_number(&s, ret);
}

static bool tagged_figures(struct update *u, struct bj_slice texts)
{
    static const char element[] = "<< /Type /StructElem\n   /S /Figure\n";
    struct bj_slice s = u->pdf;
    uint64_t number;
    while ((s = tagged_find(s, element)).n > 0 && texts.n > 0) {
        if (!tagged_object(u->pdf, s.p, &number) || !tagged_begin(u, s, number))
            return false;
        bj_buf_str(&u->out, "\n   /Alt ");
        tagged_text(&u->out, texts.p);
        tagged_end(u);
        const size_t n = strlen(texts.p) + 1;
        texts = (struct bj_slice){texts.p + n, texts.n - n};
        s = (struct bj_slice){s.p + 1, s.n - 1};
    }
    return true;
}

void bj_tagged_amend(struct bj_buf *pdf, const char *language,
                     struct bj_slice figures)
{
    struct update u = {.pdf = {pdf->p, pdf->len}};
    const struct bj_slice trailer = tagged_find_last(u.pdf, "\ntrailer\n"),
                          catalog =
                              tagged_find_last(u.pdf, "<< /Type /Catalog\n");
    uint64_t size, root, info, previous, number;
    if (!tagged_number(trailer, "/Size ", &size) ||
        !tagged_number(trailer, "/Root ", &root) ||
        !tagged_number(trailer, "/Info ", &info) ||
        !tagged_number(trailer, "startxref\n", &previous) || catalog.n == 0 ||
        !tagged_object(u.pdf, catalog.p, &number) || number != root ||
        !tagged_begin(&u, catalog, root))
        return;
    bj_buf_str(&u.out, "\n   /Lang ");
    tagged_text(&u.out, language);
    bj_buf_str(&u.out, "\n   /ViewerPreferences << /DisplayDocTitle true >>");
    tagged_end(&u);
    if (tagged_figures(&u, figures)) {
        const size_t at = u.pdf.n + u.out.len;
        bj_buf_str(&u.out, "xref\n");
        for (unsigned i = 0; i < u.objects; i++)
            bj_buf_printf(&u.out, "%llu 1\n%010zu 00000 n \n",
                          (unsigned long long)u.number[i], u.at[i]);
        bj_buf_printf(&u.out,
                      "trailer\n<< /Size %llu\n   /Root %llu 0 R\n   /Info "
                      "%llu 0 R\n   /Prev %llu\n>>\nstartxref\n%zu\n%%%%EOF\n",
                      (unsigned long long)size, (unsigned long long)root,
                      (unsigned long long)info, (unsigned long long)previous,
                      at);
        bj_buf_put(pdf, u.out.p, u.out.len);
    }
    pdf->failed |= u.out.failed;
    bj_buf_free(&u.out);
}
