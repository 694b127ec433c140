/* Dialects: a snapshot with the metric names, units and labels of another
 * exporter, so that dashboards and rules made for it work unchanged.
 *
 * A dialect is a table over the same records as the native view. A row defines
 * the field, name, unit and labels of a family. Rows only convert units and add
 * up fields; nearly all their data is in the native view too. docs/dialects.md
 * lists the differences from the originals. */
#ifndef BJ_CORE_VIEW_DIALECT_H
#define BJ_CORE_VIEW_DIALECT_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/core.h"
#include "core/model/metric.h"

/* The records that a row reads. */
enum bj_row_of {
    BJ_ROW_JOB,   /* a field of each job */
    BJ_ROW_USAGE, /* a field of its bj_usage, also for steps and tasks where
                     those are collected */
    BJ_ROW_JOBS,  /* a field of each record in a list of each job */
    BJ_ROW_GPUS, /* a field of each GPU the job holds; key: its name, its model.
                    With info instead of key: index, HOST/gpu-INDEX, UUID,
                    number of the GPU instance */
    BJ_ROW_GPU_PARTS, /* the same, of the job's share of the GPU */
    BJ_ROW_SNAP,      /* a field of the snapshot */
    BJ_ROW_SNAPS,     /* a field of each record in a list of the snapshot */
    BJ_ROW_SUMS,      /* the same, summed over equal exported keys */
    BJ_ROW_GPU_JOB,   /* for each GPU without instances, the id of the job with
                         the largest share, 0: none; key: its UUID */
    BJ_ROW_GPU_EACH,  /* a field of each GPU and instance; info: index, minor
                         number, UUID, model, jobid, uid of its owner (empty:
                         none), number of the GPU instance */
    BJ_ROW_GPU_EACH_CARD, /* the same; for an instance, the field of its GPU */
    BJ_ROW_GPU_EACH_REASON, /* the same, the bit mask of its throttle reasons;
                               the last name in info are their words, joined by
                               commas, "none" without one */
    BJ_ROW_GPU_EACH_JOB,    /* the same, id of the job with the largest share;
                               no sample without one */
    BJ_ROW_GPU_EACH_UID,    /* the same, the uid of its owner */
    BJ_ROW_GPU_CARDS, /* a field of each GPU that is not an instance; info:
                         index, minor number, UUID, model */
    BJ_ROW_GPU_COUNT, /* number of GPUs */
    BJ_ROW_INFO,      /* 1, with the values of a bj_info of the snapshot */
    BJ_ROW_COUNT,     /* number of running jobs */
    BJ_ROW_UID,       /* uid of the job's owner */
    BJ_ROW_ONE,       /* 1 for each running job */
};

/* Conversion from the unit of the field to that of the original. */
enum bj_scale {
    BJ_SCALE_NONE,  /* none */
    BJ_SCALE_MICRO, /* millionths: seconds, joules, watts, grams */
    BJ_SCALE_NSEC,  /* microseconds to nanoseconds */
    BJ_SCALE_TICKS, /* microseconds to user space ticks, 100 a second (kernel,
                       asm-generic/param.h: USER_HZ) */
    BJ_SCALE_MIB,   /* bytes to MiB, truncated to six decimals */
    BJ_SCALE_MILLI, /* microwatts to milliwatts, microseconds to milliseconds */
    BJ_SCALE_PERCENT, /* millionths to hundredths */
    BJ_SCALE_MB,   /* bytes to MiB times 10^6: an original's error, which takes
                      Slurm's M for 10^6 */
    BJ_SCALE_FLAG, /* 1 when it is not 0 */
    BJ_SCALE_ZERO  /* 0: the original always reports 0 */
};

/* Use of a second field of the same record. */
enum bj_second {
    BJ_SECOND_NONE,
    BJ_SECOND_ADD,
    BJ_SECOND_ELSE, /* replaces the first where that is absent */
    BJ_SECOND_LACK, /* lack applies only where the second is known */
    BJ_SECOND_PER,  /* divides the first; no value where it is 0 */
    /* BJ_ROW_SUMS, of the sums: */
    BJ_SECOND_SUB,  /* subtracted from the first; never below 0 */
    BJ_SECOND_SHARE /* as PER, in millionths */
};

