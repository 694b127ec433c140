/* Converts resources from Slurm's database, "1=4,2=256512,1001=2", to sacct's
 * text and order: "cpu=4,gres/gpu=2,mem=256512M".
 *
 * Source: Slurm, src/common/slurmdb_defs.c, slurmdb_make_tres_string(). */
#ifndef BJ_STATSDB_TABLES_TRES_NAMES_H
#define BJ_STATSDB_TABLES_TRES_NAMES_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise; free with bj_tres_names_free. */
struct bj_tres_names {
    struct bj_tres_name *v;
    unsigned n;
    size_t cap;
};

/* Add a row of tres_table; further rows with the same number are ignored.
 * -ENOMEM. */
int bj_tres_names_add(struct bj_tres_names *t, uint64_t id,
                      struct bj_slice type, struct bj_slice name);
void bj_tres_names_free(struct bj_tres_names *t);

/* Append a list as sacct's text. requested: memory is in MiB and gets the
 * suffix "M". Items that have no name, are unknown or cannot be read are
 * omitted. */
void bj_tres_names_put(const struct bj_tres_names *t, struct bj_slice list,
                       bool requested, struct bj_buf *out);

#endif
