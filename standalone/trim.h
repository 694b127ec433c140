/* Memory that only the start and new jobs needed. */
#ifndef BJ_STANDALONE_TRIM_H
#define BJ_STANDALONE_TRIM_H

/* Give back what lies in holes of the heap: who many new jobs are is found out
 * in memory that then is between what stays.  And let go of the program's and
 * its libraries' pages that hold code and constants: what is still used comes
 * back from the page cache by itself; what only the dynamic linker, the start
 * and the user database had touched stays away: about 1.4 MiB, most of it of
 * the libraries behind GnuTLS.  The latter not while a debugger is attached,
 * whose breakpoints are in such pages. */
void bj_trim(void);

#endif
