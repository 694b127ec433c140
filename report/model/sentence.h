/* All sentences of reports; a site may replace them (report/model/catalogue.h).
 */
#ifndef BJ_REPORT_MODEL_SENTENCE_H
#define BJ_REPORT_MODEL_SENTENCE_H

#include "base/arena.h"
#include "base/buf.h"

/* In the order of use: verdict, cost, advice, warnings, labels of figures. */
#define BJ_SENTENCES(X)                                                        \
    X(WAITS)                                                                   \
    X(WAITS_FOR)                                                               \
    X(WAITS_AS)                                                                \
    X(RUNS)                                                                    \
    X(RUNS_NOW)                                                                \
    X(NOW_CPU)                                                                 \
    X(NOW_CPUS)                                                                \
    X(NOW_MEMORY)                                                              \
    X(NOW_GPUS)                                                                \
    X(OOM)                                                                     \
    X(TIMEOUT)                                                                 \
    X(TIMEOUT_ANY)                                                             \
    X(FAILED)                                                                  \
    X(SIGNALLED)                                                               \
    X(EXIT_SIGNAL)                                                             \
    X(EXIT_NOT_FOUND)                                                          \
    X(EXIT_NOT_EXECUTABLE)                                                     \
    X(FAILED_SOMEHOW)                                                          \
    X(CANCELLED)                                                               \
    X(CANCELLED_BEFORE)                                                        \
    X(DEADLINE)                                                                \
    X(PREEMPTED)                                                               \
    X(NODE_FAIL)                                                               \
    X(NODES_FAIL)                                                              \
    X(NODE_OF_FAIL)                                                            \
    X(ENDED)                                                                   \
    X(ENDED_BEFORE)                                                            \
    X(SHORT)                                                                   \
    X(UNMEASURED)                                                              \
    X(HINTS)                                                                   \
    X(GOOD)                                                                    \
    X(SLOWER)                                                                  \
    X(PARTLY)                                                                  \
    X(PARTLY_HINTS)                                                            \
    X(PARTLY_NODES)                                                            \
    X(PARTLY_GPUS)                                                             \
    X(ARRAY)                                                                   \
    X(ARRAY_FAILED)                                                            \
    X(ARRAY_NAMES)                                                             \
    X(ARRAY_NAMES_MORE)                                                        \
    X(TASKS_HAVE)                                                              \
    X(TASK_HAS)                                                                \
    X(COST_CPU)                                                                \
    X(COST_CPU_UNKNOWN)                                                        \
    X(COST_GPU)                                                                \
    X(COST_GPU_IDLE)                                                           \
    X(COST_ENERGY)                                                             \
    X(COST_EMISSIONS)                                                          \
    X(COST_ENERGY_AT_LEAST)                                                    \
    X(COST_EMISSIONS_AT_LEAST)                                                 \
    X(COST_ENERGY_PART)                                                        \
    X(COST_EMISSIONS_PART)                                                     \
    X(COST_MONEY)                                                              \
    X(COST_MONEY_AT_LEAST)                                                     \
    X(COST_MONEY_PART)                                                         \
    X(NOT_CHARGED)                                                             \
    X(NOT_CHARGED_OF)                                                          \
    X(SUBMIT_AGAIN)                                                            \
    X(SUBMIT_TASKS_AGAIN)                                                      \
    X(NEXT_TIME)                                                               \
    X(NEXT_INSTEAD)                                                            \
    X(NEXT_INSTEAD_LINE)                                                       \
    X(NEXT_SCRIPT)                                                             \
    X(NEXT_UNKNOWN)                                                            \
    X(NEXT_SELECT)                                                             \
    X(NEXT_MEMORY)                                                             \
    X(NEXT_MARGIN_MEMORY)                                                      \
    X(NEXT_MARGIN_TIME)                                                        \
    X(MEMORY)                                                                  \
    X(MEMORY_ARRAY)                                                            \
    X(MEMORY_SAMPLED)                                                          \
    X(MEMORY_ALL)                                                              \
    X(MEMORY_OUTLIER)                                                          \
    X(MEMORY_WORDS)                                                            \
    X(MORE_MEMORY)                                                             \
    X(MORE_MEMORY_WORDS)                                                       \
    X(KEEP_MEMORY)                                                             \
    X(TIME)                                                                    \
    X(TIME_ARRAY)                                                              \
    X(TIME_OUTLIER)                                                            \
    X(TIME_WORDS)                                                              \
    X(MORE_TIME)                                                               \
    X(MORE_TIME_ARRAY)                                                         \
    X(SERIAL)                                                                  \
    X(SERIAL_WORDS)                                                            \
    X(FEWER_CPUS)                                                              \
    X(FEWER_CPUS_WORDS)                                                        \
    X(KEEP_CPUS)                                                               \
    X(FEWER_GPUS)                                                              \
    X(FEWER_GPUS_WORDS)                                                        \
    X(NO_GPUS)                                                                 \
    X(FEWER_NODES)                                                             \
    X(FEWER_NODES_WORDS)                                                       \
    X(ONE_NODE)                                                                \
    X(ONE_NODE_WORDS)                                                          \
    X(GPU_LOW)                                                                 \
    X(GPU_SESSION)                                                             \
    X(GPU_SLICE)                                                               \
    X(GPU_SPREAD)                                                              \
    X(GPU_CPUS)                                                                \
    X(UNEVEN)                                                                  \
    X(THREADS)                                                                 \
    X(SMALL_IO)                                                                \
    X(SCRATCH)                                                                 \
    X(OOM_STEPS)                                                               \
    X(OOM_LEAK)                                                                \
    X(LEAK)                                                                    \
    X(WARN_DRY)                                                                \
    X(WARN_WAITS)                                                              \
    X(WARN_DONE)                                                               \
    X(WARN_FAILED)                                                             \
    X(CANCEL_DRY)                                                              \
    X(CANCEL_RUNS)                                                             \
    X(CANCEL_DONE)                                                             \
    X(CANCEL_FAILED)                                                           \
    X(LABEL_CPU)                                                               \
    X(LABEL_MEMORY)                                                            \
    X(LABEL_CHARGED)                                                           \
    X(LABEL_GPU)                                                               \
    X(LABEL_GPU_MEMORY)                                                        \
    X(LABEL_TIME)                                                              \
    X(LABEL_READ)                                                              \
    X(LABEL_WRITE)                                                             \
    X(LABEL_ENERGY)                                                            \
    X(LABEL_EMISSIONS)                                                         \
    X(LABEL_COST)

enum bj_sentence {
#define BJ_SENTENCE_ENUM(name) BJ_SENTENCE_##name,
    BJ_SENTENCES(BJ_SENTENCE_ENUM)
#undef BJ_SENTENCE_ENUM
        BJ_SENTENCE_COUNT
};

/* The built-in sentences; values replace {1} to {5}. */
extern const char *const bj_sentences[BJ_SENTENCE_COUNT];

enum { BJ_SENTENCE_VALUES = 5 };

/* Return a sentence of the report's catalogue, filled with values, in the arena
 * of the report; missing values are "". */
struct bj_report;
struct bj_slice bj_sentence_text(struct bj_report *r, enum bj_sentence which,
                                 const struct bj_buf *value, unsigned values);

#endif
