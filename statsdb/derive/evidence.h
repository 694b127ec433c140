/* Evidence of findings, from the nodes, GPUs and curves of a job: uneven work,
 * memory that rises steadily, and times in which nothing was used
 * (docs/derived.md).  No function reads the store or Prometheus.
 *
 * NAN: an unknown value. */
#ifndef BJ_STATSDB_DERIVE_EVIDENCE_H
#define BJ_STATSDB_DERIVE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer points of a curve are no evidence. */
enum { BJ_EVIDENCE_POINTS = 20 };

/* Find the values that differ from the others.  With four or more, those that
 * differ from the median by more than a fifth of it, and by more than five
 * standard deviations (1.4826 times the median of the differences).  If there
 * are none, or only two or three values: those below half of the largest.
 * Returns the largest difference in percent, 0: none differs, NAN: a value is
 * unknown, there are fewer than two, or none is above 0.  differs has n
 * elements. */
double bj_evidence_uneven(const double *v, size_t n, bool *differs);

/* The line of least squares through the last 80 % of a curve of memory.
 * *ret_rise: bytes per hour, 0 if it does not rise.  *ret_steady: how much of
 * the curve's variance the line explains, 0 to 1; 0 if memory had stopped
 * rising at the end.  Both NAN: more than a tenth of the points is unknown, or
 * there are too few. */
void bj_evidence_rise(const double *v, size_t n, double step_sec,
                      double *ret_rise, double *ret_steady);

/* The use of a job over time; point i is the mean of the window_sec seconds
 * before start_sec + (i + 1) * step_sec. */
struct bj_evidence_use {
    const double *cpus;  /* busy CPUs */
    const double *bytes; /* read and written by system calls, per second */
    const double *gpus;  /* the largest part of the time in which one of its
                            GPUs was busy, 0 to 1; NULL: no GPUs */
    size_t n;
    int64_t step_sec, window_sec;
    int64_t start_sec, end_sec; /* of the job */
    int64_t nodes;
};

/* How long the job used neither CPUs nor GPUs nor I/O at its start and at its
 * end, in seconds.  Less than a tenth of a CPU of each node that is also less
 * than a twentieth of the most, 10 kB/s and 1 % of a GPU count as nothing.
 * *ret_start: -1 if it never used anything.  -1 also where a point that matters
 * is unknown. */
void bj_evidence_idle(const struct bj_evidence_use *u, int64_t *ret_start,
                      int64_t *ret_end);

#endif
