/* Arrays on the heap that grow, and lists of texts. */
#ifndef BJ_BASE_ARRAY_H
#define BJ_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Make room for at least n elements; a new allocation is larger than necessary.
 * v and cap are the variables of the array and of its capacity (size_t),
 * initially NULL and 0.  False: no memory, and the array is unchanged. */
#define BJ_GROW(v, n, cap)                                                     \
    ((n) <= (cap) || bj_array_grow(&(v), n, &(cap), sizeof(*(v))))

/* v: the address of the pointer to the array. */
bool bj_array_grow(void *v, size_t n, size_t *cap, size_t size);

/* A list that owns its texts.  A NULL follows the last one once a text was
 * added. */
struct bj_strv {
    char **v;
    size_t n;
};

/* Add text, which the list then owns.  False: text is NULL, or there is no
 * memory; the text is freed. */
bool bj_strv_add(struct bj_strv *list, char *text);
void bj_strv_free(struct bj_strv *list);

#endif
