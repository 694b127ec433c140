/* A test double of collectd's daemon: the symbols that the plugin uses,
 * recording its calls. */
#ifndef BJ_TESTS_UNIT_LIB_FAKECOLLECTD_H
#define BJ_TESTS_UNIT_LIB_FAKECOLLECTD_H

#include <collectd/core/daemon/plugin.h>

/* The dispatched values as text, a line each: plugin[-instance]/type[-instance]
 * KIND VALUE [key=value ...] KIND and VALUE are "derive 1500000", "gauge 0.25";
 * meta data are in the order in which they were added. */
struct bj_double {
    /* registered */
    char config_name[DATA_MAX_NAME_LEN], init_name[DATA_MAX_NAME_LEN];
    char shutdown_name[DATA_MAX_NAME_LEN];
    char read_name[DATA_MAX_NAME_LEN], read_group[DATA_MAX_NAME_LEN];
    int (*config)(oconfig_item_t *);
    plugin_init_cb init;
    plugin_read_cb read;
    plugin_shutdown_cb shutdown;
    cdtime_t read_interval;
    unsigned readers; /* registered and not unregistered */
    /* data sets of the site, and registered ones */
    data_set_t *sets;
    size_t nsets;
    unsigned sets_registered; /* by the plugin */
    /* dispatched since the last bj_double_clear */
    char **lines;
    cdtime_t *times;
    size_t nlines;
    unsigned unknown; /* of a type without data set, or of a different kind */
    unsigned duplicates; /* with identifier and time of another value */
    /* other data */
    char log[8192];             /* "LEVEL message\n" ... */
    unsigned threads;           /* started */
    unsigned metas;             /* alive */
    cdtime_t now;               /* the time that cdtime() returns */
    int fail_read, fail_thread; /* results to fail with */
};

/* The daemon. Reset it at the start of every test: frees everything. */
extern struct bj_double bj_double;
void bj_double_reset(void);

/* Clear dispatched values and log, keep the rest. */
void bj_double_clear(void);

/* A type of the site's TypesDB; type is DS_TYPE_*, ds_num is 1 or 2. */
void bj_double_site_type(const char *name, int type, size_t ds_num);

/* The number of lines equal to this one. */
size_t bj_double_count(const char *line);

/* The first line with this prefix, or NULL. */
const char *bj_double_find(const char *start);

#endif
