/* Memory that only the start needed. */
#ifndef BJ_STANDALONE_TRIM_H
#define BJ_STANDALONE_TRIM_H

/* Let go of the program's and its libraries' pages that hold code and
 * constants. What is still used comes back from the page cache by itself; what
 * only the dynamic linker and the start had touched stays away: about 1.4 MiB,
 * most of it of the libraries behind GnuTLS.  Does nothing while a debugger is
 * attached, whose breakpoints are in such pages. */
void bj_trim_libraries(void);

/* Give back what lies in holes of the heap: who many new jobs are is found out
 * in memory that then is between what stays. */
void bj_trim_heap(void);

#endif
