/* YAML of files that people write.  Errors begin with FILE:LINE:COLUMN. */
#ifndef BJ_BASE_YAML_H
#define BJ_BASE_YAML_H

#include "base/err.h"
#include "base/slice.h"

#include <yaml.h>

/* A file being read; name, text and err must outlive it. */
struct bj_yaml {
    const char *name; /* of the file, for messages */
    struct bj_slice text;
    struct bj_err *err;
    yaml_parser_t parser;
};

/* Variables that are freed at the end of their block; initialise with {0}. */
#define bj_autoevent __attribute__((cleanup(yaml_event_delete))) yaml_event_t
#define bj_autodocument                                                        \
    __attribute__((cleanup(yaml_document_delete))) yaml_document_t

/* Begin to read the text, event by event.  -ENOMEM. */
int bj_yaml_open(struct bj_yaml *y);
void bj_yaml_close(struct bj_yaml *y);
int bj_yaml_event(struct bj_yaml *y, yaml_event_t *ret);

/* Read the whole text.  A second document and nesting that is deeper than any
 * of our files need are errors.  No document: its root is NULL. */
int bj_yaml_document(struct bj_yaml *y, yaml_document_t *ret);

/* Put the position before the message of r, and return r. */
int bj_yaml_position(const struct bj_yaml *y, yaml_mark_t mark, int r);

/* -EINVAL with a formatted message. */
#define bj_yaml_wrong(y, mark, ...)                                            \
    bj_yaml_position(y, mark, bj_err_set((y)->err, -EINVAL, __VA_ARGS__))

/* The text of a scalar; {NULL, 0}: the node is none. */
struct bj_slice bj_yaml_text(const yaml_node_t *n);

#endif