/* When a row applies: always, only for correct values, or only for the errors
 * of the original (bj_dialect_env.strict), by cgroup version. Bits; 0: always.
 */
enum bj_when {
    BJ_WHEN_ANY,
    BJ_WHEN_RIGHT = 1,
    BJ_WHEN_STRICT_V1 = 2,
    BJ_WHEN_STRICT_NAMED = 4,    /* v2, with user names */
    BJ_WHEN_STRICT_NAMELESS = 8, /* v2, user names hidden */
    BJ_WHEN_STRICT_V2 = BJ_WHEN_STRICT_NAMED | BJ_WHEN_STRICT_NAMELESS,
    BJ_WHEN_STRICT = BJ_WHEN_STRICT_V1 | BJ_WHEN_STRICT_V2,
    /* the original errs on v2 only */
    BJ_WHEN_RIGHT_V2 = BJ_WHEN_RIGHT | BJ_WHEN_STRICT_V1,
    BJ_WHEN_RIGHT_NAMED = BJ_WHEN_RIGHT_V2 | BJ_WHEN_STRICT_NAMED
};

struct bj_dialect_word {
    const char *ours, *theirs; /* ends with ours NULL */
};

/* A family. */
struct bj_dialect_row {
    const char *name, *help;
    enum bj_kind kind;
    enum bj_row_of of;
    bool live; /* as in bj_metric: left out after the end of the job */
    enum bj_scale scale;
    size_t off;         /* of the value in the job, snapshot or list record */
    enum bj_second use; /* of second; ADD needs both values */
    size_t second;
    size_t list;     /* offset of the bj_list in its owner */
    size_t size;     /* of a record of it */
    unsigned labels; /* which of the dialect's label sets comes first */
    /* Label names of bj_sub.key; NULL: not exported. */
    const char *key[BJ_SUB_KEYS];
    /* GPUS, GPU_PARTS: the value of key[2].  GPU_EACH and similar, GPU_CARDS:
     * values of the last names in info. */
    const char *fixed[2];
    /* Continues the family of the row before, with another fixed label or
     * other records. */
    bool more;
    const char *const *info; /* label names of values outside bj_sub.key */
    /* SNAPS: append the values of the names in info, made from a record's keys,
     * to ret; may allocate text in the arena. */
    void (*more_keys)(struct bj_arena *arena,
                      const struct bj_slice key[BJ_SUB_KEYS],
                      struct bj_slice *ret);
    /* Which records are exported. */
    const char *only[2]; /* pattern of bj_sub.key: "a", "a*" or "*a" */
    /* Not those where the base name of bj_sub.key[0] is one of these;
     * NULL-terminated. */
    const char *const *skip;
    uint64_t least;   /* minimum value, in the unit of the field */
    bool first;       /* only the first matching record */
    bool unlike_last; /* skip a record whose exported keys equal those of the
                         previous one */
    /* Translates values of bj_sub.key[word]. Values without translation are
     * kept; with words_only, left out. */
    const struct bj_dialect_word *words;
    unsigned word;
    bool words_only;
    enum bj_when when;
    unsigned versions; /* of the original (bj_dialect.version); 0: all */
    uint64_t lack;     /* value where the field is absent; 0: no sample */
    size_t lack_at;    /* the same, from a field of the snapshot; 0: none */
    bool lacking;      /* only absent fields are exported, with lack */
    bool minus;        /* values are negated */
    /* BJ_ROW_SUMS */
    /* Makes the original's keys from ours, before they are matched; may
     * allocate text in the arena. False: leave out the record. */
    bool (*map)(struct bj_arena *arena, struct bj_slice key[BJ_SUB_KEYS]);
    /* Returns the value instead of the field at off. */
    uint64_t (*value)(const void *record);
    bool split; /* key[0] is a list with commas; one sample for each */
    /* Source of the records: the value is 0 when the source replied without
     * any. bj_cluster_source plus one; 0: none. */
    unsigned source;
    /* One sample for each of these, 1 where it equals key[1], else 0;
     * NULL-terminated. */
    const char *const *states;
};

