/* Scripts of simulated libraries: lines of words; '#' begins a comment.  A
 * script is read again whenever it changes; replace it, do not overwrite it. */
#ifndef BJ_TESTS_GPU_FAKE_SCRIPT_H
#define BJ_TESTS_GPU_FAKE_SCRIPT_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SCRIPT_LINES = 512, SCRIPT_WORDS = 8, SCRIPT_WORD = 100 };

static struct {
    pthread_mutex_t lock;
    struct timespec changed;
    ino_t inode;
    size_t n;
    char line[SCRIPT_LINES][SCRIPT_WORDS][SCRIPT_WORD];
} script = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void script_read(const char *path)
{
    FILE *f = fopen(path, "r");
    char text[SCRIPT_WORDS * SCRIPT_WORD];
    script.n = 0;
    while (f && script.n < SCRIPT_LINES && fgets(text, sizeof(text), f)) {
        char *at = text, *word;
        int n = 0;
        memset(script.line[script.n], 0, sizeof(script.line[0]));
        while (n < SCRIPT_WORDS && (word = strsep(&at, " \n")) && *word != '#')
            if (*word)
                snprintf(script.line[script.n][n++], SCRIPT_WORD, "%s", word);
        script.n += n > 0;
    }
    if (f)
        fclose(f);
}

/* Called before every call: read the script that the variable names if it has
 * changed. */
static void script_refresh(const char *variable)
{
    const char *path = getenv(variable);
    struct stat st;
    if (!path || stat(path, &st) < 0) {
        script.n = 0;
        return;
    }
    if (st.st_ino == script.inode &&
        st.st_mtim.tv_nsec == script.changed.tv_nsec &&
        st.st_mtim.tv_sec == script.changed.tv_sec)
        return;
    script.inode = st.st_ino;
    script.changed = st.st_mtim;
    script_read(path);
}

/* The words of the next line after *at that begins with a, b and c (NULL: any
 * word); NULL: there is none. */
static char (*script_next(size_t *at, const char *a, const char *b,
                          const char *c))[SCRIPT_WORD]
{
    const char *want[3] = {a, b, c};
    for (; *at < script.n; (*at)++) {
        int i = 0;
        while (i < 3 && (!want[i] || strcmp(script.line[*at][i], want[i]) == 0))
            i++;
        if (i == 3)
            return script.line[(*at)++];
    }
    return NULL;
}

static char (*script_find(const char *a, const char *b,
                          const char *c))[SCRIPT_WORD]
{
    size_t at = 0;
    return script_next(&at, a, b, c);
}

static unsigned long long script_number(const char *text)
{
    return strtoull(text, NULL, 0);
}

/* Apply "hang SYMBOL MSEC"; return the CODE of "fail SYMBOL CODE", or 0. */
static unsigned script_apply(const char *symbol)
{
    char(*l)[SCRIPT_WORD] = script_find("hang", symbol, NULL);
    if (l) {
        unsigned long long ms = script_number(l[2]);
        nanosleep(&(struct timespec){(time_t)(ms / 1000),
                                     (long)(ms % 1000) * 1000000},
                  NULL);
    }
    l = script_find("fail", symbol, NULL);
    return l ? (unsigned)script_number(l[2]) : 0;
}

#endif
