/* Requests to a Redfish service, with the login that it supports.
 *
 * A session is opened with the first request, renewed when the service no
 * longer knows it, and closed at the end, since BMCs allow only a few sessions.
 * A service without sessions gets the credentials with each request.
 *
 * Source: DMTF DSP0266, 13.3 (authentication). */
#ifndef BJ_CORE_ENERGY_REDFISH_SESSION_H
#define BJ_CORE_ENERGY_REDFISH_SESSION_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "core/energy/meter.h"

struct bj_redfish;

/* Prepare requests to env->conf->redfish_url; nothing is sent yet.  The
 * environment and its conf must outlive *ret.  -ENODEV: no URL.  -EACCES: no
 * password in its file, or other users can read the file
 * (base/secret_file.h). */
int bj_redfish_new(const struct bj_meter_env *env, struct bj_redfish **ret,
                   struct bj_err *err);

/* Log out and free; takes a second at most.  NULL is fine. */
void bj_redfish_free(struct bj_redfish *s);

/* Get a document.  The tree is valid until the next call.  -ENODEV: the
 * document does not exist; -EBADMSG: the response is not JSON, or not HTTP;
 * -EACCES: the service refuses the credentials; -ETIMEDOUT, -ECANCELED; other
 * codes of base/fetch.h. */
int bj_redfish_get(struct bj_redfish *s, const char *uri,
                   const struct bj_json **ret, struct bj_err *err);

#endif
