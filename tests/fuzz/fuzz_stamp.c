/* base/stamp.h: a parsed stamp equals the result of timegm(), and a stamp that
 * is written and parsed again is the same. */
#include "base/stamp.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <time.h>

static void compare(struct bj_slice in)
{
    struct bj_civil c;
    int64_t usec, again, sec;
    char buf[BJ_STAMP_MAX];
    if (bj_civil_parse(in, &c) < 0) {
        MUST(bj_stamp_usec(in, BJ_STAMP_BARE_UTC, &usec) < 0);
        return;
    }
    struct tm tm = {.tm_year = c.year - 1900,
                    .tm_mon = (int)c.month - 1,
                    .tm_mday = (int)c.day,
                    .tm_hour = (int)c.hour,
                    .tm_min = (int)c.minute,
                    .tm_sec = (int)c.second};
    int64_t want = (int64_t)timegm(&tm) - (int64_t)c.offset_min * 60;
    MUST(tm.tm_mday == (int)c.day && tm.tm_mon == (int)c.month - 1);
    MUST(c.usec < 1000000 && c.second < 60);
    MUST(bj_civil_usec(&c) == want * 1000000 + c.usec);
    int r = bj_stamp_usec(in, BJ_STAMP_BARE_UTC, &usec);
    MUST(r == 0 || r == -ERANGE);
    MUST((bj_stamp_usec(in, BJ_STAMP_ZONED, &again) == 0) ==
         (r == 0 && c.zoned));
    if (r < 0)
        return;
    MUST(usec == bj_civil_usec(&c));
    MUST(bj_stamp_sec(in, BJ_STAMP_BARE_UTC, &sec) == 0 && sec == want);
    bj_stamp_text(usec, 6, 0, buf);
    MUST(bj_stamp_usec(bj_slice_str(buf), BJ_STAMP_ZONED, &again) == 0);
    MUST(again == usec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem, buf[BJ_STAMP_MAX];
    struct bj_slice in = fuzz_exact(data, size, &mem);
    compare(in);
    free(mem);
    /* Any number can be written as a stamp. */
    struct {
        int64_t usec;
        int offset;
        unsigned digits;
    } x = {0};
    struct bj_civil c;
    memcpy(&x, data, size < sizeof(x) ? size : sizeof(x));
    bj_stamp_text(x.usec, x.digits % 8, x.offset, buf);
    MUST(strlen(buf) < sizeof(buf));
    MUST(bj_civil_parse(bj_slice_str(buf), &c) == 0 && c.zoned);
    return 0;
}
