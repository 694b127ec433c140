/* What the terminal can show. */
#ifndef BJ_STATSDB_ACCT_TERMINAL_H
#define BJ_STATSDB_ACCT_TERMINAL_H

#include <stdbool.h>

/* Columns; 0: the output is not a terminal. */
unsigned bj_terminal_width(void);

/* Is text coloured?  choice is "always", "never" or "auto", which means on a
 * terminal unless NO_COLOR is set. */
bool bj_terminal_coloured(const char *choice);

/* Is the locale UTF-8? */
bool bj_terminal_utf8(void);

#endif
