#include "report/model/reason.h"

#include "base/local.h"

#include <stddef.h>

/* Slurm: squeue(1), "JOB REASON CODES".  A name stands for all reasons that
 * begin with it; the first match counts. */
static const struct {
    const char *name, *text;
    bool final; /* it will never start as it is */
} reasons[] = {
    {"Priority", "Jobs with a higher priority are ahead of it.", false},
    {"Resources",
     "It is next and starts as soon as enough nodes, CPUs, memory "
     "or GPUs are free.",
     false},
    {"DependencyNeverSatisfied",
     "It depends on a job that failed, so it will never start. Cancel it.",
     true},
    {"Dependency", "It depends on another job that has not ended yet.", false},
    {"BeginTime", "Its earliest start time has not come.", false},
    {"JobHeldUser", "Its owner holds it; release it with scontrol release.",
     false},
    {"JobHeldAdmin", "An administrator holds it; ask the support.", false},
    {"JobArrayTaskLimit", "The array runs as many tasks at a time as it may.",
     false},
    {"ReqNodeNotAvail",
     "A node that it needs is down, reserved, or kept free "
     "for maintenance. A shorter time limit may help.",
     false},
    {"NodeDown", "A node that it needs is down.", false},
    {"ReservationDeleted", "Its reservation was deleted. Cancel it.", true},
    {"Reservation", "Its reservation has not begun, or is in use.", false},
    {"Licenses", "Not enough licences are free.", false},
    {"PartitionDown", "Its partition does not start jobs at the moment.",
     false},
    {"PartitionInactive", "Its partition does not start jobs at the moment.",
     false},
    {"PartitionTimeLimit",
     "Its time limit is longer than the partition allows. Shorten it, or it "
     "will never start.",
     true},
    {"PartitionNodeLimit",
     "It requests more, or fewer, nodes than the partition allows, or they are "
     "down.",
     false},
    {"PartitionConfig", "The partition does not allow what it requests.", true},
    {"BadConstraints",
     "No node has what it requests, so it will never start. Change the "
     "request.",
     true},
    {"InvalidAccount", "Its account is not valid. Use another one.", true},
    {"InvalidQOS", "Its QOS is not valid. Use another one.", true},
    {"AccountNotAllowed", "Its account may not use the partition.", true},
    {"QOSNotAllowed", "Its QOS may not be used here.", true},
    {"MaxMemPerLimit",
     "It requests more memory for each node or CPU than is "
     "allowed.",
     true},
    {"QOSMax",
     "Its owner uses as much as the QOS allows. It starts when other "
     "jobs of the owner end.",
     false},
    {"QOSGrp", "All jobs of its QOS together use as much as is allowed.",
     false},
    {"QOSMin", "It requests less than the QOS requires.", true},
    {"QOS", "A limit of its QOS is reached.", false},
    {"AssocGrp",
     "All jobs of its account together use as much as the account "
     "may.",
     false},
    {"AssocMax", "Its owner uses as much as the account allows.", false},
    {"Assoc", "A limit of its account is reached.", false},
    {"Cleaning", "It was requeued and its previous run is being cleaned up.",
     false},
    {"Prolog", "Its nodes are being prepared.", false},
    {"PowerNotAvail", "Not enough power is available.", false},
    {"FrontEndDown", "No front-end node is available.", false},
    {"SystemFailure", "A part of the batch system failed.", false},
    {"JobLaunchFailure",
     "It could not be started. Look at its working "
     "directory, or ask the support.",
     false},
    {"None", "The scheduler has not considered it yet.", false},
};

/* The index of a reason; that of no reason: their number. */
static size_t reason_find(struct bj_slice reason)
{
    size_t i = 0;
    while (i < sizeof(reasons) / sizeof(reasons[0]) &&
           !bj_slice_starts(reason, bj_slice_str(reasons[i].name)))
        i++;
    return i;
}

const char *bj_reason_text(struct bj_slice reason)
{
    const size_t i = reason_find(reason);
    return i < sizeof(reasons) / sizeof(reasons[0]) ? bj_local(reasons[i].text)
                                                    : NULL;
}

bool bj_reason_is_final(struct bj_slice reason)
{
    const size_t i = reason_find(reason);
    return i < sizeof(reasons) / sizeof(reasons[0]) && reasons[i].final;
}
