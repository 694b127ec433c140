/* URLs and replies of each provider.  Private to the room. */
#ifndef BJ_CARBON_PROVIDER_LIST_H
#define BJ_CARBON_PROVIDER_LIST_H

#include "carbon/reply.h"

void bj_carbon_rte_url(const struct bj_carbon_target *target,
                       struct bj_buf *out);
int bj_carbon_rte_parse(struct bj_slice text, const char *zone,
                        struct bj_carbon_reply *ret, struct bj_err *err);
void bj_carbon_emaps_url(const struct bj_carbon_target *target,
                         struct bj_buf *out);
int bj_carbon_emaps_parse(struct bj_slice text, const char *zone,
                          struct bj_carbon_reply *ret, struct bj_err *err);
void bj_carbon_neso_url(const struct bj_carbon_target *target,
                        struct bj_buf *out);
int bj_carbon_neso_parse(struct bj_slice text, const char *zone,
                         struct bj_carbon_reply *ret, struct bj_err *err);
void bj_carbon_watttime_url(const struct bj_carbon_target *target,
                            struct bj_buf *out);
int bj_carbon_watttime_parse(struct bj_slice text, const char *zone,
                             struct bj_carbon_reply *ret, struct bj_err *err);

#endif
