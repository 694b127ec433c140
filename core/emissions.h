/* Emission factors in the core: a thread that runs the feed of carbon/, and the
 * factors in snapshots. */
#ifndef BJ_CORE_EMISSIONS_H
#define BJ_CORE_EMISSIONS_H

#include "core/core.h"

struct bj_emissions;

/* -EINVAL if the options contradict each other, -ENOMEM, or no thread. */
int bj_emissions_new(const struct bj_conf *conf, const struct bj_host *host,
                     struct bj_emissions **ret, struct bj_err *err);
void bj_emissions_free(struct bj_emissions *e); /* NULL is fine */

void bj_emissions_publish(const struct bj_emissions *e, struct bj_snap *snap);

#endif
