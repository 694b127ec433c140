/* Returning memory that only the start or a peak needed. */
#ifndef BJ_BASE_TRIM_H
#define BJ_BASE_TRIM_H

/* Return unused parts of the heap to the kernel: identifying many new jobs
 * leaves holes between blocks that stay.  Also drop pages of code and constants
 * of the program and its libraries, unless under a debugger, whose breakpoints
 * are in such pages.  The kernel reads pages in use from the page cache again;
 * pages that only the dynamic linker, the start and the user database needed
 * are saved: about 1.4 MiB for the libraries of GnuTLS, 7 MiB for those of
 * libcurl.  Other threads may run. */
void bj_trim(void);

#endif
