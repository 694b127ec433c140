/* Let an allocation of a whole program fail: linked with it, this reads
 * BJ_TORTURE=N[+][*] at the start.  N allocations succeed and the next one
 * fails; +: and all following ones; *: those of shared libraries count, too.
 * At the end the number of allocations is written to the file
 * BJ_TORTURE_COUNT. */
#include "tests/unit/lib/fail.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void torture_start(void)
{
    const char *text = getenv("BJ_TORTURE");
    if (!text)
        return;
    bj_fail_own_code(!strchr(text, '*'));
    bj_fail_everywhere(strtoul(text, NULL, 10), strchr(text, '+') != NULL);
}

__attribute__((destructor)) static void torture_end(void)
{
    const char *path = getenv("BJ_TORTURE_COUNT");
    char text[32];
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0)
        return;
    int n = snprintf(text, sizeof(text), "%lu\n", bj_fail_count());
    if (write(fd, text, (size_t)n) != n)
        abort();
    close(fd);
}
