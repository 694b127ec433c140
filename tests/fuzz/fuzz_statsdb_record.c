/* statsdb/record/record.h: a text is stored as a record or refused; the same
 * record is stored once, and all its foreign keys exist. */
#include "statsdb/record/record.h"
#include "store/db.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_slice text = {(const char *)data, size};
    int r[2];
    open_once();
    MUST(bj_records_begin(records, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        r[i] = bj_record_put(records, BJ_SLICE("c"), "name", text, NULL);
        MUST(r[i] == 0 || r[i] == -EINVAL);
    }
    MUST(r[0] == r[1]);
    MUST(count("SELECT count(*) FROM node_record") == (r[0] == 0));
    MUST(count("SELECT count(*) FROM pragma_foreign_key_check") == 0);
    bj_records_rollback(records);
    return 0;
}
