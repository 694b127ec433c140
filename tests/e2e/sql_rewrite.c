/* Read SQL texts, each ended by a NUL byte, and print them as the store
 * rewrites them for PostgreSQL. */
#include "store/postgres_sql.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    char *sql = NULL;
    size_t size = 0;
    struct bj_buf text = {0};
    while (getdelim(&sql, &size, '\0', stdin) > 0) {
        text.len = 0;
        int r = bj_postgres_rewrite(sql, &text);
        printf("%s%c", r < 0 ? "cannot be written" : text.p, '\0');
    }
    free(sql);
    bj_buf_free(&text);
    return 0;
}
