#include "report/model/reason.h"

#include "base/local.h"

#include <stddef.h>
#include <string.h>

/* Slurm: squeue(1), "JOB REASON CODES", and src/common/job_state_reason.c.  A
 * name stands for all reasons that begin with it and have the part, if it has
 * one; the first match counts.  Reasons of limits are made of Assoc (user,
 * account, parents) or QOS, Grp, Max or Min, a resource, and PerUser, PerJob
 * and others; limits of a QOS for each account begin with Max. */
struct reason {
    const char *name, *part, *text;
    enum bj_reason_kind kind;
};

#define BUDGET                                                                 \
    "The budget of its account or QOS is used up. Use another account, or "    \
    "ask "                                                                     \
    "for more."
#define RUN_MINUTES                                                            \
    "What the running jobs together may still use is at the limit. Shorter "   \
    "time limits help."
#define ONE_JOB                                                                \
    "It requests more than is allowed for one job, so it will never start. "   \
    "Request less."
#define OF_ACCOUNT                                                             \
    "All jobs of its account together use as much as the QOS allows."
#define SUBMITTED "As many jobs wait and run as is allowed."

static const struct reason reasons[] = {
    {"Priority", NULL, "Jobs with a higher priority are ahead of it.",
     BJ_REASON_RESOURCES},
    {"Resources", NULL,
     "It is next and starts as soon as enough nodes, CPUs, memory "
     "or GPUs are free.",
     BJ_REASON_RESOURCES},
    {"DependencyNeverSatisfied", NULL,
     "It depends on a job that failed, so it will never start. Cancel it.",
     BJ_REASON_NEVER},
    {"Dependency", NULL, "It depends on another job that has not ended yet.",
     BJ_REASON_OWN},
    {"BeginTime", NULL, "Its earliest start time has not come.", BJ_REASON_OWN},
    {"JobHeldUser", NULL,
     "Its owner holds it; release it with scontrol release.", BJ_REASON_OWN},
    {"JobHeldAdmin", NULL, "An administrator holds it; ask the support.",
     BJ_REASON_OPERATORS},
    {"JobHoldMaxRequeue", NULL,
     "It was requeued too often, and is held. Look at its output, then release "
     "it with scontrol release.",
     BJ_REASON_OWN},
    {"JobArrayTaskLimit", NULL,
     "The array runs as many tasks at a time as it may.", BJ_REASON_OWN},
    {"ReqNodeNotAvail", NULL,
     "A node that it needs is down, reserved, or kept free "
     "for maintenance. A shorter time limit may help.",
     BJ_REASON_OPERATORS},
    {"NodeDown", NULL, "A node that it needs is down.", BJ_REASON_OPERATORS},
    {"ReservationDeleted", NULL, "Its reservation was deleted. Cancel it.",
     BJ_REASON_NEVER},
    {"ReservationInvalid", NULL,
     "Its reservation cannot be used. Submit it without.", BJ_REASON_NEVER},
    {"Reservation", NULL, "Its reservation has not begun, or is in use.",
     BJ_REASON_RESOURCES},
    {"Licenses", NULL, "Not enough licences are free.", BJ_REASON_RESOURCES},
    {"PartitionDown", NULL, "Its partition does not start jobs at the moment.",
     BJ_REASON_OPERATORS},
    {"PartitionInactive", NULL,
     "Its partition does not start jobs at the moment.", BJ_REASON_OPERATORS},
    {"PartitionTimeLimit", NULL,
     "Its time limit is longer than the partition allows. Shorten it, or it "
     "will never start.",
     BJ_REASON_NEVER},
    {"PartitionNodeLimit", NULL,
     "It requests more, or fewer, nodes than the partition allows, or they are "
     "down.",
     BJ_REASON_OTHER},
    {"PartitionConfig", NULL, "The partition does not allow what it requests.",
     BJ_REASON_NEVER},
    {"BadConstraints", NULL,
     "No node has what it requests, so it will never start. Change the "
     "request.",
     BJ_REASON_NEVER},
    {"Constraints", NULL, "No free node has what it requests at the moment.",
     BJ_REASON_RESOURCES},
    {"InvalidAccount", NULL, "Its account is not valid. Use another one.",
     BJ_REASON_NEVER},
    {"InvalidQOS", NULL, "Its QOS is not valid. Use another one.",
     BJ_REASON_NEVER},
    {"AccountNotAllowed", NULL, "Its account may not use the partition.",
     BJ_REASON_NEVER},
    {"QOSNotAllowed", NULL, "Its QOS may not be used here.", BJ_REASON_NEVER},
    {"MaxMemPerLimit", NULL,
     "It requests more memory for each node or CPU than is "
     "allowed.",
     BJ_REASON_NEVER},
    {"MaxPoweredUpNodes", NULL, "As many nodes are powered up as is allowed.",
     BJ_REASON_RESOURCES},
    {"QOSGrp", "RunMinutes", RUN_MINUTES, BJ_REASON_GROUP},
    {"AssocGrp", "RunMinutes", RUN_MINUTES, BJ_REASON_GROUP},
    {"QOSGrp", "Minutes", BUDGET, BJ_REASON_GROUP},
    {"AssocGrp", "Minutes", BUDGET, BJ_REASON_GROUP},
    {"AssocMaxBBMinutesPerJob", NULL, ONE_JOB, BJ_REASON_NEVER},
    {"QOSMax", "PerJob", ONE_JOB, BJ_REASON_NEVER},
    {"QOSMax", "PerNode", ONE_JOB, BJ_REASON_NEVER},
    {"AssocMax", "PerJob", ONE_JOB, BJ_REASON_NEVER},
    {"AssocMax", "PerNode", ONE_JOB, BJ_REASON_NEVER},
    {"QOSMax", "RunMinsPerUser", RUN_MINUTES, BJ_REASON_OWN},
    {"Max", "RunMinsPerUser", RUN_MINUTES, BJ_REASON_OWN},
    {"Max", "RunMinsPerAccount", RUN_MINUTES, BJ_REASON_GROUP},
    {"QOSMax", "PerAccount", OF_ACCOUNT, BJ_REASON_GROUP},
    {"Max", "PerAccount", OF_ACCOUNT, BJ_REASON_GROUP},
    {"QOSMaxSubmit", NULL, SUBMITTED, BJ_REASON_OWN},
    {"AssocMaxSubmit", NULL, SUBMITTED, BJ_REASON_OWN},
    {"QOSUsageThreshold", NULL,
     "The fair share of its account is below what the QOS requires. Use "
     "another QOS.",
     BJ_REASON_GROUP},
    {"QOSMax", NULL,
     "Its owner uses as much as the QOS allows. It starts when other "
     "jobs of the owner end.",
     BJ_REASON_OWN},
    {"QOSGrp", NULL, "All jobs of its QOS together use as much as is allowed.",
     BJ_REASON_GROUP},
    {"QOSMin", NULL, "It requests less than the QOS requires.",
     BJ_REASON_NEVER},
    {"QOS", NULL, "A limit of its QOS is reached.", BJ_REASON_GROUP},
    {"AssocGrp", NULL,
     "All jobs of its account together use as much as the account "
     "may.",
     BJ_REASON_GROUP},
    {"AssocMax", NULL, "Its owner uses as much as the account allows.",
     BJ_REASON_OWN},
    {"Assoc", NULL, "A limit of its account is reached.", BJ_REASON_GROUP},
    {"AccountingPolicy", NULL, "A limit of accounting is reached.",
     BJ_REASON_GROUP},
    {"BurstBufferResources", NULL,
     "The burst buffer has no room at the moment.", BJ_REASON_RESOURCES},
    {"BurstBufferStageIn", NULL, "Its data is copied to the burst buffer.",
     BJ_REASON_RESOURCES},
    {"BurstBufferOperation", NULL, "The burst buffer reported an error.",
     BJ_REASON_OPERATORS},
    {"MpiPortsBusy", NULL, "All ports for MPI are in use.",
     BJ_REASON_RESOURCES},
    {"NvidiaImexChannels", NULL, "All IMEX channels of NVIDIA are in use.",
     BJ_REASON_RESOURCES},
    {"FedJobLock", NULL,
     "The clusters of the federation decide which of them runs it.",
     BJ_REASON_RESOURCES},
    {"DeadLine", NULL,
     "It cannot end before its deadline, so it will never start. Change the "
     "deadline or the time limit.",
     BJ_REASON_NEVER},
    {"SchedDefer", NULL,
     "It may start at once only, which the scheduler does not do at the "
     "moment. Leave out --immediate.",
     BJ_REASON_OWN},
    {"Cleaning", NULL,
     "It was requeued and its previous run is being cleaned up.",
     BJ_REASON_OPERATORS},
    {"Prolog", NULL, "Its nodes are being prepared.", BJ_REASON_OPERATORS},
    {"PowerNotAvail", NULL, "Not enough power is available.",
     BJ_REASON_RESOURCES},
    {"FrontEndDown", NULL, "No front-end node is available.",
     BJ_REASON_OPERATORS},
    {"SystemFailure", NULL, "A part of the batch system failed.",
     BJ_REASON_OPERATORS},
    {"JobLaunchFailure", NULL,
     "It could not be started. Look at its working "
     "directory, or ask the support.",
     BJ_REASON_OPERATORS},
    {"None", NULL, "The scheduler has not considered it yet.", BJ_REASON_OTHER},
};

