/* Parses queries from standard input, each ended by a NUL byte.  For each it
 * prints "+" and the query as the gate prints it, or "-" and the error, and a
 * NUL byte.  For gate_parser.py. */
#include "promql/promql.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getdelim(&line, &cap, '\0', stdin)) > 0) {
        struct bj_arena arena = {0};
        const struct bj_promql_node *tree;
        struct bj_err err = {0};
        struct bj_buf b = {0};
        struct bj_slice s = {line, (size_t)n - (line[n - 1] == '\0')};
        if (bj_promql_parse(s, NULL, &arena, &tree, &err) == 0) {
            bj_buf_str(&b, "+");
            bj_promql_print(tree, &b);
        } else {
            bj_buf_printf(&b, "-%s", err.msg);
        }
        bj_buf_put(&b, "", 1);
        fwrite(b.p, 1, b.len, stdout);
        bj_buf_free(&b);
        bj_arena_free(&arena);
    }
    free(line);
    return ferror(stdin) || fclose(stdout);
}
