/* The bill of an account for a month: total, items with their prices, days and
 * members, each beside the month before. */
#ifndef BJ_APISERVER_PAGES_BILL_H
#define BJ_APISERVER_PAGES_BILL_H

#include "apiserver/frame/params.h"
#include "apiserver/job/drawing.h"
#include "apiserver/pages/pages.h"
#include "base/arena.h"
#include "statsdb/derive/bill.h"

#define BJ_MONTH_MEANING                                                       \
    "Held is what jobs reserved, used or not. A job counts on the days on "    \
    "which it ran. Energy is charged as far as it is known."

enum { BJ_MONTH_DAYS = 31 };

struct bj_month_member {
    struct bj_slice name;
    int64_t jobs;
    struct bj_bill now, before;
    int64_t cost, cost_before; /* millionths; BJ_SQL_NULL: no prices */
};

struct bj_month_bill {
    struct bj_prices prices;
    struct bj_slice account;
    int64_t month;
    bool is_over; /* the month has ended */
    int64_t open; /* its jobs that have not ended */
    int64_t jobs; /* that ended in the month */
    struct bj_bill now, before;
    unsigned days;
    struct bj_bill day[BJ_MONTH_DAYS];
    struct bj_month_member *member; /* most expensive first */
    size_t members, room;
    struct bj_arena names;
};

enum { BJ_MONTH_ITEMS = 4 };

/* An amount that has a price. */
struct bj_month_item {
    const char *title, *what;
    int64_t price;             /* millionths; BJ_SQL_NULL: free */
    double amount;             /* hours or kWh */
    int64_t cost, cost_before; /* millionths */
    int64_t known;             /* part in millionths; BJ_SQL_NULL: nothing */
};

/* Read the bill of v->account in v->month; free v->names and v->member in any
 * case.  0, a refusal, or an error. */
int bj_month_bill_read(struct bj_call *c, const struct bj_params *filters,
                       struct bj_month_bill *v);
void bj_month_bill_items(const struct bj_month_bill *v,
                         struct bj_month_item ret[BJ_MONTH_ITEMS]);

/* The cost of the CPU and GPU time that was held and not used, where the use is
 * known. */
int64_t bj_month_bill_unused(const struct bj_month_bill *v);

/* Add the amounts of a member to a sum, without costs. */
void bj_month_bill_add(struct bj_month_member *sum,
                       const struct bj_month_member *m);

/* Does the user see the jobs of all members? */
bool bj_month_bill_sees_all(const struct bj_call *c, struct bj_slice account);

/* Append as text: money with two decimals; "+9.5 %, +729.95 EUR" against the
 * month before; whether the bill will still change. */
void bj_month_bill_money(struct bj_buf *b, int64_t micro);
void bj_month_bill_change(struct bj_buf *b, const struct bj_month_bill *v,
                          int64_t now, int64_t before);
void bj_month_bill_status(struct bj_buf *b, const struct bj_month_bill *v);

/* Make the PDF of a bill: the work of bj_drawing_document.  0, a refusal, or an
 * error. */
int bj_month_bill_pdf(struct bj_call *c, const struct bj_params *p,
                      const struct bj_month_bill *v);

#endif
