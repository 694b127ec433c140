/* Memory that only the start, or a moment of much work, needed. */
#ifndef BJ_BASE_TRIM_H
#define BJ_BASE_TRIM_H

/* Give back what lies in holes of the heap: who many new jobs are is found out
 * in memory that then is between what stays.  And let go of the program's and
 * its libraries' pages that hold code and constants: what is still used comes
 * back from the page cache by itself; what only the dynamic linker, the start
 * and the user database had touched stays away: about 1.4 MiB of the libraries
 * behind GnuTLS, 7 MiB of those behind libcurl.  The latter not while a
 * debugger is attached, whose breakpoints are in such pages.  Other threads may
 * run. */
void bj_trim(void);

#endif
