/* The tables of endpoints: for each X(NAME), which is bj_endpoints_NAME. */
#ifndef BJ_APISERVER_FRAME_ENDPOINT_LIST_H
#define BJ_APISERVER_FRAME_ENDPOINT_LIST_H

/* Web pages, apiserver/pages/page_NAME.c; those with a title in the menu are in
 * its order. */
#define BJ_PAGE_TABLES(X)                                                      \
    X(page_home)                                                               \
    X(page_jobs)                                                               \
    X(page_queue)                                                              \
    X(page_findings)                                                           \
    X(page_usage)                                                              \
    X(page_nodes)                                                              \
    X(page_cluster)                                                            \
    X(page_support)                                                            \
    X(page_management)                                                         \
    X(page_gpus)                                                               \
    X(page_job)                                                                \
    X(page_person)                                                             \
    X(page_compare)                                                            \
    X(page_find)                                                               \
    X(page_node)                                                               \
    X(pages)

/* The API, the gate, files. */
#define BJ_API_TABLES(X)                                                       \
    X(status)                                                                  \
    X(lists)                                                                   \
    X(series)                                                                  \
    X(parts)                                                                   \
    X(facts)                                                                   \
    X(findings)                                                                \
    X(jobs)                                                                    \
    X(original)                                                                \
    X(usage)                                                                   \
    X(applications)                                                            \
    X(openapi)                                                                 \
    X(simpod)                                                                  \
    X(gate)                                                                    \
    X(storage)                                                                 \
    X(pdf)                                                                     \
    X(script)                                                                  \
    X(plot)                                                                    \
    X(petricore)                                                               \
    X(mail)

#define BJ_ENDPOINT_TABLES(X) BJ_API_TABLES(X) BJ_PAGE_TABLES(X)

#endif
