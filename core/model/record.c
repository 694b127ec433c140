#include "core/model/record.h"

#include <stddef.h>
#include <string.h>

/* Set numbers to absent, up to the first of the lists at the end of the
 * record. */
#define CLEAR(record, first)                                                   \
    do {                                                                       \
        const size_t numbers = offsetof(__typeof__(*(record)), first);         \
        memset((record), 0xff, numbers);                                       \
        memset((char *)(record) + numbers, 0, sizeof(*(record)) - numbers);    \
    } while (0)

void bj_job_clear(struct bj_job *job)
{
    CLEAR(job, cores);
    job->ident = NULL;
}

void bj_node_clear(struct bj_node *node)
{
    CLEAR(node, modes);
}

void bj_self_clear(struct bj_self *self)
{
    CLEAR(self, collectors);
}
