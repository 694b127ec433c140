#include "core/energy/conf.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const size_t strings[] = {
    offsetof(struct bj_energy_conf, policy),
    offsetof(struct bj_energy_conf, state_file),
    offsetof(struct bj_energy_conf, ipmi_device),
    offsetof(struct bj_energy_conf, command),
    offsetof(struct bj_energy_conf, redfish_url),
    offsetof(struct bj_energy_conf, redfish_user),
    offsetof(struct bj_energy_conf, redfish_password_file),
    offsetof(struct bj_energy_conf, redfish_ca_file),
    offsetof(struct bj_energy_conf, spool_dir),
};
static const size_t lists[] = {
    offsetof(struct bj_energy_conf, meters),
    offsetof(struct bj_energy_conf, redfish_chassis),
};
enum {
    STRINGS = sizeof(strings) / sizeof(strings[0]),
    LISTS = sizeof(lists) / sizeof(lists[0])
};

static char **string_at(struct bj_energy_conf *c, size_t i)
{
    return (char **)(void *)((char *)c + strings[i]);
}

static struct bj_strv *list_at(struct bj_energy_conf *c, size_t i)
{
    return (struct bj_strv *)(void *)((char *)c + lists[i]);
}

void bj_energy_conf_free(struct bj_energy_conf *c)
{
    for (size_t i = 0; i < STRINGS; i++)
        free(*string_at(c, i));
    for (size_t i = 0; i < LISTS; i++) {
        struct bj_strv *l = list_at(c, i);
        for (size_t k = 0; k < l->n; k++)
            free(l->v[k]);
        free(l->v);
    }
    *c = (struct bj_energy_conf){0};
}

static bool copy_list(struct bj_strv *l)
{
    struct bj_strv old = *l;
    *l = (struct bj_strv){calloc(old.n + 1, sizeof(char *)), 0};
    for (size_t k = 0; l->v && k < old.n; k++)
        if ((l->v[k] = strdup(old.v[k])))
            l->n++;
    return l->v && l->n == old.n;
}

int bj_energy_conf_copy(struct bj_energy_conf *to,
                        const struct bj_energy_conf *from)
{
    bool complete = true;
    *to = *from;
    for (size_t i = 0; i < STRINGS; i++) {
        char **s = string_at(to, i);
        bool set = *s != NULL;
        *s = set ? strdup(*s) : NULL;
        complete &= !set || *s;
    }
    for (size_t i = 0; i < LISTS; i++)
        complete &= copy_list(list_at(to, i));
    if (complete)
        return 0;
    bj_energy_conf_free(to);
    return -ENOMEM;
}
