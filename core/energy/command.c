/* A command that prints the power of the node: ipmi-dcmi, ipmitool, ipmiutil,
 * capmc, or a script of the site. */
#include "core/energy/command.h"

#include "base/command.h"
#include "base/json.h"
#include "base/text.h"
#include "core/energy/ipmi.h"
#include "core/energy/meter.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 64, OUTPUT_BYTES = 65536, SECOND = 1000000 };

struct command {
    const char *argv[WORDS + 1];
    char *words; /* memory of argv */
    uint64_t timeout_usec;
    const atomic_bool *stop;
    struct bj_power_form form;
};

/* --- its output -----------------------------------------------------------*/

static bool same_letters(struct bj_slice a, const char *lower)
{
    size_t n = strlen(lower);
    if (a.n != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = a.p[i];
        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != lower[i])
            return false;
    }
    return true;
}

static bool is_one_of(struct bj_slice s, const char *const *words)
{
    for (; *words; words++) {
        if (same_letters(s, *words))
            return true;
    }
    return false;
}

/* "332", "332.5 W", "332 Watts": all of s.  -EINVAL: another text. */
static int parse_watts(struct bj_slice s, uint64_t *ret_uw)
{
    static const char *const units[] = {"w", "watt", "watts", NULL};
    struct bj_slice number, unit, more;
    if (!bj_slice_word(&s, &number))
        return -EINVAL;
    if (bj_slice_word(&s, &unit) &&
        (!is_one_of(unit, units) || bj_slice_word(&s, &more)))
        return -EINVAL;
    return bj_decimal_u64(number, 6, ret_uw);
}

/* A line "key: value"; s is trimmed. */
static bool cut_key(struct bj_slice line, struct bj_slice *key,
                    struct bj_slice *value)
{
    const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;
    if (!colon)
        return false;
    size_t n = (size_t)(colon - line.p);
    *key = bj_slice_trim((struct bj_slice){line.p, n});
    *value = bj_slice_trim((struct bj_slice){colon + 1, line.n - n - 1});
    return true;
}

/* Names of the current power in the output of freeipmi, ipmitool and others,
 * and of the state of the measurement. */
static const char *const power_keys[] = {
    "current power", "instantaneous power reading",
    "power reading", "current power reading",
    "power",         NULL,
};
static const char *const state_keys[] = {
    "power measurement",
    "power reading state is",
    "power reading state",
    NULL,
};
static const char *const good_states[] = {
    "active", "activated", "enabled", "available", NULL,
};

struct found {
    uint64_t uw;
    bool any, inactive;
    struct bj_slice host; /* of its lines; p NULL: none yet */
    bool blank; /* the value of power is not a number, such as "N/A" */
};

/* Cut "host: " off a line; -EBADMSG if it is not the host of the other
 * lines. */
static int cut_host(struct found *f, struct bj_slice *line, struct bj_err *err)
{
    for (size_t i = 0; i + 1 < line->n; i++) {
        if (line->p[i] != ':' || line->p[i + 1] != ' ')
            continue;
        struct bj_slice host = {line->p, i};
        if (f->host.p && !bj_slice_eq(f->host, host))
            return bj_err_set(err, -EBADMSG,
                              "its output is about several hosts");
        f->host = host;
        line->p += i + 2;
        line->n -= i + 2;
        break;
    }
    return 0;
}

static int command_take_line(struct found *f, const struct bj_power_form *form,
                             struct bj_slice line, struct bj_err *err)
{
    struct bj_slice key, value;
    if (form->prefix && cut_host(f, &line, err) < 0)
        return -EBADMSG;
    if (!cut_key(line, &key, &value))
        return 0;
    if (is_one_of(key, state_keys))
        f->inactive |= !is_one_of(value, good_states);
    if (!is_one_of(key, power_keys) || f->any)
        return 0;
    char text[64];
    bj_text_clean(value, text, sizeof(text));
    int r = parse_watts(value, &f->uw);
    if (r == -ERANGE)
        return bj_err_set(err, r, "'%s' is not plausible", text);
    f->any = r == 0;
    f->blank |= r < 0;
    return 0;
}

/* Whether the output is only a number. */
static bool plain_number(struct bj_slice out, struct found *f)
{
    f->any = parse_watts(out, &f->uw) == 0;
    return f->any;
}

