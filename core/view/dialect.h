/* Dialects: a snapshot under the names, units and labels of other exporters,
 * so that their dashboards and rules go on working.
 *
 * A dialect is a table over the same records as the native view: a row says
 * which field leaves under which name, in which unit, with which labels.
 * Nothing is computed here but units and sums of two fields, and next to
 * nothing is told that native does not tell.  docs/dialects.md says where a
 * peer meant something else, and what of it is not told. */
#ifndef BJ_CORE_VIEW_DIALECT_H
#define BJ_CORE_VIEW_DIALECT_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/core.h"
#include "core/model/metric.h"

/* Where the record of a row is, and how far a row goes. */
enum bj_row_of {
    BJ_ROW_JOB,   /* a field of each job */
    BJ_ROW_USAGE, /* one of its bj_usage: of steps and tasks as well, where
                     those are collected */
    BJ_ROW_JOBS,  /* a field of each record of a list of each job */
    BJ_ROW_GPUS,  /* a field of each accelerator that the job holds; of key, the
                     first is its name, the second its model.  With info
                     instead of key: index, HOST/gpu-INDEX, UUID, number of the
                     GPU instance */
    BJ_ROW_GPU_PARTS, /* likewise, of the part that the job holds */
    BJ_ROW_SNAP,      /* a field of the snapshot */
    BJ_ROW_SNAPS,     /* a field of each record of a list of the snapshot */
    BJ_ROW_SUMS, /* likewise, of records whose told keys are the same the sum */
    BJ_ROW_GPU_JOB,  /* the id of the job that holds most of each accelerator
                        that is not divided, 0 for none; of key, the first is
                        its UUID */
    BJ_ROW_GPU_EACH, /* a field of each accelerator that is not divided, with
                        what is known of it under the names in info: index,
                        minor number, UUID, model, job and its owner's number
                        ("0": none), number of the GPU instance */
    BJ_ROW_GPU_EACH_CARD,   /* likewise, of an instance the field of its
                               device */
    BJ_ROW_GPU_EACH_REASON, /* likewise, each reason that may hold the clocks
                               back: 1 while it does; the last name in info is
                               that of the reason, key[2] for words */
    BJ_ROW_GPU_EACH_JOB,    /* likewise, the job that holds most of it */
    BJ_ROW_GPU_EACH_UID,    /* likewise, the number of its owner */
    BJ_ROW_GPU_CARDS,       /* a field of each device, divided or not; info:
                               index, minor number, UUID, model */
    BJ_ROW_GPU_COUNT,       /* how many devices there are */
    BJ_ROW_INFO,  /* 1, with the values of a bj_info of the snapshot */
    BJ_ROW_COUNT, /* how many jobs run */
    BJ_ROW_UID,   /* the number of the job's owner */
    BJ_ROW_ONE,   /* 1 for each job that runs */
};

/* From the unit of the field to the peer's. */
enum bj_scale {
    BJ_SCALE_NONE,    /* the number as it is */
    BJ_SCALE_MICRO,   /* millionths: seconds, joules, watts, grams */
    BJ_SCALE_NSEC,    /* microseconds to nanoseconds */
    BJ_SCALE_TICKS,   /* microseconds to the ticks of user space, 100 a second
                         (kernel, asm-generic/param.h: USER_HZ) */
    BJ_SCALE_MIB,     /* bytes to 2^20 of them, cut to six places */
    BJ_SCALE_MILLI,   /* microwatts to milliwatts, likewise microseconds */
    BJ_SCALE_PERCENT, /* millionths to hundredths */
    BJ_SCALE_MB,      /* bytes to a million times their MiB: the error of taking
                         Slurm's M for 10^6 */
    BJ_SCALE_FLAG,    /* 1 when it is not 0 */
    BJ_SCALE_ZERO     /* 0: the peer has nothing else where we know more */
};

/* What a second field of the same record is for. */
enum bj_second {
    BJ_SECOND_NONE,
    BJ_SECOND_ADD,
    BJ_SECOND_ELSE, /* it is told where the first is absent */
    BJ_SECOND_PER,  /* the first divided by it, nothing where it is 0 */
    /* BJ_ROW_SUMS, of the sums: */
    BJ_SECOND_SUB,  /* what the first has more than it; never below 0 */
    BJ_SECOND_SHARE /* as PER, in millionths */
};

