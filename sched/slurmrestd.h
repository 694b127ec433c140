/* Client of slurmrestd: by TCP with a token (JWT), or by a unix socket. */
#ifndef BJ_SCHED_SLURMRESTD_H
#define BJ_SCHED_SLURMRESTD_H

#include "base/err.h"
#include "base/slice.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Address and identity; texts may be NULL or empty, and must outlive the
 * client. */
struct bj_slurmrestd_conf {
    const char *url;         /* http://HOST:6820; empty with a socket */
    const char *unix_socket; /* connect to this one instead */
    const char *user;        /* X-SLURM-USER-NAME */
    const char *token_file;  /* read for each request; must be trusted
                                (bj_file_read_trusted) */
    const char *ca_file;
    uint64_t version;       /* of its plugins, 40 for v0.0.40; 0: the newest */
    uint64_t deadline_usec; /* of a request */
};

/* Its two families of paths: /slurm (the controller) and /slurmdb. */
enum bj_slurmrestd_family {
    BJ_SLURMRESTD_CTL,
    BJ_SLURMRESTD_DB,
    BJ_SLURMRESTD_FAMILIES
};

struct bj_slurmrestd;

/* conf is copied.  For one thread at a time.  Errors of bj_fetch_new. */
int bj_slurmrestd_new(const struct bj_slurmrestd_conf *conf,
                      struct bj_slurmrestd **ret, struct bj_err *err);
void bj_slurmrestd_free(struct bj_slurmrestd *s); /* NULL is fine */

/* The newest version (37 to 99) of a family that it supports, or the configured
 * one.  Requested once, and again after a path was not found.  -ENOTSUP: none;
 * errors of bj_fetch and of the token file. */
int bj_slurmrestd_version(struct bj_slurmrestd *s,
                          enum bj_slurmrestd_family family,
                          const atomic_bool *abort, unsigned *ret,
                          struct bj_err *err);

/* GET a path ("/slurm/v0.0.40/jobs"); the sink receives a successful reply,
 * piece by piece.  Errors as above, and the sink's. */
int bj_slurmrestd_get(struct bj_slurmrestd *s, const char *path,
                      const atomic_bool *abort,
                      int (*sink)(void *ctx, struct bj_slice piece,
                                  struct bj_err *err),
                      void *ctx, struct bj_err *err);

/* The newest version of a family in its /openapi/v3; 0: no supported one. */
unsigned bj_slurmrestd_newest(struct bj_slice openapi,
                              enum bj_slurmrestd_family family);

#endif
