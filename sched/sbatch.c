#include "sched/sbatch.h"

#include <stdio.h>
#include <string.h>

static const struct bj_sbatch_option known[] = {
    {"nodes", 'N', BJ_SBATCH_NEEDED, BJ_SBATCH_NODES},
    {"ntasks", 'n', BJ_SBATCH_NEEDED, BJ_SBATCH_NTASKS},
    {"ntasks-per-node", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_TASKS_NODE},
    {"cpus-per-task", 'c', BJ_SBATCH_NEEDED, BJ_SBATCH_CPUS_TASK},
    {"gres", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_GRES},
    {"gpus", 'G', BJ_SBATCH_NEEDED, BJ_SBATCH_GPUS},
    {"gpus-per-node", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_GPUS_NODE},
    {"gpus-per-task", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_GPUS_TASK},
    {"cpus-per-gpu", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_CPUS_GPU},
    {"mem", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_MEM},
    {"mem-per-cpu", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_MEM_CPU},
    {"mem-per-gpu", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_MEM_GPU},
    {"time", 't', BJ_SBATCH_NEEDED, BJ_SBATCH_TIME},
    {"time-min", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_TIME_MIN},
    {"exclusive", 0, BJ_SBATCH_ATTACHED, BJ_SBATCH_EXCLUSIVE},
    {"wrap", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_WRAP},
    {"gpus-per-socket", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"ntasks-per-core", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"ntasks-per-socket", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"ntasks-per-gpu", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"tres-per-task", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"cores-per-socket", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"sockets-per-node", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"threads-per-core", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"extra-node-info", 'B', BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"mincpus", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"hint", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"core-spec", 'S', BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"thread-spec", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"overcommit", 'O', BJ_SBATCH_NONE, BJ_SBATCH_SHAPE},
    {"oversubscribe", 's', BJ_SBATCH_ATTACHED, BJ_SBATCH_SHAPE},
    {"gres-flags", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"spread-job", 0, BJ_SBATCH_NONE, BJ_SBATCH_SHAPE},
    {"use-min-nodes", 0, BJ_SBATCH_NONE, BJ_SBATCH_SHAPE},
    {"nodelist", 'w', BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"nodefile", 'F', BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"segment", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_SHAPE},
    {"account", 'A', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"acctg-freq", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"array", 'a', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"batch", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"bb", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"bbf", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"begin", 'b', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"chdir", 'D', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"cluster-constraint", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"clusters", 'M', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"comment", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"constraint", 'C', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"container", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"contiguous", 0, BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"cpu-freq", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"deadline", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"delay-boot", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"dependency", 'd', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"distribution", 'm', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"error", 'e', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"exclude", 'x', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"export", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"export-file", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"get-user-env", 0, BJ_SBATCH_ATTACHED, BJ_SBATCH_HARMLESS},
    {"gid", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"gpu-bind", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"gpu-freq", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"hold", 'H', BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"ignore-pbs", 0, BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"input", 'i', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"job-name", 'J', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"kill-on-invalid-dep", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"licenses", 'L', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"mail-type", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"mail-user", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"mcs-label", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"mem-bind", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"mpi", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"network", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"nice", 0, BJ_SBATCH_ATTACHED, BJ_SBATCH_HARMLESS},
    {"no-kill", 'k', BJ_SBATCH_ATTACHED, BJ_SBATCH_HARMLESS},
    {"no-requeue", 0, BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"no-shell", 0, BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"open-mode", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"output", 'o', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"parsable", 0, BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"partition", 'p', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"power", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"prefer", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"priority", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"profile", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"propagate", 0, BJ_SBATCH_ATTACHED, BJ_SBATCH_HARMLESS},
    {"pty", 0, BJ_SBATCH_ATTACHED, BJ_SBATCH_HARMLESS},
    {"qos", 'q', BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"quiet", 'Q', BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"reboot", 0, BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"requeue", 0, BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"reservation", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"signal", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"switches", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"tmp", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"uid", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"verbose", 'v', BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"wait", 'W', BJ_SBATCH_NONE, BJ_SBATCH_HARMLESS},
    {"wait-all-nodes", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"wckey", 0, BJ_SBATCH_NEEDED, BJ_SBATCH_HARMLESS},
    {"x11", 0, BJ_SBATCH_ATTACHED, BJ_SBATCH_HARMLESS},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

const struct bj_sbatch_option *bj_sbatch_by_name(struct bj_slice name)
{
    for (unsigned i = 0; i < KNOWN; i++)
        if (bj_slice_eq(name, bj_slice_str(known[i].name)))
            return &known[i];
    return NULL;
}

const struct bj_sbatch_option *bj_sbatch_by_letter(char letter)
{
    for (unsigned i = 0; i < KNOWN; i++)
        if (known[i].letter == letter)
            return &known[i];
    return NULL;
}

bool bj_sbatch_abbreviates(struct bj_slice name)
{
    for (unsigned i = 0; i < KNOWN; i++)
        if (known[i].opt != BJ_SBATCH_HARMLESS &&
            bj_slice_starts(bj_slice_str(known[i].name), name))
            return true;
    return false;
}

const char *bj_sbatch_name(enum bj_sbatch_opt opt)
{
    for (unsigned i = 0; i < KNOWN; i++)
        if (known[i].opt == opt)
            return known[i].name;
    return "";
}

/* --- scripts --------------------------------------------------------------*/

/* --- the reply of sacct ----------------------------------------------------
 */

static const struct bj_slice unreadable = {"0 ?", 3}, between = {"; ", 2};

/* The job whose heading the line is; ids: it is none. */
static size_t heading_of(const struct bj_scripts *s, struct bj_slice line)
{
    static const struct bj_slice begin = {"Batch Script for ", 17};
    size_t i = 0;
    if (!bj_slice_starts(line, begin))
        return s->ids;
    line = (struct bj_slice){line.p + begin.n, line.n - begin.n};
    while (i < s->ids && !bj_slice_eq(line, bj_slice_str(s->id[i])))
        i++;
    return i;
}

static bool is_rule(struct bj_slice line)
{
    enum { WIDTH = 80 };
    size_t i = 0;
    while (i < line.n && line.p[i] == '-')
        i++;
    return i == WIDTH && line.n == WIDTH;
}

static void sbatch_put_line(struct bj_scripts *s, struct bj_slice line,
                            bool cut)
{
    if (s->inside)
        s->line(s->ctx, s->of, ++s->number, line, cut);
}

/* A heading counts if a rule follows; of a single job only the first. */
static void sbatch_take_line(struct bj_scripts *s)
{
    const struct bj_slice line = {s->text.p, s->text.len};
    if (s->waits) {
        s->waits = false;
        if (is_rule(line) && !s->cut) {
            s->inside = true;
            s->of = s->which;
            s->number = 0;
            return;
        }
        sbatch_put_line(s, (struct bj_slice){s->heading.p, s->heading.len},
                        false);
    }
    const size_t which =
        s->cut || (s->inside && s->ids == 1) ? s->ids : heading_of(s, line);
    if (which == s->ids) {
        sbatch_put_line(s, line, s->cut);
        return;
    }
    s->which = which;
    s->waits = true;
    s->heading.len = 0;
    bj_buf_slice(&s->heading, line);
}

bool bj_scripts_feed(struct bj_scripts *s, struct bj_slice piece)
{
    while (piece.n > 0) {
        const char *end = memchr(piece.p, '\n', piece.n);
        size_t n = end ? (size_t)(end - piece.p) : piece.n;
        const size_t room = BJ_SCRIPT_LINE - s->text.len;
        s->cut |= n > room;
        bj_buf_put(&s->text, piece.p, n < room ? n : room);
        n += end != NULL;
        piece = (struct bj_slice){piece.p + n, piece.n - n};
        if (!end)
            break;
        if (!s->text.failed)
            sbatch_take_line(s);
        s->text.len = 0;
        s->cut = false;
    }
    return !s->text.failed && !s->heading.failed;
}

void bj_scripts_end(struct bj_scripts *s)
{
    if (s->text.len > 0 && !s->text.failed)
        sbatch_take_line(s);
    if (s->waits && !s->heading.failed)
        sbatch_put_line(s, (struct bj_slice){s->heading.p, s->heading.len},
                        false);
    bj_buf_free(&s->text);
    bj_buf_free(&s->heading);
}

/* --- options of #SBATCH lines ----------------------------------------------
 */

static bool sbatch_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Cut the next word off a #SBATCH line.  A "#" that begins a word begins a
 * comment.  *ret_quoted: the word has quotes or backslashes. */
static bool next_word(struct bj_slice *rest, struct bj_slice *ret,
                      bool *ret_quoted)
{
    size_t i = 0, n;
    char quote = 0;
    while (i < rest->n && sbatch_is_blank(rest->p[i]))
        i++;
    *ret_quoted = false;
    if (i == rest->n || rest->p[i] == '#')
        return false;
    for (n = i; n < rest->n; n++) {
        const char c = rest->p[n];
        *ret_quoted |= c == '"' || c == '\'' || c == '\\';
        if (c == '\\' && quote != '\'' && n + 1 < rest->n)
            n++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (sbatch_is_blank(c))
            break;
    }
    *ret = (struct bj_slice){rest->p + i, n - i};
    *rest = (struct bj_slice){rest->p + n, rest->n - n};
    return true;
}

static void append(struct bj_script_options *o, unsigned number,
                   struct bj_slice a, struct bj_slice b)
{
    const size_t room = sizeof(o->text) - o->n - between.n - unreadable.n;
    const int n = snprintf(NULL, 0, "%s%u %.*s%.*s", o->n > 0 ? between.p : "",
                           number, (int)a.n, a.p, (int)b.n, b.n > 0 ? b.p : "");
    if (n < 0 || (size_t)n >= room) {
        o->more = true;
        return;
    }
    snprintf(o->text + o->n, room, "%s%u %.*s%.*s", o->n > 0 ? between.p : "",
             number, (int)a.n, a.p, (int)b.n, b.n > 0 ? b.p : "");
    o->n += (size_t)n;
}

/* Amounts are numbers with names of models and units. */
static bool is_amount(struct bj_slice v)
{
    enum { LONGEST = 64 };
    for (size_t i = 0; i < v.n; i++)
        if (!((v.p[i] | 32) >= 'a' && (v.p[i] | 32) <= 'z') &&
            !(v.p[i] >= '0' && v.p[i] <= '9') &&
            (v.p[i] == '\0' || !strchr("_-.,:/*+", v.p[i])))
            return false;
    return v.n <= LONGEST;
}

static bool is_option_name(struct bj_slice name)
{
    enum { LONGEST = 40 };
    for (size_t i = 0; i < name.n; i++)
        if (!((name.p[i] | 32) >= 'a' && (name.p[i] | 32) <= 'z') &&
            !(name.p[i] >= '0' && name.p[i] <= '9') && name.p[i] != '-')
            return false;
    return name.n > 0 && name.n <= LONGEST;
}

/* Take one word of a #SBATCH line, and the value after it. */
static void sbatch_take_word(struct bj_script_options *o, unsigned number,
                             struct bj_slice word, bool quoted,
                             struct bj_slice *rest)
{
    const bool is_long = word.n > 2 && word.p[1] == '-';
    struct bj_slice name = word, value = {NULL, 0}, begin;
    const struct bj_sbatch_option *k;
    bool attached, also;
    if (word.n < 2 || word.p[0] != '-') {
        o->more = true;
        return;
    }
    if (is_long) {
        const char *equal = memchr(word.p, '=', word.n);
        attached = equal != NULL;
        name.n = equal ? (size_t)(equal - word.p) : word.n;
        k = bj_sbatch_by_name((struct bj_slice){name.p + 2, name.n - 2});
    } else {
        name.n = 2;
        attached = word.n > 2;
        k = bj_sbatch_by_letter(word.p[1]);
    }
    if (!k || (!is_long && attached && k->arg != BJ_SBATCH_NEEDED)) {
        /* an option of the site, a short form, or several letters together */
        if (!is_long ||
            !is_option_name((struct bj_slice){name.p + 2, name.n - 2}))
            o->more = true;
        else
            append(o, number, name, BJ_SLICE("="));
        return;
    }
    value = (struct bj_slice){word.p + name.n, word.n - name.n};
    begin = (struct bj_slice){word.p, name.n + (is_long && attached)};
    if (is_long && attached)
        value = (struct bj_slice){value.p + 1, value.n - 1};
    if (k->arg == BJ_SBATCH_NEEDED && !attached) {
        if (!next_word(rest, &value, &also)) {
            o->more = true;
            return;
        }
        quoted |= also;
    }
    if (k->opt == BJ_SBATCH_HARMLESS || k->opt == BJ_SBATCH_WRAP)
        return;
    if (k->opt == BJ_SBATCH_SHAPE) {
        char bare[64];
        snprintf(bare, sizeof(bare), "--%s", k->name);
        append(o, number, bj_slice_str(bare), BJ_SLICE("="));
        return;
    }
    if (quoted || !is_amount(value)) {
        o->more = true;
        return;
    }
    /* "-n 4" and "--mem 4G" as they are written, with one blank */
    char both[160];
    const bool blank = k->arg == BJ_SBATCH_NEEDED && !attached;
    const int n =
        snprintf(both, sizeof(both), "%.*s%s%.*s", (int)begin.n, begin.p,
                 blank ? " " : "", (int)value.n, value.n > 0 ? value.p : "");
    if (n > 0 && (size_t)n < sizeof(both))
        append(o, number, (struct bj_slice){both, (size_t)n},
               (struct bj_slice){NULL, 0});
}

void bj_script_options_line(struct bj_script_options *o, unsigned number,
                            struct bj_slice line, bool cut)
{
    static const struct bj_slice others[] = {{"#PBS", 4}, {"#BSUB", 5}};
    static const struct bj_slice magic = {"#SBATCH", 7};
    struct bj_slice word;
    bool quoted;
    size_t i = 0;
    if (o->ended)
        return;
    while (i < line.n && sbatch_is_blank(line.p[i]))
        i++;
    if (i < line.n && line.p[i] != '#') {
        o->ended = true;
        return;
    }
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++)
        o->more |= bj_slice_starts(line, others[k]);
    if (!bj_slice_starts(line, magic))
        return;
    o->more |= cut;
    line = (struct bj_slice){line.p + magic.n, line.n - magic.n};
    while (next_word(&line, &word, &quoted))
        sbatch_take_word(o, number, word, quoted, &line);
}

struct bj_slice bj_script_options_text(struct bj_script_options *o)
{
    if (o->more) {
        size_t n = o->n;
        for (int i = o->n == 0; i < 2; i++) {
            const struct bj_slice part = i == 0 ? between : unreadable;
            memcpy(o->text + n, part.p, part.n);
            n += part.n;
        }
        return (struct bj_slice){o->text, n};
    }
    return o->n > 0 ? (struct bj_slice){o->text, o->n} : BJ_SLICE("none");
}

bool bj_script_options_next(struct bj_slice *rest, unsigned *ret_line,
                            struct bj_slice *ret_option)
{
    uint64_t number;
    struct bj_slice all = *rest, item;
    if (all.n == 0 || !bj_slice_field(&all, ';', &item))
        return false;
    if (item.n > 0 && item.p[0] == ' ')
        item = (struct bj_slice){item.p + 1, item.n - 1};
    if (!bj_slice_number(&item, &number) || item.n < 2 || item.p[0] != ' ' ||
        number > 1000000000)
        return false;
    *rest = all;
    *ret_line = (unsigned)number;
    *ret_option = (struct bj_slice){item.p + 1, item.n - 1};
    return true;
}