/* A row may be for some ways of speaking only: as is right, or with the errors
 * of the peer (bj_dialect_env.strict), which may be of one version of cgroups.
 * Bits; none: for all of them. */
enum bj_when {
    BJ_WHEN_ANY,
    BJ_WHEN_RIGHT = 1,
    BJ_WHEN_STRICT_V1 = 2,
    BJ_WHEN_STRICT_NAMED = 4,    /* v2, and users' names are told */
    BJ_WHEN_STRICT_NAMELESS = 8, /* v2, and they are hidden */
    BJ_WHEN_STRICT_V2 = BJ_WHEN_STRICT_NAMED | BJ_WHEN_STRICT_NAMELESS,
    BJ_WHEN_STRICT = BJ_WHEN_STRICT_V1 | BJ_WHEN_STRICT_V2,
    BJ_WHEN_RIGHT_V2 = BJ_WHEN_RIGHT | BJ_WHEN_STRICT_V1, /* errs on v2 only */
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
    bool live; /* as in bj_metric: left out once the job has ended */
    enum bj_scale scale;
    size_t off; /* of the value: in the job, the snapshot, or a list's record */
    enum bj_second use; /* what is at second; both have to be known to be
                           added */
    size_t second;
    size_t list, size; /* of the bj_list in its owner; of a record */
    unsigned labels;   /* which of the dialect's sets of labels goes before */
    const char *key[BJ_SUB_KEYS]; /* names of bj_sub.key; NULL: not told */
    const char *fixed[2]; /* GPUS, GPU_PARTS: the value of key[2]; GPU_EACH and
                             what is like it, GPU_CARDS: of the names in info
                             behind the others */
    bool more; /* of the family before: under another fixed label, or of records
                  that that row does not tell */
    const char *const *info; /* names of values that are not keys of ours */
    /* Which records.  Others are left out. */
    const char *only[2];     /* bj_sub.key is this; "a*": begins so, "*a": ends
                                so */
    const char *const *skip; /* bj_sub.key[0], behind its last slash, is none
                                of these; ends with NULL */
    uint64_t least;          /* not below this, in the unit of the field */
    bool first;              /* only the first that is left */
    /* What the peer calls values of bj_sub.key[word].  Others stay as they
     * are, or are left out. */
    const struct bj_dialect_word *words;
    unsigned word;
    bool words_only;
    enum bj_when when;
    uint64_t lack;  /* is told where the field is absent; 0: nothing is */
    size_t lack_at; /* likewise, a field of the snapshot; 0: none */
    bool lacking;   /* only that is told */
    bool minus;     /* its values are below 0 */
    /* BJ_ROW_SUMS */
    /* Makes the peer's keys of ours, before all that looks at them; text of
     * its own goes to the arena.  False: the record is left out. */
    bool (*map)(struct bj_arena *arena, struct bj_slice key[BJ_SUB_KEYS]);
    /* Instead of the field at off. */
    uint64_t (*value)(const void *record);
    bool split; /* key[0] is a list with commas: it is told for each of them */
    /* Which source knows it: told is 0, too, where there is no record but the
     * source has answered.  One more than its bj_cluster_source; 0: none. */
    unsigned source;
    /* For each record one sample for each of these, 1 where key[1] is it, else
     * 0; ends with NULL. */
    const char *const *states;
};

/* A label that a job has in all samples. */
enum bj_label_of {
    BJ_LABEL_IDENT,
    BJ_LABEL_TEXT,
    BJ_LABEL_UUID,       /* the job's BJ_ID_UUID, else its id */
    BJ_LABEL_HOST,       /* as the machine calls itself */
    BJ_LABEL_SHORT_HOST, /* of that what is before the first dot */
    BJ_LABEL_CGROUP /* of the job's cgroup, as Slurm calls it where nobody asked
                       for something else */
};
struct bj_dialect_label {
    const char *name; /* ends with NULL */
    enum bj_label_of of;
    int field;        /* IDENT: bj_ident_field (core/find/ident.h) */
    const char *text; /* TEXT; IDENT: while that is not known */
};

