#include "statsdb/derive/evidence.h"

#include <math.h>
#include <stdlib.h>

/* --- uneven work -----------------------------------------------------------
 */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof(*v), by_size);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Find the values that are far from the median. */
static double outliers(const double *v, size_t n, double *work, bool *differs)
{
    enum { FEWEST = 4 };
    static const double deviations = 5, of_median = 0.2, to_sigma = 1.4826;
    double most = 0;
    if (n < FEWEST)
        return 0;
    for (size_t i = 0; i < n; i++)
        work[i] = v[i];
    const double mid = median(work, n);
    for (size_t i = 0; i < n; i++)
        work[i] = fabs(v[i] - mid);
    const double sigma = to_sigma * median(work, n);
    if (mid <= 0)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const double d = fabs(v[i] - mid);
        differs[i] = d > deviations * sigma && d > of_median * mid;
        most = differs[i] && d / mid > most ? d / mid : most;
    }
    return most;
}

/* Find the values below half of the largest. */
static double halves(const double *v, size_t n, double largest, bool *differs)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (largest - v[i]) / largest;
        differs[i] = d > 0.5;
        most = differs[i] && d > most ? d : most;
    }
    return most;
}

double bj_evidence_uneven(const double *v, size_t n, bool *differs)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        differs[i] = false;
        if (isnan(v[i]))
            return (double)NAN;
        largest = v[i] > largest ? v[i] : largest;
    }
    double *work = n >= 2 && largest > 0 ? calloc(n, sizeof(*work)) : NULL;
    if (!work)
        return (double)NAN;
    double most = outliers(v, n, work, differs);
    if (!(most > 0))
        most = halves(v, n, largest, differs);
    free(work);
    return 100 * most;
}

/* --- rising memory ---------------------------------------------------------
 */

struct line {
    double n, t, v, tt, tv, vv; /* sums */
};

static void evidence_add(struct line *l, double t, double v)
{
    l->n++;
    l->t += t;
    l->v += v;
    l->tt += t * t;
    l->tv += t * v;
    l->vv += v * v;
}

void bj_evidence_rise(const double *v, size_t n, double step_sec,
                      double *ret_rise, double *ret_steady)
{
    static const double stopped = 0.95; /* of the line at the end */
    struct line all = {0}, last = {0};
    double scale = 0;
    size_t unknown = 0;
    *ret_rise = *ret_steady = (double)NAN;
    for (size_t i = 0; i < n; i++)
        scale = v[i] > scale ? v[i] : scale;
    for (size_t i = n / 5; i < n; i++) {
        if (isnan(v[i])) {
            unknown++;
            continue;
        }
        /* small numbers, since squares of bytes lose digits */
        const double x = scale > 0 ? v[i] / scale : 0;
        evidence_add(&all, (double)i, x);
        if (i >= n - n / 10)
            evidence_add(&last, (double)i, x);
    }
    if (n < BJ_EVIDENCE_POINTS || unknown * 10 > n || last.n < 1)
        return;
    const double var_t = all.tt / all.n - all.t / all.n * (all.t / all.n);
    const double var_v = all.vv / all.n - all.v / all.n * (all.v / all.n);
    const double cov = all.tv / all.n - all.t / all.n * (all.v / all.n);
    const double slope = cov / var_t;
    const double at_end =
        all.v / all.n + slope * (last.t / last.n - all.t / all.n);
    const bool rises = slope > 0 && var_v > 1e-12;
    *ret_rise = rises ? slope * scale / step_sec * 3600 : 0;
    *ret_steady = rises && last.v / last.n >= stopped * at_end
                      ? fmin(slope * cov / var_v, 1)
                      : 0;
}

/* --- nothing used ----------------------------------------------------------
 */

enum { NOTHING, SOMETHING, UNKNOWN };

/* The limit below which CPUs count as not used. */
static double least_cpus(const struct bj_evidence_use *u)
{
    static const double of_node = 0.1, of_most = 0.05;
    double most = 0;
    for (size_t i = 0; i < u->n; i++)
        most = u->cpus[i] > most ? u->cpus[i] : most;
    return fmin(of_most * most, of_node * (double)u->nodes);
}

static int used(const struct bj_evidence_use *u, size_t i, double cpus)
{
    static const double least_bytes = 10e3, least_gpu = 0.01;
    const double gpu = u->gpus ? u->gpus[i] : 0;
    if (u->cpus[i] >= cpus || u->bytes[i] >= least_bytes || gpu >= least_gpu)
        return u->cpus[i] > 0 || u->bytes[i] > 0 || gpu > 0 ? SOMETHING
                                                            : NOTHING;
    return isnan(u->cpus[i]) || isnan(u->bytes[i]) || isnan(gpu) ? UNKNOWN
                                                                 : NOTHING;
}

static int64_t time_of(const struct bj_evidence_use *u, size_t i)
{
    return u->start_sec + (int64_t)(i + 1) * u->step_sec;
}

/* The first points are unknown until two samples are there. */
static bool may_lack(const struct bj_evidence_use *u, size_t i)
{
    return time_of(u, i) <= u->start_sec + u->window_sec + u->step_sec;
}

void bj_evidence_idle(const struct bj_evidence_use *u, int64_t *ret_start,
                      int64_t *ret_end)
{
    const double cpus = least_cpus(u);
    size_t first = 0, last = u->n;
    int state = NOTHING;
    *ret_start = *ret_end = -1;
    if (u->n < BJ_EVIDENCE_POINTS || time_of(u, u->n) <= u->end_sec)
        return;
    for (; first < u->n; first++) {
        state = used(u, first, cpus);
        if (state == SOMETHING || (state == UNKNOWN && !may_lack(u, first)))
            break;
    }
    if (first < u->n && state == SOMETHING) {
        const int64_t sec = time_of(u, first) - u->window_sec - u->start_sec;
        *ret_start = sec > 0 ? sec : 0;
    }
    for (; last > 0; last--) {
        state = used(u, last - 1, cpus);
        if (state == SOMETHING || (state == UNKNOWN && !may_lack(u, last - 1)))
            break;
    }
    if (last == 0)
        *ret_end = u->end_sec - u->start_sec;
    else if (state == SOMETHING)
        *ret_end = u->end_sec - time_of(u, last - 1);
}
