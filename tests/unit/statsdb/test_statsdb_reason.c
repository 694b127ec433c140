/* Texts that explain why a job waits. */
#include "report/model/reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka.h needs the includes above */
#include <cmocka.h>

static void test_reasons(void **state)
{
    static const struct {
        const char *reason, *part;
    } cases[] = {
        {"Priority", "higher priority"},
        {"Dependency", "has not ended yet"},
        {"DependencyNeverSatisfied", "never start"},
        {"QOSMaxCpuPerUserLimit", "as much as the QOS allows"},
        {"AssocGrpCpuLimit", "as much as the account may"},
        {"ReqNodeNotAvail, UnavailableNodes:n1", "shorter time limit"},
        {"ReservationDeleted", "was deleted"},
        {"PartitionTimeLimit", "Shorten it"},
        {"QOSMaxCpuPerJobLimit", "for one job"},
        {"AssocGrpCPUMinutesLimit", "budget"},
        {"AssocGrpMemRunMinutes", "Shorter time limits"},
        {"MaxNodePerAccount", "as much as the QOS allows"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text = bj_reason_text(bj_slice_str(cases[i].reason));
        assert_non_null(text);
        if (!strstr(text, cases[i].part))
            fail_msg("%s: %s", cases[i].reason, text);
    }
    assert_null(bj_reason_text(BJ_SLICE("Unheard")));
    assert_null(bj_reason_text(BJ_SLICE("")));
    assert_true(bj_reason_is_final(BJ_SLICE("PartitionTimeLimit")));
    assert_true(bj_reason_is_final(BJ_SLICE("DependencyNeverSatisfied")));
    assert_false(bj_reason_is_final(BJ_SLICE("Dependency")));
    assert_false(bj_reason_is_final(BJ_SLICE("QOSMaxCpuPerUserLimit")));
    assert_false(bj_reason_is_final(BJ_SLICE("Unheard")));
}

static void test_kinds(void **state)
{
    static const struct {
        const char *reason;
        enum bj_reason_kind kind;
    } cases[] = {
        {"Priority", BJ_REASON_RESOURCES},
        {"Resources", BJ_REASON_RESOURCES},
        {"DependencyNeverSatisfied", BJ_REASON_NEVER},
        {"Dependency", BJ_REASON_OWN},
        {"JobHeldAdmin", BJ_REASON_OPERATORS},
        {"QOSMaxCpuPerUserLimit", BJ_REASON_OWN},
        {"QOSMaxCpuPerJobLimit", BJ_REASON_NEVER},
        {"QOSMaxNodePerAccount", BJ_REASON_GROUP},
        {"AssocMaxWallDurationPerJobLimit", BJ_REASON_NEVER},
        {"AssocMaxJobsLimit", BJ_REASON_OWN},
        {"AssocGrpGRES", BJ_REASON_GROUP},
        {"QOSMinCpuNotSatisfied", BJ_REASON_NEVER},
        {"AssocGrpCPUMinutesLimit", BJ_REASON_GROUP},
        {"AssocGrpCPURunMinutesLimit", BJ_REASON_GROUP},
        {"AssocMaxCPUMinutesPerJobLimit", BJ_REASON_NEVER},
        {"AssocMaxNodePerJobLimit", BJ_REASON_NEVER},
        {"QOSMaxGRESPerUser", BJ_REASON_OWN},
        {"QOSMaxSubmitJobPerUserLimit", BJ_REASON_OWN},
        {"QOSUsageThreshold", BJ_REASON_GROUP},
        {"MaxCpuPerAccount", BJ_REASON_GROUP},
        {"MaxGRESRunMinsPerUser", BJ_REASON_OWN},
        {"MaxJobsPerAccount", BJ_REASON_GROUP},
        {"MaxMemPerLimit", BJ_REASON_NEVER},
        {"MaxPoweredUpNodes", BJ_REASON_RESOURCES},
        {"AssociationJobLimit", BJ_REASON_GROUP},
        {"JobHoldMaxRequeue", BJ_REASON_OWN},
        {"BadConstraints", BJ_REASON_NEVER},
        {"Constraints", BJ_REASON_RESOURCES},
        {"DeadLine", BJ_REASON_NEVER},
        {"None", BJ_REASON_OTHER},
        {"Unheard", BJ_REASON_OTHER},
        {"", BJ_REASON_OTHER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (bj_reason_kind_of(bj_slice_str(cases[i].reason)) != cases[i].kind)
            fail_msg("%s", cases[i].reason);
    for (int k = 0; k < BJ_REASON_KINDS; k++)
        assert_true(*bj_reason_kind_title((enum bj_reason_kind)k));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reasons),
                                       cmocka_unit_test(test_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
