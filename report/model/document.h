/* A report as a document: sections of figures, rows and sentences in the words
 * of the site.  It is built once, by bj_report_document() or
 * bj_period_document(); terminal, HTML and sheet (PDF) show the sections that
 * they have room for.  A form decides where something is and how it looks,
 * never what it says. */
#ifndef BJ_REPORT_MODEL_DOCUMENT_H
#define BJ_REPORT_MODEL_DOCUMENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sections; a document has each of them at most once. */
enum bj_doc_name {
    BJ_DOC_ABOUT, /* sentences below the title */
    BJ_DOC_VERDICT,
    BJ_DOC_RUNNING, /* for how long, of which limit; of a running job */
    BJ_DOC_ADVICE,
    BJ_DOC_FIGURES, /* what was used of what was held */
    BJ_DOC_NOW,     /* what a running job uses now of what it holds */
    BJ_DOC_HELD,    /* of a job that has ended: also of what the use is
                       unknown */
    BJ_DOC_REQUEST, /* what a request consists of: requested, used, and the next
                       request */
    BJ_DOC_FINDINGS,
    BJ_DOC_WARNINGS,
    BJ_DOC_NODES,
    BJ_DOC_GPUS,
    BJ_DOC_IDLE,    /* which of them are idle */
    BJ_DOC_SAMPLED, /* that their values are samples, or in doubt; of a bill
                       what it means */
    BJ_DOC_ARRAY,   /* note: how its tasks ended */
    BJ_DOC_FACTS,   /* note: the time zone */
    BJ_DOC_WASTE_GPU,
    BJ_DOC_WASTE_CPU,
    BJ_DOC_WASTE_MEMORY,
    BJ_DOC_COUNTS, /* findings, and how many jobs have them */
    BJ_DOC_GROUPS,
    BJ_DOC_BILL,    /* of a bill: what costs how much */
    BJ_DOC_MEMBERS, /* of a bill: who used it */
    BJ_DOC_SECTIONS
};

/* The columns of sections. */
enum { BJ_DOC_SENTENCE, BJ_DOC_ABOUT_COLUMNS };
enum {
    BJ_DOC_LEVEL,
    BJ_DOC_WRONG,
    BJ_DOC_COST,
    BJ_DOC_TODO,
    BJ_DOC_VERDICT_COLUMNS
};
enum {
    BJ_DOC_MARK, /* the severity of a finding, the time of a warning */
    BJ_DOC_ITEM,
    BJ_DOC_LINE, /* to copy into a script */
    BJ_DOC_URL,
    BJ_DOC_ITEM_COLUMNS
};
enum {
    BJ_DOC_LABEL,   /* "CPU time" */
    BJ_DOC_PERCENT, /* with a meter */
    BJ_DOC_AMOUNT,  /* "1.5 of 4 h" */
    BJ_DOC_QUALITY, /* "99 % known", "estimated" */
    /* of a job: the same with more columns, which have headings */
    BJ_DOC_AMOUNT_USED,
    BJ_DOC_ALLOCATED,
    BJ_DOC_REQUESTED,
    BJ_DOC_SOURCE, /* "nodes, measured" */
    BJ_DOC_FIGURE_COLUMNS
};
enum {
    BJ_DOC_RESOURCE, /* "Memory" */
    BJ_DOC_ASKED,
    BJ_DOC_TAKEN,
    BJ_DOC_HOW,      /* "on average", "at most", "now" */
    BJ_DOC_OF_ASKED, /* with a meter */
    BJ_DOC_NEXT,     /* the option of the next request */
    BJ_DOC_REQUEST_COLUMNS
};
enum {
    BJ_DOC_PART, /* the node or GPU; the least used is the first */
    BJ_DOC_BUSY, /* with a meter */
    BJ_DOC_PEAK,
    BJ_DOC_MEMORY, /* with a meter */
    BJ_DOC_LIMIT,
    BJ_DOC_PEAK_OF, /* "1.5 of 4 GiB" */
    BJ_DOC_MODEL,
    BJ_DOC_FAULT,      /* the worst error of a GPU */
    BJ_DOC_IDLE_SINCE, /* "idle since ..." */
    BJ_DOC_PART_COLUMNS
};
enum {
    BJ_DOC_VALUE,
    BJ_DOC_LEAST, /* to BJ_DOC_MOST: with their part of the most */
    BJ_DOC_MEDIAN,
    BJ_DOC_P95,
    BJ_DOC_MOST,
    BJ_DOC_TASK,   /* that has the most */
    BJ_DOC_SPREAD, /* only a heading */
    BJ_DOC_ARRAY_COLUMNS
};
enum { BJ_DOC_FACT, BJ_DOC_FACT_TEXT, BJ_DOC_FACT_COLUMNS };
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

