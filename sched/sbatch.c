#include "sched/sbatch.h"

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
