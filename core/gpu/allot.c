#include "core/gpu/allot.h"

#include "base/command.h"
#include "sched/hostlist.h"
#include "sched/slurm_conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SECOND = 1000000, HOSTS = 65536, OUTPUT = 4 << 20, ID = 20 };

/* --- parser ---------------------------------------------------------------*/

/* Cut the next word of a line, "Key=value"; *ret is the value. */
static bool cut(struct bj_slice *line, const char *key, struct bj_slice *ret)
{
    struct bj_slice word, want = bj_slice_str(key);
    if (!bj_slice_word(line, &word) || !bj_slice_starts(word, want))
        return false;
    *ret = (struct bj_slice){word.p + want.n, word.n - want.n};
    return true;
}

/* Cut the next entry of "gpu:tesla:2(IDX:0,2),shard:4": brackets contain
 * commas. */
static bool next_entry(struct bj_slice *rest, struct bj_slice *ret)
{
    size_t n = 0;
    int depth = 0;
    if (rest->n == 0)
        return false;
    for (; n < rest->n && (depth > 0 || rest->p[n] != ','); n++)
        depth += rest->p[n] == '(' ? 1 : rest->p[n] == ')' ? -1 : 0;
    *ret = (struct bj_slice){rest->p, n};
    n += n < rest->n;
    rest->p += n;
    rest->n -= n;
    return true;
}

static bool is_list(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] < '0' || s.p[i] > '9') && s.p[i] != ',' && s.p[i] != '-')
            return false;
    return s.n > 0;
}

/* Add the numbers of "gpu:tesla:2(IDX:0-1)". */
static void take_entry(struct bj_slice entry, struct bj_gpu_claim *ret)
{
    struct bj_slice name, list, part;
    size_t used = strlen(ret->text);
    if (!bj_slice_field(&entry, ':', &name))
        return;
    if (bj_slice_eq(name, BJ_SLICE("shard")) ||
        bj_slice_eq(name, BJ_SLICE("mps")))
        ret->shared = true;
    if (!bj_slice_eq(name, BJ_SLICE("gpu")) ||
        !bj_slice_field(&entry, '(', &part) || entry.n == 0 ||
        entry.p[entry.n - 1] != ')' || !bj_slice_field(&entry, ')', &list) ||
        !bj_slice_starts(list, BJ_SLICE("IDX:")))
        return;
    list.p += 4;
    list.n -= 4;
    if (!is_list(list) || used + list.n + 2 > sizeof(ret->text))
        return;
    snprintf(ret->text + used, sizeof(ret->text) - used, "%s%.*s",
             used > 0 ? "," : "", (int)list.n, list.p);
}

/* Is the node in the list? *only: the list has only one node. */
static bool has_node(struct bj_slice hosts, struct bj_slice node, bool *only)
{
    struct bj_hostlist l;
    struct bj_slice name;
    int n = 0;
    bool found = false;
    if (bj_hostlist_begin(&l, hosts, BJ_HOSTS_SLURM) < 0)
        return false;
    while (n < HOSTS && bj_hostlist_next(&l, &name)) {
        found |= bj_slice_eq(name, node);
        n++;
    }
    *only = n == 1;
    return found;
}

/* The lines of a job with its nodes. */
struct lines {
    unsigned all, ours;
    bool only; /* the last line is about a single node */
    struct bj_slice gres;
};

static void take_line(struct bj_slice line, struct bj_slice node,
                      struct lines *l)
{
    struct bj_slice hosts, skip, gres;
    bool only = false;
    if (!cut(&line, "Nodes=", &hosts) || !cut(&line, "CPU_IDs=", &skip) ||
        !cut(&line, "Mem=", &skip) || !cut(&line, "GRES=", &gres))
        return;
    bool ours = has_node(hosts, node, &only);
    if (ours || l->ours == 0)
        l->gres = gres;
    l->only = only;
    l->ours += ours;
    l->all++;
}

bool bj_gpu_allot_slurm(struct bj_slice text, struct bj_slice jobid,
                        struct bj_slice node, struct bj_gpu_claim *ret)
{
    struct bj_slice line, rest, id, entry;
    struct lines l = {0};
    struct bj_gpu_claim c = {.environ = true};
    bool inside = false;
    while (bj_slice_line(&text, &line)) {
        rest = line;
        if (cut(&rest, "JobId=", &id))
            inside = bj_slice_eq(id, jobid);
        else if (inside)
            take_line(line, node, &l);
    }
    if (l.ours != 1 && !(l.ours == 0 && l.all == 1 && l.only))
        return false;
    while (next_entry(&l.gres, &entry))
        take_entry(entry, &c);
    if (!*c.text)
        return false;
    *ret = c;
    return true;
}

/* --- query ----------------------------------------------------------------*/

bool bj_gpu_allot_can(struct bj_slice system, struct bj_slice jobid)
{
    return bj_slice_eq(system, BJ_SLICE("slurm")) && jobid.n > 0 &&
           jobid.n < ID && is_list(jobid) && !memchr(jobid.p, '-', jobid.n) &&
           !memchr(jobid.p, ',', jobid.n);
}

/* The part of the host name that Slurm uses as the node name. */
static struct bj_slice own_name(char *buf, size_t cap)
{
    if (gethostname(buf, cap - 1) < 0)
        buf[0] = '\0';
    buf[cap - 1] = '\0';
    buf[strcspn(buf, ".")] = '\0';
    return bj_slice_str(buf);
}

int bj_gpu_allot_read(const struct bj_gpu_allot_conf *conf,
                      struct bj_slice jobid, struct bj_slice node,
                      const atomic_bool *abort, struct bj_gpu_claim *ret,
                      struct bj_err *err)
{
    char id[ID], slurm_conf[4096], host[256];
    bool any = conf->slurm_conf && *conf->slurm_conf;
    snprintf(id, sizeof(id), "%.*s", (int)jobid.n, jobid.p);
    if (any && (size_t)snprintf(slurm_conf, sizeof(slurm_conf), "SLURM_CONF=%s",
                                conf->slurm_conf) >= sizeof(slurm_conf))
        return bj_err_set(err, -ENAMETOOLONG, "cluster.slurm-conf");
    const char *const argv[] = {"scontrol", "-d", "show", "job", id, NULL};
    const char *const env[] = {any ? slurm_conf : NULL, NULL};
    const struct bj_command cmd = {
        .argv = argv,
        .path = conf->path && *conf->path ? conf->path : NULL,
        .env = env,
        .deadline_usec = 10 * SECOND,
        .max_bytes = OUTPUT,
        .abort = abort};
    struct bj_command_result res = {0};
    int r = bj_slurm_conf_explain(bj_command_run(&cmd, &res, err),
                                  conf->slurm_conf, "cluster.slurm-conf", err);
    *ret = (struct bj_gpu_claim){.environ = false};
    if (r == 0)
        bj_gpu_allot_slurm((struct bj_slice){res.out.p, res.out.len}, jobid,
                           node.n > 0 ? node : own_name(host, sizeof(host)),
                           ret);
    bj_command_result_free(&res);
    return r;
}
