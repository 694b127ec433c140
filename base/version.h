/* The release, and the commit of the build ("unknown" without git).  The build
 * passes them to version.c alone, which is compiled again when they change. */
#ifndef BJ_BASE_VERSION_H
#define BJ_BASE_VERSION_H

extern const char bj_version[], bj_revision[];

#endif
