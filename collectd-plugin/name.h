/* Names for collectd: plugin instances and type instances.
 *
 * A name has at most 127 characters of [A-Za-z0-9_.:@+-] and brackets.
 * Different texts get different names: valid text is kept; a path keeps its
 * shape, "/usr/bin/ls" is ":usr:bin:ls", and "(other)" is "[other]"; names that
 * begin with ':' or '[' are reserved for these. Any other text that had to be
 * changed or cut ends in "--" and a hash of the original, 12 hexadecimal
 * digits, as does text that ends that way itself. */
#ifndef BJ_COLLECTD_NAME_H
#define BJ_COLLECTD_NAME_H

#include "base/slice.h"
#include "core/find/ident.h"

enum { BJ_NAME_SIZE = 128 }; /* size of a name, with its NUL */

/* The name of a text (clean, base/text.h). */
void bj_name_text(struct bj_slice text, char dst[BJ_NAME_SIZE]);

/* The name of two texts, "a:b". */
void bj_name_pair(struct bj_slice a, struct bj_slice b, char dst[BJ_NAME_SIZE]);

/* The plugin instance of a job: "4711", "4711@node1" where a host runs several
 * slurmd. A job without a known id is named by its SLUID; "" without that. */
void bj_name_job(const struct bj_ident *ident, char dst[BJ_NAME_SIZE]);

/* The plugin instance of a step and of its tasks: "4711.batch". */
void bj_name_step(const struct bj_ident *ident, struct bj_slice step,
                  char dst[BJ_NAME_SIZE]);

#endif
