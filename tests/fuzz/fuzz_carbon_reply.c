/* Responses of providers: an accepted value is an emission factor within
 * limits, of a kind that the provider has, with start and length; an error
 * message is free of control characters.  The first byte chooses the provider,
 * or the login. */
#include "carbon/provider.h"
#include "tests/fuzz/fuzz.h"

static const struct {
    const char *name, *zone;
    unsigned kinds; /* one bit per kind */
} readers[] = {
    {"rte", "FR", 1u << BJ_FACTOR_DIRECT},
    {"electricitymaps", "DE",
     1u << BJ_FACTOR_DIRECT | 1u << BJ_FACTOR_LIFECYCLE},
    {"neso", "GB", 1u << BJ_FACTOR_DIRECT},
    {"watttime", "CAISO_NORTH", 1u << BJ_FACTOR_MARGINAL},
};

enum { READERS = sizeof(readers) / sizeof(readers[0]) };

static void check_message(int r, const struct bj_err *err)
{
    MUST(r == -EINVAL || r == -EFBIG);
    MUST(err->code == r && err->msg[0]);
    for (const char *p = err->msg; *p; p++)
        MUST((unsigned char)*p >= ' ');
}

static void check_point(const struct bj_carbon_point *p, unsigned kinds)
{
    MUST(p->mg_per_kwh >= 1 && p->mg_per_kwh <= BJ_FACTOR_MG_MAX);
    MUST(p->kind < BJ_FACTOR_KINDS && (kinds >> p->kind & 1));
    MUST(p->start_sec > 0 && p->start_sec < (uint64_t)1 << 40);
    MUST(p->len_sec > 0 && p->len_sec <= BJ_FACTOR_LIVE_SEC);
}

static void read_reply(size_t i, struct bj_slice text)
{
    static struct bj_carbon_reply reply;
    struct bj_err err = {0};
    int r = bj_carbon_provider(bj_slice_str(readers[i].name))
                ->parse(text, readers[i].zone, &reply, &err);
    if (r < 0) {
        check_message(r, &err);
        return;
    }
    MUST(reply.n <= BJ_CARBON_REPLY_POINTS);
    for (size_t k = 0; k < reply.n; k++)
        check_point(&reply.v[k], readers[i].kinds);
}

static void read_login(struct bj_slice text)
{
    char tok[64] = "";
    struct bj_err err = {0};
    int r = bj_carbon_login_parse(text, tok, sizeof(tok), &err);
    if (r < 0) {
        check_message(r, &err);
        return;
    }
    MUST(tok[0]);
    for (const char *p = tok; *p; p++)
        MUST(*p > ' ' && *p <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *mem;
    struct bj_slice text = fuzz_exact(data + 1, size - 1, &mem);
    size_t i = (data[0] - (unsigned)'0') % (READERS + 1);
    if (i < READERS)
        read_reply(i, text);
    else
        read_login(text);
    free(mem);
    return 0;
}
