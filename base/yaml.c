#include "base/yaml.h"

#include <string.h>

enum { DEPTH = 4 };

int bj_yaml_position(const struct bj_yaml *y, yaml_mark_t mark, int r)
{
    size_t len = strlen(y->name); /* a long path is cut in front */
    return bj_err_wrap(y->err, r, "%s:%zu:%zu",
                       y->name + (len > 100 ? len - 100 : 0), mark.line + 1,
                       mark.column + 1);
}

struct bj_slice bj_yaml_text(const yaml_node_t *n)
{
    if (!n || n->type != YAML_SCALAR_NODE)
        return (struct bj_slice){0};
    return (struct bj_slice){(const char *)n->data.scalar.value,
                             n->data.scalar.length};
}

/* A syntax error of libyaml.  Bytes that are not text have no mark, only their
 * offset.  Without memory the loader of documents names no error. */
static int yaml_syntax(const struct bj_yaml *y)
{
    const yaml_parser_t *p = &y->parser;
    yaml_mark_t mark = p->problem_mark;
    if (p->error == YAML_MEMORY_ERROR || !p->problem)
        return bj_err_set(y->err, -ENOMEM, "%s", y->name);
    if (p->error == YAML_READER_ERROR) {
        mark = (yaml_mark_t){0};
        for (size_t i = 0; i < y->text.n && i < p->problem_offset; i++)
            if (y->text.p[i] == '\n')
                mark = (yaml_mark_t){.line = mark.line + 1};
            else
                mark.column++;
    }
    const char *what = p->problem;
    if (p->error == YAML_SCANNER_ERROR && mark.index < y->text.n &&
        y->text.p[mark.index] == '\t')
        what = "a tab: YAML is indented with blanks";
    else if (strcmp(what, "did not find expected key") == 0)
        what = "expected 'name: value', indented as the lines before";
    return bj_yaml_wrong(y, mark, "%s", what);
}

int bj_yaml_open(struct bj_yaml *y)
{
    if (!yaml_parser_initialize(&y->parser))
        return bj_err_set(y->err, -ENOMEM, "%s", y->name);
    yaml_parser_set_encoding(&y->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(
        &y->parser, (const unsigned char *)(y->text.n > 0 ? y->text.p : ""),
        y->text.n);
    return 0;
}

void bj_yaml_close(struct bj_yaml *y)
{
    yaml_parser_delete(&y->parser);
}

int bj_yaml_event(struct bj_yaml *y, yaml_event_t *ret)
{
    return yaml_parser_parse(&y->parser, ret) ? 0 : yaml_syntax(y);
}

/* Check the number of documents, and the nesting before libyaml loads it, since
 * its time grows with the square of the depth. */
static int yaml_check(struct bj_yaml *y)
{
    for (unsigned depth = 0, documents = 0;;) {
        bj_autoevent ev = {0};
        int r = bj_yaml_event(y, &ev);
        if (r < 0 || ev.type == YAML_STREAM_END_EVENT)
            return r;
        depth += ev.type == YAML_SEQUENCE_START_EVENT ||
                 ev.type == YAML_MAPPING_START_EVENT;
        depth -= ev.type == YAML_SEQUENCE_END_EVENT ||
                 ev.type == YAML_MAPPING_END_EVENT;
        documents += ev.type == YAML_DOCUMENT_START_EVENT;
        if (documents > 1)
            return bj_yaml_wrong(y, ev.start_mark, "a second document");
        if (depth > DEPTH)
            return bj_yaml_wrong(y, ev.start_mark, "nested too deep");
    }
}

int bj_yaml_document(struct bj_yaml *y, yaml_document_t *ret)
{
    int r = bj_yaml_open(y);
    if (r < 0)
        return r;
    r = yaml_check(y);
    bj_yaml_close(y);
    if (r == 0)
        r = bj_yaml_open(y);
    if (r < 0)
        return r;
    r = yaml_parser_load(&y->parser, ret) ? 0 : yaml_syntax(y);
    bj_yaml_close(y);
    return r;
}