enum { BJ_DIALECT_SETS = 4 };

struct bj_dialect {
    const char *name;
    const char *port;   /* that its own program listens on; NULL: none */
    const char *system; /* jobs of this batch system only; NULL: all */
    bool empty;         /* families without samples are announced, too */
    bool openmetrics;   /* its own program writes them on request */
    unsigned collect;   /* collectors that it needs: bits 1 << BJ_COLLECT_... */
    unsigned extras, strict_extras; /* and enum bj_extra (core/conf.h), the
                                       latter for the errors of the peer */
    const char *by;      /* and cluster.by, commas between; NULL: nothing */
    const char *sources; /* and cluster.source, likewise */
    const struct bj_dialect_row *rows;
    size_t nrows;
    /* Labels that go before those of a row; of the snapshot's rows only those
     * that need no job. */
    const struct bj_dialect_label *labels[BJ_DIALECT_SETS];
    const char *step[2]; /* names of the labels of a step and a task: both are
                            in all samples of BJ_ROW_USAGE; NULL: no steps */
};

extern const struct bj_dialect *const bj_dialects[]; /* ends with NULL */
const struct bj_dialect *bj_dialect_find(struct bj_slice name); /* or NULL */
/* Append "native" and the names of all dialects, commas between. */
void bj_dialect_names(struct bj_buf *out);

/* What a dialect may tell that no snapshot knows. */
struct bj_dialect_env {
    struct bj_slice host;         /* name of the machine, clean */
    bool hide_user, hide_account; /* these labels stay empty */
    bool unified;                 /* cgroup v2 has the jobs */
    const uint64_t *skip_uids;    /* jobs of these users are left out */
    size_t nskip_uids;
    bool strict; /* errors of the peer that dashboards may depend on are made */
};

/* How a value is written. */
enum bj_dialect_digits {
    BJ_DIGITS_WHOLE,
    BJ_DIGITS_MICRO, /* it is in millionths */
    BJ_DIGITS_MINUS  /* it is below 0 */
};

/* One value on its way out. */
struct bj_dialect_sample {
    struct bj_slice labels; /* written and escaped, each with a comma behind */
    const struct bj_slice *key; /* values of the family's own; clean */
    uint64_t value;
    enum bj_dialect_digits digits;
};

/* Where values go; family comes before its samples.  key has the names of the
 * family's own labels, NULL-terminated.  A result below 0 ends the walk and is
 * returned. */
struct bj_dialect_sink {
    void *ctx;
    int (*family)(void *ctx, const struct bj_dialect_row *row,
                  const char *const *key);
    int (*sample)(void *ctx, const struct bj_dialect_sample *s);
};

/* What a walk needs, kept from one to the next.  Zero-initialise.  What the
 * environments of its walks point to must live as long. */
struct bj_dialect_room {
    struct bj_buf text; /* of labels */
    struct bj_dialect_job *v;
    size_t n, cap;
    size_t begin[BJ_DIALECT_SETS + 1]; /* in text, of what has no job */
    /* What text was written for; dialect NULL: nothing. */
    const struct bj_dialect *dialect;
    struct bj_dialect_env env;
    struct bj_buf cluster;
    struct bj_dialect_kept *kept;
    size_t nkept, kept_cap;
    struct bj_arena arena; /* of mapped keys */
    struct bj_dialect_sum *sums;
    size_t nsums, sums_cap;
};
void bj_dialect_room_free(struct bj_dialect_room *room);

/* Walk a snapshot: family by family, jobs by id.  No two samples of a family
 * have the same labels, not even when jobs do under the labels of the dialect:
 * one of them is told then, one that runs rather than one that has ended.
 * 0, -ENOMEM, or what the sink returned. */
int bj_view_dialect(const struct bj_dialect *d, const struct bj_snap *snap,
                    const struct bj_dialect_env *env,
                    struct bj_dialect_room *room,
                    const struct bj_dialect_sink *sink);

/* The value of a row in a record whose own begin is at record: scaled, or
 * BJ_ABSENT. */
uint64_t bj_dialect_value(const struct bj_dialect_row *row, const char *record);

#endif
