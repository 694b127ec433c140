/* A report as a document: sections of figures, rows and sentences in the words
 * of the site.  It is built once, by bj_period_document(); terminal, HTML and
 * sheet (PDF) show the sections that they have room for.  A form decides where
 * something is and how it looks, never what it says. */
#ifndef BJ_REPORT_MODEL_DOCUMENT_H
#define BJ_REPORT_MODEL_DOCUMENT_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sections; a document has each of them at most once. */
enum bj_doc_name {
    BJ_DOC_ABOUT,   /* sentences below the title */
    BJ_DOC_FIGURES, /* what was used of what was held */
    BJ_DOC_WASTE_GPU,
    BJ_DOC_WASTE_CPU,
    BJ_DOC_WASTE_MEMORY,
    BJ_DOC_COUNTS, /* findings, and how many jobs have them */
    BJ_DOC_GROUPS,
    BJ_DOC_SECTIONS
};

/* The columns of sections. */
enum { BJ_DOC_SENTENCE, BJ_DOC_ABOUT_COLUMNS };
enum {
    BJ_DOC_LABEL,   /* "CPU time" */
    BJ_DOC_PERCENT, /* with a meter */
    BJ_DOC_AMOUNT,  /* "1.5 of 4 h" */
    BJ_DOC_QUALITY, /* "99 % known" */
    BJ_DOC_FIGURE_COLUMNS
};
enum {
    BJ_DOC_JOB,
    BJ_DOC_USER,
    BJ_DOC_JOB_NAME,
    BJ_DOC_UNUSED,
    BJ_DOC_USED, /* with a meter */
    BJ_DOC_WASTE_COLUMNS
};
enum { BJ_DOC_FINDING, BJ_DOC_JOBS, BJ_DOC_COUNT_COLUMNS };
enum {
    BJ_DOC_GROUP,
    BJ_DOC_GROUP_JOBS,
    BJ_DOC_CPU_HOURS,
    BJ_DOC_CPU_USED, /* with a meter */
    BJ_DOC_CPU_KNOWN,
    BJ_DOC_GPU_HOURS,
    BJ_DOC_ENERGY,
    BJ_DOC_GROUP_COLUMNS
};

enum { BJ_DOC_COLUMNS = 8 }; /* of a section, at most */

struct bj_doc_cell {
    struct bj_slice text; /* any bytes of the store; n is 0: nothing */
    const char *unit;     /* behind text where no heading says it; or NULL */
    bool has_meter;       /* of ppm */
    bool is_long;         /* a text for a terminal begins a line for it */
    int64_t ppm;          /* BJ_SQL_NULL: unknown, an empty meter */
};

struct bj_doc_section {
    bool is_there;
    const char *title; /* NULL: none */
    unsigned columns;
    const char *head[BJ_DOC_COLUMNS]; /* NULL: none */
    struct bj_doc_cell *cell;         /* rows times columns */
    size_t rows, cap;
};

/* Zero-initialise; free with bj_doc_free.  arena.failed: memory ran out. */
struct bj_doc {
    struct bj_arena arena;
    struct bj_buf scratch; /* bj_doc_take() */
    struct bj_slice title; /* terminated */
    int64_t created_sec;   /* of the newest value */
    struct bj_doc_section section[BJ_DOC_SECTIONS];
    struct bj_doc_cell spare[BJ_DOC_COLUMNS]; /* a row without memory */
};

void bj_doc_free(struct bj_doc *d);

/* Begin a section.  title and heads are in the words of the site. */
struct bj_doc_section *bj_doc_add(struct bj_doc *d, enum bj_doc_name name,
                                  const char *title, unsigned columns);

/* Add a row of empty cells; it is valid until the next one. */
struct bj_doc_cell *bj_doc_row(struct bj_doc *d, struct bj_doc_section *s);

/* Return the text of scratch, and clear it. */
struct bj_slice bj_doc_take(struct bj_doc *d);

/* The cell of a row and column. */
static inline const struct bj_doc_cell *
bj_doc_cell(const struct bj_doc_section *s, size_t row, unsigned column)
{
    return &s->cell[row * s->columns + column];
}

#endif
