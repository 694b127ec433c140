/* Returning memory that only the start or a peak needed. */
#ifndef BJ_BASE_TRIM_H
#define BJ_BASE_TRIM_H

/* Return unused parts of the heap: identifying many new jobs leaves holes
 * between blocks that stay.  Also drop the pages of code and constants of the
 * program and its libraries: used ones come back from the page cache, those
 * that only the dynamic linker, the start and the user database needed stay
 * away: about 1.4 MiB of the libraries of GnuTLS, 7 MiB of those of libcurl.
 * The latter not under a debugger, whose breakpoints are in such pages.  Other
 * threads may run. */
void bj_trim(void);

#endif
