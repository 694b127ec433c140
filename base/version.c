#include "base/version.h"

const char bj_version[] = BJ_VERSION;
const char bj_revision[] = BJ_REVISION;
