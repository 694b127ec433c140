#include "core/find/ident.h"

#include "base/buf.h"
#include "base/text.h"
#include "core/model/metric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLEAN_CAP = BJ_LABEL_MAX + 1, HASH_LEN = 9 };

/* The labels of every sample, in their order. */
static const struct {
    enum bj_ident_field field;
    const char *name;
} label_rows[] = {
    {BJ_ID_JOBID, "jobid"},
    {BJ_ID_NODE, "slurm_node"},
    {BJ_ID_USER, "user"},
    {BJ_ID_ACCOUNT, "account"},
};

static bool ident_wanted(enum bj_ident_field f, const struct bj_conf *conf)
{
    return f == BJ_ID_USER      ? conf->label_user
           : f == BJ_ID_ACCOUNT ? conf->label_account
                                : true;
}

static void ident_put_label(struct bj_buf *b, const char *name,
                            struct bj_slice value)
{
    bj_buf_str(b, b->len > 0 ? "," : "");
    bj_buf_str(b, name);
    bj_buf_str(b, "=\"");
    bj_buf_label(b, value);
    bj_buf_str(b, "\"");
}

static void put_labels(struct bj_buf *b, const struct bj_slice *f,
                       const struct bj_conf *conf)
{
    for (size_t i = 0; i < sizeof(label_rows) / sizeof(label_rows[0]); i++) {
        enum bj_ident_field id = label_rows[i].field;
        if (ident_wanted(id, conf) && (f[id].n > 0 || id == BJ_ID_JOBID))
            ident_put_label(b, label_rows[i].name, f[id]);
    }
}

static void put_info(struct bj_buf *b, const struct bj_slice *f)
{
    for (size_t i = 0; bj_job_info_keys[i]; i++)
        if (f[BJ_ID_UID + i].n > 0)
            ident_put_label(b, bj_job_info_keys[i], f[BJ_ID_UID + i]);
}

/* The 32 bit FNV-1a hash of Fowler, Noll and Vo. */
static uint32_t ident_hash(struct bj_slice s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619u;
    return h;
}

/* Cleaning may make two job ids equal, and Prometheus rejects a scrape with a
 * duplicate series, so a changed id gets a hash of the original. */
static size_t mark_id(struct bj_slice raw, char *clean, size_t n)
{
    if (bj_slice_eq(raw, (struct bj_slice){clean, n}))
        return n;
    char room[CLEAN_CAP - HASH_LEN], mark[16];
    n = bj_text_clean((struct bj_slice){clean, n}, room, sizeof(room));
    memcpy(clean, room, n);
    snprintf(mark, sizeof(mark), "~%08x", (unsigned)ident_hash(raw));
    memcpy(clean + n, mark, HASH_LEN + 1);
    return n + HASH_LEN;
}

static char *ident_put_text(char *p, struct bj_slice s, struct bj_slice *ret)
{
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    *ret = (struct bj_slice){p, s.n};
    return p + s.n + 1;
}

static struct bj_ident *assemble(const struct bj_slice *f,
                                 struct bj_slice labels, struct bj_slice info)
{
    size_t size = labels.n + 1 + info.n + 1;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        size += f[i].n + 1;
    struct bj_ident *id = malloc(sizeof(*id) + size);
    if (!id)
        return NULL;
    *id = (struct bj_ident){.n = bj_ident_no_numbers};
    atomic_init(&id->refs, 1);
    char *p = id->text;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        p = ident_put_text(p, f[i], &id->f[i]);
    p = ident_put_text(p, labels, &id->labels);
    ident_put_text(p, info, &id->info);
    return id;
}

struct bj_ident *bj_ident_new(const struct bj_slice f[BJ_ID_FIELDS],
                              const struct bj_conf *conf)
{
    char text[BJ_ID_FIELDS][CLEAN_CAP];
    struct bj_slice clean[BJ_ID_FIELDS];
    for (int i = 0; i < BJ_ID_FIELDS; i++) {
        size_t n = bj_text_clean(f[i], text[i], CLEAN_CAP);
        if (i == BJ_ID_JOBID)
            n = mark_id(f[i], text[i], n);
        clean[i] = (struct bj_slice){text[i], n};
    }
    struct bj_buf labels = {0}, info = {0};
    put_labels(&labels, clean, conf);
    put_info(&info, clean);
    struct bj_ident *id = NULL;
    if (!labels.failed && !info.failed)
        id = assemble(clean, (struct bj_slice){labels.p, labels.len},
                      (struct bj_slice){info.p, info.len});
    bj_buf_free(&labels);
    bj_buf_free(&info);
    return id;
}

struct bj_ident *bj_ident_ref(const struct bj_ident *id)
{
    struct bj_ident *own = (struct bj_ident *)id;
    atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed);
    return own;
}

void bj_ident_unref(const struct bj_ident *id)
{
    struct bj_ident *own = (struct bj_ident *)id;
    if (own &&
        atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) == 1)
        free(own);
}

/* --- packed fields of a path ----------------------------------------------*/

struct bj_path_fields {
    unsigned char n;
    char text[]; /* n times: number of the field, its text, NUL */
};

struct bj_path_fields *bj_path_fields_new(const struct bj_slice f[BJ_ID_FIELDS])
{
    size_t size = sizeof(struct bj_path_fields);
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        size += f[i].n > 0 ? f[i].n + 2 : 0;
    struct bj_path_fields *t = malloc(size);
    if (!t)
        return NULL;
    t->n = 0;
    char *p = t->text;
    for (int i = 0; i < BJ_ID_FIELDS; i++) {
        if (f[i].n == 0)
            continue;
        *p++ = (char)i;
        memcpy(p, f[i].p, f[i].n);
        p += f[i].n;
        *p++ = '\0';
        t->n++;
    }
    return t;
}

void bj_path_fields_get(const struct bj_path_fields *t,
                        struct bj_slice f[BJ_ID_FIELDS])
{
    const char *p = t->text;
    memset(f, 0, BJ_ID_FIELDS * sizeof(*f));
    for (unsigned i = 0; i < t->n; i++) {
        struct bj_slice *s = &f[(unsigned char)*p++];
        *s = bj_slice_str(p);
        p += s->n + 1;
    }
}
