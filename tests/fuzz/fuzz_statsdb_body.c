/* statsdb/record/record_body.h: each line of a request is stored or refused,
 * the response is JSON with the numbers of the refused lines, and only records
 * of the client's host get into the store.  The first byte chooses the client
 * and whether the body is compressed. */
#include "base/gzip.h"
#include "base/json.h"
#include "statsdb/record/record_body.h"
#include "store/db.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BODY_BYTES = 1 << 16 };

static struct bj_store *store;
static struct bj_records *records;

static void open_once(void)
{
    char dir[] = "/tmp/bj-fuzz-XXXXXX", path[64];
    if (store)
        return;
    MUST(mkdtemp(dir) != NULL);
    snprintf(path, sizeof(path), "%s/store.db", dir);
    MUST(bj_store_open(&(struct bj_store_options){.path = path}, &store,
                       NULL) == 0);
    MUST(bj_records_new(store, &records, NULL) == 0);
    /* The store disappears when its last descriptor is closed. */
    static const char *const tails[] = {"", "-wal", "-shm", ".lock"};
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        snprintf(path, sizeof(path), "%s/store.db%s", dir, tails[i]);
        unlink(path);
    }
    rmdir(dir);
}

static int64_t count(const char *sql)
{
    int64_t n = -1;
    MUST(bj_db_int(bj_store_db(store), sql, &n, NULL) == 0);
    return n;
}

static struct bj_slice cluster(const void *ctx, size_t i)
{
    (void)ctx;
    return i ? BJ_SLICE("b") : BJ_SLICE("a");
}

/* The response has the counts, and each refused line once. */
static void check_answer(const struct bj_buf *answer, unsigned lines,
                         const struct bj_record_verdict *v)
{
    struct bj_arena arena = {0};
    const struct bj_json *doc;
    unsigned last = 0, denied = 0;
    uint64_t number, status;
    MUST(bj_json_parse(&arena, (struct bj_slice){answer->p, answer->len}, "a",
                       NULL, &doc, NULL) == 0);
    MUST(bj_json_u64_or(bj_json_get(doc, "stored"), 99) == v->stored);
    BJ_JSON_EACH(r, bj_json_get(doc, "refused"))
    {
        MUST(bj_json_u64(bj_json_get(r, "record"), &number) == 0);
        MUST(bj_json_u64(bj_json_get(r, "status"), &status) == 0);
        MUST(number > last && number <= lines);
        MUST(status == 400 || status == 403);
        MUST(bj_json_text(bj_json_get(r, "error")).n > 0);
        denied += status == 403;
        last = (unsigned)number;
    }
    MUST(denied == v->denied);
    MUST(v->stored + v->malformed + v->denied == lines);
    bj_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_record_client client = {.host = BJ_SLICE("h")};
    const struct bj_record_clusters known = {size ? 1 + data[0] % 2 : 1,
                                             cluster, NULL};
    struct bj_buf plain = {0}, answer = {0};
    struct bj_gunzip *g = NULL;
    struct bj_record_verdict v;
    struct bj_slice line, text;
    unsigned lines = 0;
    if (size == 0)
        return 0;
    text = (struct bj_slice){(const char *)data + 1, size - 1};
    if (data[0] & 2)
        client = (struct bj_record_client){.names = {"cn:x\0dns:h.site", 16}};
    if (data[0] & 4) {
        int r = bj_gunzip(&g, text, BODY_BYTES, &plain);
        MUST(r == 0 || r == -EINVAL || r == -EFBIG);
        text = (struct bj_slice){plain.p, r == 0 ? plain.len : 0};
    }
    bj_gunzip_free(g);
    open_once();
    MUST(bj_records_begin(records, NULL) == 0);
    int r = bj_record_body(records, &known, &client, text, &v, &answer, NULL);
    MUST(r == 0 || r == -E2BIG);
    while (bj_slice_line(&text, &line))
        lines++;
    MUST((r == -E2BIG) == (lines > BJ_RECORD_LINES));
    if (r == 0)
        check_answer(&answer, lines, &v);
    MUST(count("SELECT count(*) FROM node_record") <= (r == 0 ? v.stored : 0));
    MUST(count("SELECT count(*) FROM node_record JOIN host ON host.id = host"
               " WHERE lower(name) NOT IN ('h', 'h.site', 'x')") == 0);
    MUST(count("SELECT count(*) FROM pragma_foreign_key_check") == 0);
    bj_records_rollback(records);
    bj_buf_free(&plain);
    bj_buf_free(&answer);
    return 0;
}
