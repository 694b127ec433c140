/* Arrays on the heap that grow. */
#ifndef BJ_BASE_GROW_H
#define BJ_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Make room for at least n elements; a new allocation is larger than necessary.
 * v and cap are the variables of the array and of its capacity (size_t),
 * initially NULL and 0.  False: no memory, and the array is unchanged. */
#define BJ_GROW(v, n, cap) bj_grow(&(v), n, &(cap), sizeof(*(v)))

/* v: the address of the pointer to the array. */
bool bj_grow(void *v, size_t n, size_t *cap, size_t size);

#endif
