/* Which release this is, and the commit that it was built from ("unknown" where
 * the build could not tell).  The build gives them to version.c alone, which is
 * compiled again when they change. */
#ifndef BJ_BASE_VERSION_H
#define BJ_BASE_VERSION_H

extern const char bj_version[], bj_revision[];

#endif