enum {
    BJ_DOC_BILL_ITEM, /* what, or a member */
    BJ_DOC_BILL_AMOUNT,
    BJ_DOC_BILL_EACH,
    BJ_DOC_BILL_BEFORE, /* cost in the month before */
    BJ_DOC_BILL_COST,
    BJ_DOC_BILL_JOBS, /* from here: of members */
    BJ_DOC_BILL_CPU,
    BJ_DOC_BILL_GPU,
    BJ_DOC_BILL_COLUMNS
};

enum { BJ_DOC_COLUMNS = 10 }; /* of a section, at most */

/* The efficiency that a meter shows: forms with levels say how good it is. */
enum bj_doc_judge {
    BJ_DOC_NOT_JUDGED,
    BJ_DOC_JUDGE_CPU,
    BJ_DOC_JUDGE_MEMORY,
    BJ_DOC_JUDGE_GPU,
    BJ_DOC_JUDGE_TIME
};

struct bj_doc_cell {
    struct bj_slice text; /* any bytes of the store; n is 0: nothing */
    const char *unit;     /* behind text where no heading says it; or NULL */
    bool has_meter;       /* of ppm */
    bool is_long;         /* a text for a terminal begins a line for it */
    enum bj_doc_judge judge;
    int64_t ppm; /* BJ_SQL_NULL: unknown, an empty meter */
    double part; /* of the largest value of the row, 0 to 1 */
};

struct bj_doc_section {
    bool is_there;
    const char *title; /* NULL: none */
    unsigned columns;
    const char *head[BJ_DOC_COLUMNS]; /* NULL: none */
    struct bj_doc_cell *cell;         /* rows times columns */
    size_t rows, cap;
    struct bj_slice note; /* a sentence beside the rows */
};

/* Zero-initialise; free with bj_doc_free.  arena.failed: memory ran out. */
struct bj_doc {
    struct bj_arena arena;
    struct bj_buf scratch; /* bj_doc_take() */
    /* "Job 4711", its name, "Report of job 4711 (solve)", and the task of the
     * array whose values it has, or empty; terminated, of any bytes */
    struct bj_slice title, name, whole_title, task;
    int64_t created_sec; /* of the newest value */
    struct bj_doc_section section[BJ_DOC_SECTIONS];
    struct bj_doc_cell spare[BJ_DOC_COLUMNS]; /* a row without memory */
};

void bj_doc_free(struct bj_doc *d);

/* Append a title of nodes or GPUs, of which a form shows only some: "GPUs: the
 * 10 least busy of 32". */
void bj_doc_least(struct bj_buf *out, const struct bj_doc_section *s,
                  size_t shown);

/* Begin a section.  title and heads are in the words of the site. */
struct bj_doc_section *bj_doc_add(struct bj_doc *d, enum bj_doc_name name,
                                  const char *title, unsigned columns);

/* Add a row of empty cells; it is valid until the next one. */
struct bj_doc_cell *bj_doc_row(struct bj_doc *d, struct bj_doc_section *s);

/* Return the text of scratch, and clear it. */
struct bj_slice bj_doc_take(struct bj_doc *d);

/* Append a document as JSON, for the process that draws, and read it: what a
 * sheet shows.  -EBADMSG: not a document; -ENOMEM. */
struct bj_json;
void bj_doc_write(const struct bj_doc *d, struct bj_buf *out);
int bj_doc_parse(const struct bj_json *object, struct bj_doc *ret,
                 struct bj_err *err);

/* The cell of a row and column. */
static inline const struct bj_doc_cell *
bj_doc_cell(const struct bj_doc_section *s, size_t row, unsigned column)
{
    return &s->cell[row * s->columns + column];
}

/* Whether the section of the request has options of the next one. */
static inline bool bj_doc_has_next(const struct bj_doc *d)
{
    const char *head = d->section[BJ_DOC_REQUEST].head[BJ_DOC_NEXT];
    return head && *head != 0;
}

#endif