int bj_power_output(struct bj_slice out, const struct bj_power_form *form,
                    uint64_t *ret_uw, struct bj_err *err)
{
    struct found f = {0};
    struct bj_slice rest = out, line;
    if (!plain_number(bj_slice_trim(out), &f)) {
        while (bj_slice_line(&rest, &line)) {
            int r = command_take_line(&f, form, line, err);
            if (r < 0)
                return r;
        }
    }
    if ((f.inactive && !(form->inactive && f.any)) || (f.blank && !f.any))
        return bj_err_set(err, -ENODATA,
                          "its output says that power is not measured");
    if (!f.any)
        return bj_err_set(err, -EBADMSG, "no power in its output");
    int r = bj_ipmi_plausible((f.uw + 500000) / 1000000, err);
    if (r < 0)
        return r;
    *ret_uw = f.uw;
    return 0;
}

/* --- execution ------------------------------------------------------------*/

/* Errors of bj_command_run as errors of meters: -ENOENT would mean that the
 * meter has gone, but a configured command must exist. */
static int fault(int r)
{
    if (r == -ENOENT || r == -ENOEXEC || r == -EREMOTEIO)
        return -EIO;
    return r == -EFBIG ? -EBADMSG : r;
}

static int command_run(struct command *c, uint64_t *ret_uw, struct bj_err *err)
{
    const struct bj_command cmd = {
        .argv = c->argv,
        .deadline_usec = c->timeout_usec,
        .grace_usec = SECOND,
        .max_bytes = OUTPUT_BYTES,
        .abort = c->stop,
    };
    struct bj_command_result res = {0};
    int r = bj_command_run(&cmd, &res, err);
    if (r < 0) {
        r = fault(r);
        if (err)
            err->code = r;
    } else {
        r = bj_power_output((struct bj_slice){res.out.p, res.out.len}, &c->form,
                            ret_uw, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s", c->argv[0]);
    }
    bj_command_result_free(&res);
    return r;
}

static int command_read(void *m, struct bj_meter_sample *out,
                        struct bj_err *err)
{
    struct bj_zone_sample z;
    bj_zone_init(&z, "node", BJ_ZONE_NODE);
    int r = command_run(m, &z.power_uw, err);
    if (r == 0)
        bj_zone_add(out, &z);
    return r;
}

static void command_close(void *m)
{
    struct command *c = m;
    free(c->words);
    free(c);
}

/* Split the words in place: a NUL after each. */
static int command_split(struct command *c, struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(c->words), word;
    size_t n = 0;
    while (bj_slice_word(&rest, &word)) {
        if (n == WORDS)
            return bj_err_set(err, -EINVAL, "command of more than %d words",
                              WORDS);
        c->argv[n++] = word.p;
        c->form.prefix |= bj_slice_eq(word, BJ_SLICE("--always-prefix"));
        c->words[word.p + word.n - c->words] = '\0';
        if (rest.n > 0) { /* skip the NUL */
            rest.p++;
            rest.n--;
        }
    }
    return n > 0 ? 0 : bj_err_set(err, -ENODEV, "no command for the power");
}

static bool command_present(const struct bj_meter_env *env)
{
    return env->conf->command && env->conf->command[0];
}

static int command_open(const struct bj_meter_env *env, void **ret,
                        struct bj_err *err)
{
    const char *text = env->conf->command;
    struct command *c = calloc(1, sizeof(*c));
    char *words = strdup(text ? text : "");
    if (!c || !words) {
        free(c);
        free(words);
        return bj_err_set(err, -ENOMEM, "power command");
    }
    c->words = words;
    c->timeout_usec = env->conf->timeout_usec;
    c->stop = env->stop;
    c->form.inactive = env->conf->ipmi_inactive;
    int r = command_split(c, err);
    if (r < 0) {
        command_close(c);
        return r;
    }
    *ret = c;
    return 0;
}

const struct bj_meter_kind bj_meter_command = {
    .name = "command",
    .slow = true,
    .present = command_present,
    .open = command_open,
    .read = command_read,
    .close = command_close,
    .reads = "a program: `energy.command`",
    .reports = "what it prints",
    .automatic = "if set",
};
