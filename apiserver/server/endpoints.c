/* The endpoints of all parts. */
#include "apiserver/frame/call.h"

const struct bj_endpoint *const bj_endpoint_tables[] = {
    bj_endpoints_status,        bj_endpoints_lists,
    bj_endpoints_series,        bj_endpoints_parts,
    bj_endpoints_facts,         bj_endpoints_findings,
    bj_endpoints_pages,         bj_endpoints_page_job,
    bj_endpoints_page_usage,    bj_endpoints_page_person,
    bj_endpoints_page_findings, bj_endpoints_page_queue,
    bj_endpoints_page_compare,  bj_endpoints_page_jobs,
    bj_endpoints_jobs,          bj_endpoints_original,
    bj_endpoints_usage,         bj_endpoints_applications,
    bj_endpoints_openapi,       bj_endpoints_simpod,
    bj_endpoints_gate,          bj_endpoints_storage,
    bj_endpoints_pdf,           bj_endpoints_plot,
    bj_endpoints_petricore,     bj_endpoints_mail,
    bj_endpoints_page_support,  bj_endpoints_page_management,
    bj_endpoints_page_cluster,  bj_endpoints_page_gpus,
    bj_endpoints_page_find,     NULL};
