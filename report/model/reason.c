#include "report/model/reason.h"

#include "base/local.h"

#include <stddef.h>
#include <string.h>

/* Slurm: squeue(1), "JOB REASON CODES".  A name stands for all reasons that
 * begin with it; the first match counts. */
static const struct {
    const char *name, *text;
    enum bj_reason_kind kind;
} reasons[] = {
    {"Priority", "Jobs with a higher priority are ahead of it.",
     BJ_REASON_RESOURCES},
    {"Resources",
     "It is next and starts as soon as enough nodes, CPUs, memory "
     "or GPUs are free.",
     BJ_REASON_RESOURCES},
    {"DependencyNeverSatisfied",
     "It depends on a job that failed, so it will never start. Cancel it.",
     BJ_REASON_NEVER},
    {"Dependency", "It depends on another job that has not ended yet.",
     BJ_REASON_OWN},
    {"BeginTime", "Its earliest start time has not come.", BJ_REASON_OWN},
    {"JobHeldUser", "Its owner holds it; release it with scontrol release.",
     BJ_REASON_OWN},
    {"JobHeldAdmin", "An administrator holds it; ask the support.",
     BJ_REASON_OPERATORS},
    {"JobArrayTaskLimit", "The array runs as many tasks at a time as it may.",
     BJ_REASON_OWN},
    {"ReqNodeNotAvail",
     "A node that it needs is down, reserved, or kept free "
     "for maintenance. A shorter time limit may help.",
     BJ_REASON_OPERATORS},
    {"NodeDown", "A node that it needs is down.", BJ_REASON_OPERATORS},
    {"ReservationDeleted", "Its reservation was deleted. Cancel it.",
     BJ_REASON_NEVER},
    {"Reservation", "Its reservation has not begun, or is in use.",
     BJ_REASON_RESOURCES},
    {"Licenses", "Not enough licences are free.", BJ_REASON_RESOURCES},
    {"PartitionDown", "Its partition does not start jobs at the moment.",
     BJ_REASON_OPERATORS},
    {"PartitionInactive", "Its partition does not start jobs at the moment.",
     BJ_REASON_OPERATORS},
    {"PartitionTimeLimit",
     "Its time limit is longer than the partition allows. Shorten it, or it "
     "will never start.",
     BJ_REASON_NEVER},
    {"PartitionNodeLimit",
     "It requests more, or fewer, nodes than the partition allows, or they are "
     "down.",
     BJ_REASON_OTHER},
    {"PartitionConfig", "The partition does not allow what it requests.",
     BJ_REASON_NEVER},
    {"BadConstraints",
     "No node has what it requests, so it will never start. Change the "
     "request.",
     BJ_REASON_NEVER},
    {"InvalidAccount", "Its account is not valid. Use another one.",
     BJ_REASON_NEVER},
    {"InvalidQOS", "Its QOS is not valid. Use another one.", BJ_REASON_NEVER},
    {"AccountNotAllowed", "Its account may not use the partition.",
     BJ_REASON_NEVER},
    {"QOSNotAllowed", "Its QOS may not be used here.", BJ_REASON_NEVER},
    {"MaxMemPerLimit",
     "It requests more memory for each node or CPU than is "
     "allowed.",
     BJ_REASON_NEVER},
    {"QOSMax",
     "Its owner uses as much as the QOS allows. It starts when other "
     "jobs of the owner end.",
     BJ_REASON_OWN},
    {"QOSGrp", "All jobs of its QOS together use as much as is allowed.",
     BJ_REASON_GROUP},
    {"QOSMin", "It requests less than the QOS requires.", BJ_REASON_NEVER},
    {"QOS", "A limit of its QOS is reached.", BJ_REASON_GROUP},
    {"AssocGrp",
     "All jobs of its account together use as much as the account "
     "may.",
     BJ_REASON_GROUP},
    {"AssocMax", "Its owner uses as much as the account allows.",
     BJ_REASON_OWN},
    {"Assoc", "A limit of its account is reached.", BJ_REASON_GROUP},
    {"Cleaning", "It was requeued and its previous run is being cleaned up.",
     BJ_REASON_OPERATORS},
    {"Prolog", "Its nodes are being prepared.", BJ_REASON_OPERATORS},
    {"PowerNotAvail", "Not enough power is available.", BJ_REASON_RESOURCES},
    {"FrontEndDown", "No front-end node is available.", BJ_REASON_OPERATORS},
    {"SystemFailure", "A part of the batch system failed.",
     BJ_REASON_OPERATORS},
    {"JobLaunchFailure",
     "It could not be started. Look at its working "
     "directory, or ask the support.",
     BJ_REASON_OPERATORS},
    {"None", "The scheduler has not considered it yet.", BJ_REASON_OTHER},
};

const char *bj_reason_text(struct bj_slice reason)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (bj_slice_starts(reason, bj_slice_str(reasons[i].name)))
            return bj_local(reasons[i].text);
    return NULL;
}

/* The end of a reason "QOSMaxCpuPerJobLimit": what the limit is about. */
static bool reason_has(struct bj_slice reason, const char *part)
{
    return memmem(reason.p, reason.n, part, strlen(part)) != NULL;
}

enum bj_reason_kind bj_reason_kind_of(struct bj_slice reason)
{
    static const char *const never[] = {"PerJob", "PerNode", "MinutesPerJob"};
    const bool is_limit = bj_slice_starts(reason, BJ_SLICE("QOSMax")) ||
                          bj_slice_starts(reason, BJ_SLICE("AssocMax"));
    for (size_t i = 0; is_limit && i < sizeof(never) / sizeof(never[0]); i++)
        if (reason_has(reason, never[i]))
            return BJ_REASON_NEVER;
    if (is_limit && reason_has(reason, "PerAccount"))
        return BJ_REASON_GROUP;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (bj_slice_starts(reason, bj_slice_str(reasons[i].name)))
            return reasons[i].kind;
    return BJ_REASON_OTHER;
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
