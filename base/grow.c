#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

bool bj_grow(void *v, size_t n, size_t *cap, size_t size)
{
    void *array;
    if (n <= *cap)
        return true;
    size_t more = n + n / 2 + 16;
    memcpy(&array, v, sizeof(array));
    if (more < n || !(array = reallocarray(array, more, size)))
        return false;
    memcpy(v, &array, sizeof(array));
    *cap = more;
    return true;
}
