/* A meter over a tree of plain files that stands for /sys. */
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
 * tests/fixtures/energy, NULL for none.  meter_gone removes it and closes. */
void meter_tree(struct meter_rig *r, const char *tree);
void meter_gone(struct meter_rig *r);

/* Add the lines of a tree: "path value", "path -> target", "# remark". */
void meter_grow(const char *lines);

/* Open the meter; its result.  A meter that is open is closed before. */
int meter_open(struct meter_rig *r, const struct bj_meter_kind *kind);

/* Read it; its result. */
int meter_read(struct meter_rig *r);

/* The sample as lines "name role", behind which every value that is not absent
 * follows: " e=energy r=range p=power l=limit m=max". */
const char *meter_text(struct meter_rig *r);

/* One reading has this result and this text. */
void meter_reads(struct meter_rig *r, int want, const char *text);

/* Write a file of the tree, whose directory is there. */
void meter_set(const char *path, const char *text);

#endif
