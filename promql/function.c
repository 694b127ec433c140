#include "promql/function.h"

#define V BJ_PROMQL_T_VECTOR
#define S BJ_PROMQL_T_SCALAR

/* Source: Prometheus 3.14, promql/parser/functions.go; holt_winters is the
 * name of double_exponential_smoothing before 3.0. */
static const struct bj_promql_function functions[] = {
    {"abs", "V", V},
    {"absent", "V", V},
    {"absent_over_time", "M", V},
    {"acos", "V", V},
    {"acosh", "V", V},
    {"asin", "V", V},
    {"asinh", "V", V},
    {"atan", "V", V},
    {"atanh", "V", V},
    {"avg_over_time", "M", V},
    {"ceil", "V", V},
    {"changes", "M", V},
    {"clamp", "VSS", V},
    {"clamp_max", "VS", V},
    {"clamp_min", "VS", V},
    {"cos", "V", V},
    {"cosh", "V", V},
    {"count_over_time", "M", V},
    {"day_of_month", "?V", V},
    {"day_of_week", "?V", V},
    {"day_of_year", "?V", V},
    {"days_in_month", "?V", V},
    {"deg", "V", V},
    {"delta", "M", V},
    {"deriv", "M", V},
    {"double_exponential_smoothing", "MSS", V},
    {"end", "", S},
    {"exp", "V", V},
    {"first_over_time", "M", V},
    {"floor", "V", V},
    {"histogram_avg", "V", V},
    {"histogram_count", "V", V},
    {"histogram_fraction", "SSV", V},
    {"histogram_quantile", "SV", V},
    {"histogram_quantiles", "VTS?SSSSSSSSS", V},
    {"histogram_stddev", "V", V},
    {"histogram_stdvar", "V", V},
    {"histogram_sum", "V", V},
    {"holt_winters", "MSS", V},
    {"hour", "?V", V},
    {"idelta", "M", V},
    {"increase", "M", V},
    {"info", "V?B", V},
    {"irate", "M", V},
    {"label_join", "VTT*T", V},
    {"label_replace", "VTTTT", V},
    {"last_over_time", "M", V},
    {"ln", "V", V},
    {"log10", "V", V},
    {"log2", "V", V},
    {"mad_over_time", "M", V},
    {"max_of", "SS", S},
    {"max_over_time", "M", V},
    {"min_of", "SS", S},
    {"min_over_time", "M", V},
    {"minute", "?V", V},
    {"month", "?V", V},
    {"pi", "", S},
    {"predict_linear", "MS", V},
    {"present_over_time", "M", V},
    {"quantile_over_time", "SM", V},
    {"rad", "V", V},
    {"range", "", S},
    {"rate", "M", V},
    {"resets", "M", V},
    {"round", "V?S", V},
    {"scalar", "V", S},
    {"sgn", "V", V},
    {"sin", "V", V},
    {"sinh", "V", V},
    {"sort", "V", V},
    {"sort_by_label", "V*T", V},
    {"sort_by_label_desc", "V*T", V},
    {"sort_desc", "V", V},
    {"sqrt", "V", V},
    {"start", "", S},
    {"start_timestamp", "V", V},
    {"stddev_over_time", "M", V},
    {"stdvar_over_time", "M", V},
    {"step", "", S},
    {"sum_over_time", "M", V},
    {"tan", "V", V},
    {"tanh", "V", V},
    {"time", "", S},
    {"timestamp", "V", V},
    {"ts_of_first_over_time", "M", V},
    {"ts_of_last_over_time", "M", V},
    {"ts_of_max_over_time", "M", V},
    {"ts_of_min_over_time", "M", V},
    {"vector", "S", V},
    {"year", "?V", V},
};

const struct bj_promql_function *bj_promql_function(struct bj_slice name)
{
    size_t low = 0, high = sizeof functions / sizeof *functions;
    while (low < high) {
        size_t mid = (low + high) / 2;
        struct bj_slice s = bj_slice_str(functions[mid].name);
        int c = memcmp(name.p, s.p, name.n < s.n ? name.n : s.n);
        if (c == 0 && name.n == s.n)
            return &functions[mid];
        if (c < 0 || (c == 0 && name.n < s.n))
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}
