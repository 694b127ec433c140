#include "acct/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned bj_terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col;
}

bool bj_terminal_coloured(const char *choice)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (strcmp(choice, "auto") != 0)
        return strcmp(choice, "always") == 0;
    return isatty(STDOUT_FILENO) && !(no && no[0]) && term &&
           strcmp(term, "dumb") != 0;
}

bool bj_terminal_utf8(void)
{
    const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (unsigned i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);
        if (v && v[0])
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}