static const struct reason *reason_find(struct bj_slice text)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        const struct reason *r = &reasons[i];
        if (bj_slice_starts(text, bj_slice_str(r->name)) &&
            (!r->part || memmem(text.p, text.n, r->part, strlen(r->part))))
            return r;
    }
    return NULL;
}

const char *bj_reason_text(struct bj_slice reason)
{
    const struct reason *r = reason_find(reason);
    return r ? bj_local(r->text) : NULL;
}

enum bj_reason_kind bj_reason_kind_of(struct bj_slice reason)
{
    const struct reason *r = reason_find(reason);
    return r ? r->kind : BJ_REASON_OTHER;
}

bool bj_reason_is_final(struct bj_slice reason)
{
    return bj_reason_kind_of(reason) == BJ_REASON_NEVER;
}

const char *bj_reason_kind_title(enum bj_reason_kind kind)
{
    static const char *const titles[BJ_REASON_KINDS] = {
        [BJ_REASON_OTHER] = "Other or not known",
        [BJ_REASON_NEVER] = "Never start",
        [BJ_REASON_OWN] = "Limits, jobs and holds of the owner",
        [BJ_REASON_GROUP] = "Limits of the account or QOS",
        [BJ_REASON_RESOURCES] = "Free resources, jobs ahead",
        [BJ_REASON_OPERATORS] = "Operators"};
    return bj_local(titles[kind]);
}
