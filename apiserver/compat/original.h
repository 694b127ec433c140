/* Functions for the API of the original server that do not use the store. */
#ifndef BJ_APISERVER_COMPAT_ORIGINAL_H
#define BJ_APISERVER_COMPAT_ORIGINAL_H

#include "base/buf.h"

/* Append the original server's id of a job (base/jobuuid.h). */
void bj_original_uuid(struct bj_slice jobid, struct bj_slice uid,
                      struct bj_slice account, struct bj_slice nodelist,
                      struct bj_buf *to);

/* Append a host list of Slurm as a regular expression, "n1|n2", with special
 * characters escaped. At most 4096 hosts; nothing for an invalid list. */
void bj_original_hosts(struct bj_slice nodelist, struct bj_buf *to);

/* Append seconds as sacct prints them: "[D-]HH:MM:SS". */
void bj_original_elapsed(uint64_t sec, struct bj_buf *to);

#endif