/* A label of all samples of a job. */
enum bj_label_of {
    BJ_LABEL_IDENT,
    BJ_LABEL_TEXT,
    BJ_LABEL_UUID,       /* the job's BJ_ID_UUID, else its id */
    BJ_LABEL_HOST,       /* host name */
    BJ_LABEL_SHORT_HOST, /* host name up to the first dot */
    BJ_LABEL_CGROUP      /* of the job's cgroup, as Slurm names it by default */
};
struct bj_dialect_label {
    const char *name; /* ends with NULL */
    enum bj_label_of of;
    int field;        /* IDENT: bj_ident_field (core/find/ident.h) */
    const char *text; /* TEXT; IDENT: value while unknown */
};

enum { BJ_DIALECT_SETS = 4 };

struct bj_dialect {
    const char *name;
    unsigned version;   /* one bit; 0: its rows have no versions */
    const char *port;   /* default port of the original; NULL: none */
    const char *system; /* only jobs of this batch system; NULL: all */
    bool empty;         /* announces families without samples */
    bool openmetrics;   /* the original supports OpenMetrics */
    unsigned collect;   /* collectors it needs: bits 1 << BJ_COLLECT_... */
    unsigned extras, strict_extras; /* enum bj_extra (core/conf.h) it needs,
                                       always and for strict */
    const char *by; /* values of cluster.by it needs, with commas; NULL: none */
    const char *sources; /* the same of cluster.source */
    const struct bj_dialect_row *rows;
    size_t nrows;
    /* Labels before those of a row; for rows of the snapshot, only labels that
     * need no job. */
    const struct bj_dialect_label *labels[BJ_DIALECT_SETS];
    const char *step[2]; /* names of the step and task labels, in all samples of
                            BJ_ROW_USAGE; NULL: no steps */
};

extern const struct bj_dialect *const bj_dialects[]; /* ends with NULL */
const struct bj_dialect *bj_dialect_find(struct bj_slice name); /* or NULL */
/* Append "native" and the names of all dialects, separated by commas. */
void bj_dialect_names(struct bj_buf *out);

/* Input of a dialect that is not in the snapshot. */
struct bj_dialect_env {
    struct bj_slice host;         /* host name, clean */
    bool hide_user, hide_account; /* these labels stay empty */
    bool unified;                 /* jobs are in cgroup v2 */
    const uint64_t *skip_uids;    /* jobs of these users are left out */
    size_t nskip_uids;
    bool strict; /* reproduce errors of the original */
};

/* How a value is written. */
enum bj_dialect_digits {
    BJ_DIGITS_WHOLE,
    BJ_DIGITS_MICRO, /* in millionths */
    BJ_DIGITS_MINUS  /* negated */
};

/* One sample. */
struct bj_dialect_sample {
    struct bj_slice labels; /* written and escaped, each followed by a comma */
    const struct bj_slice *key; /* values of the family's own labels; clean */
    uint64_t value;
    enum bj_dialect_digits digits;
};

/* Receives the samples; family precedes its samples. key: names of the family's
 * own labels, NULL-terminated. A negative result ends the walk and is returned.
 */
struct bj_dialect_sink {
    void *ctx;
    int (*family)(void *ctx, const struct bj_dialect_row *row,
                  const char *const *key);
    int (*sample)(void *ctx, const struct bj_dialect_sample *s);
};

/* Memory of a walk, used again by the next one. Zero-initialise. */
struct bj_dialect_room {
    struct bj_buf text; /* of labels */
    struct bj_dialect_job *v;
    size_t n, cap;
    struct bj_arena arena; /* of mapped keys */
    struct bj_dialect_sum *sums;
    size_t nsums, sums_cap;
};
void bj_dialect_room_free(struct bj_dialect_room *room);

/* Walk a snapshot: family by family, jobs by id. No two samples of a family
 * have the same labels: of jobs with equal labels only one is exported, a
 * running job first. 0, -ENOMEM, or the result of the sink. */
int bj_view_dialect(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_dialect_env *env,
                    struct bj_dialect_room *room,
                    const struct bj_dialect_sink *sink);

/* The value of a row in the record at record, converted, or BJ_ABSENT. */
uint64_t bj_dialect_value(const struct bj_dialect_row *row, const char *record);

#endif
