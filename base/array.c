#include "base/array.h"

#include <stdlib.h>
#include <string.h>

bool bj_array_grow(void *v, size_t n, size_t *cap, size_t size)
{
    void *array;
    size_t more = n + n / 2 + 4;
    memcpy(&array, v, sizeof(array));
    if (more < n || !(array = reallocarray(array, more, size)))
        return false;
    memcpy(v, &array, sizeof(array));
    *cap = more;
    return true;
}

bool bj_strv_add(struct bj_strv *list, char *text)
{
    char **v = text ? reallocarray(list->v, list->n + 2, sizeof(*v)) : NULL;
    if (!v) {
        free(text);
        return false;
    }
    list->v = v;
    v[list->n++] = text;
    v[list->n] = NULL;
    return true;
}

void bj_strv_free(struct bj_strv *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    free(list->v);
    *list = (struct bj_strv){0};
}
