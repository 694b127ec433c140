/* Names for collectd: plugin instances and type instances.
 *
 * A name holds [A-Za-z0-9_.:@+-] and brackets and at most 127 bytes, and two
 * different texts never get the same one:
 *   - what needs no change is taken as it is;
 *   - a path keeps its shape, "/usr/bin/ls" is ":usr:bin:ls", and "(other)" is
 *     "[other]"; names that begin with ':' or '[' are kept for these;
 *   - whatever else had to be cleaned or cut ends in "--" and a hash of
 *     the whole text, 12 hexadecimal digits, and so does a text that only
 *     looks as if it did. */
#ifndef BJ_COLLECTD_NAME_H
#define BJ_COLLECTD_NAME_H

#include "base/slice.h"
#include "core/find/ident.h"

enum { BJ_NAME_SIZE = 128 }; /* bytes of a name, with its NUL */

/* The name of a text (clean, base/text.h). */
void bj_name_text(struct bj_slice text, char dst[BJ_NAME_SIZE]);

/* The name of two texts, "a:b". */
void bj_name_pair(struct bj_slice a, struct bj_slice b, char dst[BJ_NAME_SIZE]);

/* The plugin instance of a job: "4711", "4711@node1" where a host runs several
 * slurmd.  A job whose id is not known (yet) has the name of its SLUID; ""
 * when that is unknown too. */
void bj_name_job(const struct bj_ident *ident, char dst[BJ_NAME_SIZE]);

/* The plugin instance of a step and of its tasks: "4711.batch". */
void bj_name_step(const struct bj_ident *ident, struct bj_slice step,
                  char dst[BJ_NAME_SIZE]);

#endif
