/* A meter that reads a tree of plain files instead of /sys. */
#ifndef BJ_TESTS_UNIT_LIB_METER_H
#define BJ_TESTS_UNIT_LIB_METER_H

#include "core/energy/meter.h"

struct meter_rig {
    struct bj_energy_conf conf;
    struct bj_meter_env env;
    atomic_bool stop;
    const struct bj_meter_kind *kind;
    void *meter;
    struct bj_meter_sample sample; /* of the last reading */
    struct bj_err err;             /* of the last call */
    char text[8192];               /* the sample, see meter_text */
};

/* Make the directory of the test (tmp_make), and fill it with a tree of
 * tests/fixtures/energy, NULL for none.  meter_cleanup removes it and closes.
 */
void meter_setup(struct meter_rig *r, const char *tree);
void meter_cleanup(struct meter_rig *r);

/* Add the lines of a tree: "path value", "path -> target", "# remark". */
void meter_add_files(const char *lines);

/* Open the meter and return the result.  Closes an open meter first. */
int meter_open(struct meter_rig *r, const struct bj_meter_kind *kind);

/* Read the meter and return the result. */
int meter_read(struct meter_rig *r);

/* The sample as lines "name role e=energy r=range p=power l=limit m=max",
 * without values that are absent. */
const char *meter_text(struct meter_rig *r);

/* Read the meter and check the result and the text. */
void meter_expect(struct meter_rig *r, int want, const char *text);

/* Write a file of the tree, in an existing directory. */
void meter_write(const char *path, const char *text);

#endif
