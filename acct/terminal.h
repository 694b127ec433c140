/* Properties of the terminal. */
#ifndef BJ_ACCT_TERMINAL_H
#define BJ_ACCT_TERMINAL_H

#include <stdbool.h>

/* Number of columns; 0: the output is not a terminal. */
unsigned bj_terminal_width(void);

/* Should text be coloured?  choice is "always", "never" or "auto": on a
 * terminal unless NO_COLOR is set. */
bool bj_terminal_coloured(const char *choice);

/* Is the locale UTF-8? */
bool bj_terminal_utf8(void);

#endif
