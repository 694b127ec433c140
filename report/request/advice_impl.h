/* Of report/advice*.c only: advice while it is put together. */
#ifndef BJ_REPORT_REQUEST_ADVICE_IMPL_H
#define BJ_REPORT_REQUEST_ADVICE_IMPL_H

#include "report/model/sentence.h"
#include "report/request/advice.h"
#include "report/request/request.h"

enum { BJ_ADVICE_MAX = 32 };

/* Advice that follows from a finding and that is part of the next request. */
struct bj_wish {
    const struct bj_report_finding *finding; /* NULL: no wish */
    enum bj_sentence with;  /* {1} is the option, then the values */
    enum bj_sentence words; /* without option; BJ_SENTENCE_COUNT: none */
    unsigned words_from;    /* the first value of words */
};

struct bj_advisor {
    struct bj_report *r;
    const struct bj_report_known *known;
    /* the finding to which the advice belongs */
    const struct bj_report_finding *finding;
    struct bj_buf value[BJ_SENTENCE_VALUES];
    unsigned values;
    struct bj_request_need need;
    struct bj_request next;
    /* The wishes, with the values of their sentences as texts. */
    struct bj_wish wish[BJ_REQUEST_PARTS];
    struct bj_slice shown[BJ_REQUEST_PARTS][BJ_SENTENCE_VALUES];
    unsigned shows[BJ_REQUEST_PARTS];
};

/* The next value of the next sentence, empty. */
struct bj_buf *bj_advice_value(struct bj_advisor *a);

/* Append an advice with the values so far; NULL: there are too many. */
struct bj_report_advice *bj_advice_append(struct bj_advisor *a,
                                          const char *name,
                                          enum bj_sentence which);

/* Append an advice with the values so far, unless there is one of that name. */
void bj_advice_add(struct bj_advisor *a, const char *name,
                   enum bj_sentence which);

/* Make the values so far the wish for a part of the next request; words_from:
 * the first value of words. */
void bj_advice_wish(struct bj_advisor *a, enum bj_request_part part,
                    enum bj_sentence with, enum bj_sentence words,
                    unsigned words_from);

static inline bool bj_advice_wished(const struct bj_advisor *a,
                                    enum bj_request_part part)
{
    return a->wish[part].finding != NULL;
}

static inline bool bj_advice_of_array(const struct bj_advisor *a)
{
    return a->r->array.tasks > 1;
}

static inline int64_t bj_advice_number(const struct bj_advisor *a,
                                       enum bj_report_column c)
{
    return bj_report_number(a->r, c);
}

/* Memory allocated to the job, else requested. */
int64_t bj_advice_memory_had(const struct bj_advisor *a);

/* The most CPUs of a job, or of a task of an array, that were busy on average,
 * in millionths. */
int64_t bj_advice_busy(const struct bj_advisor *a);

/* Do enough tasks of an array have the finding a->finding? */
bool bj_advice_is_common(const struct bj_advisor *a);

/* Turn a->finding into wishes for the next request. */
void bj_advice_find(struct bj_advisor *a);

#endif
