#include "base/secret.h"

#include "base/hash.h"
#include "base/listen.h"

#include <crypt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum { SETS = 128, WAYS = 4, SECRET_MAX = 256 };
enum { TRY_SETS = 256 };

struct known {
    char hash[BJ_HASH_BYTES];
    char secret[SECRET_MAX];
    size_t n;
};

/* Hashes map to a set by their last bytes, which are as good as random. */
struct set {
    struct known way[WAYS];
    unsigned next;
};

/* The wrong secrets of one address, network or name: a leaky bucket. */
struct tries {
    uint64_t key;     /* 0: unused */
    uint64_t at_usec; /* of this count */
    unsigned n;
};

/* What wrong secrets count for. */
enum { ADDRESS, NETWORK, NAME, SUBJECTS };
static const struct {
    unsigned burst;
    uint64_t usec; /* after which one is forgotten */
} limits[SUBJECTS] = {
    [ADDRESS] = {BJ_SECRET_ADDRESS_BURST, BJ_SECRET_ADDRESS_USEC},
    [NETWORK] = {BJ_SECRET_NETWORK_BURST, BJ_SECRET_NETWORK_USEC},
    [NAME] = {BJ_SECRET_NAME_BURST, BJ_SECRET_NAME_USEC},
};

struct bj_secrets {
    pthread_mutex_t lock;    /* protects all but data */
    pthread_mutex_t compute; /* protects data: one hash is computed at a time */
    struct set known[SETS];
    struct tries tries[SUBJECTS][TRY_SETS][WAYS];
    uint64_t seed; /* of the keys, so that clients cannot choose them */
    struct crypt_data data;
};

/* The hash of no password: the first 22 characters are a salt, the rest is not
 * a possible result of bcrypt. */
static const char dummy[] =
    "$2b$10$abcdefghijklmnopqrstuu0000000000000000000000000000000";

int bj_secrets_new(struct bj_secrets **ret, struct bj_err *err)
{
    struct bj_secrets *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "secrets");
    if (getrandom(&s->seed, sizeof(s->seed), 0) != (ssize_t)sizeof(s->seed)) {
        free(s);
        return bj_err_set(err, -EIO, "no random numbers");
    }
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->compute, NULL);
    *ret = s;
    return 0;
}

void bj_secrets_free(struct bj_secrets *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->compute);
    explicit_bzero(s, sizeof(*s));
    free(s);
}

/* Compare in a time that does not depend on where they differ. */
static bool secret_same(struct bj_slice a, struct bj_slice b)
{
    unsigned char differ = a.n != b.n;
    for (size_t i = 0; i < a.n; i++)
        differ |= (unsigned char)(a.p[i] ^ (b.n ? b.p[i % b.n] : 0xff));
    return differ == 0;
}

static struct set *set_of(struct bj_secrets *s, const char *hash)
{
    unsigned h = 0;
    for (size_t n = strlen(hash), i = n > 6 ? n - 6 : 0; i < n; i++)
        h = h * 31 + (unsigned char)hash[i];
    return &s->known[h % SETS];
}

static bool secret_is_known(struct bj_secrets *s, const char *hash,
                            struct bj_slice secret)
{
    const struct set *set = set_of(s, hash);
    for (int i = 0; i < WAYS; i++) {
        const struct known *k = &set->way[i];
        if (k->hash[0] && strcmp(k->hash, hash) == 0 &&
            secret_same((struct bj_slice){k->secret, k->n}, secret))
            return true;
    }
    return false;
}

static void remember(struct bj_secrets *s, const char *hash,
                     struct bj_slice secret)
{
    struct set *set = set_of(s, hash);
    struct known *k = &set->way[set->next++ % WAYS];
    size_t n = strlen(hash);
    if (n >= sizeof(k->hash))
        return;
    memcpy(k->hash, hash, n + 1);
    memcpy(k->secret, secret.p, secret.n);
    k->n = secret.n;
}

/* --- wrong secrets --------------------------------------------------------*/

static uint64_t secret_key_of(const struct bj_secrets *s, struct bj_slice text)
{
    uint64_t h =
        bj_hash(bj_hash(BJ_HASH, (struct bj_slice){(const char *)&s->seed,
                                                   sizeof(s->seed)}),
                text);
    return h ? h : 1;
}

/* The count of a key; a new one replaces the smallest count of its set. */
static struct tries *find_tries(struct bj_secrets *s, int subject, uint64_t key,
                                uint64_t now)
{
    struct tries *set = s->tries[subject][key % TRY_SETS], *least = set;
    for (struct tries *t = set; t < set + WAYS; t++) {
        /* The clock of a thread that waited for the lock may be behind. */
        uint64_t past = now > t->at_usec ? now - t->at_usec : 0;
        uint64_t less = past / limits[subject].usec;
        t->n = less < t->n ? t->n - (unsigned)less : 0;
        t->at_usec += less * limits[subject].usec;
        if (t->n == 0)
            t->at_usec = now;
    }
    for (struct tries *t = set; t < set + WAYS; t++) {
        if (t->key == key)
            return t;
        if (t->n < least->n)
            least = t;
    }
    *least = (struct tries){.key = key, .at_usec = now};
    return least;
}

static void find_all(struct bj_secrets *s, const struct bj_secret_client *c,
                     uint64_t now, struct tries *ret[static SUBJECTS])
{
    size_t network;
    struct bj_slice address = bj_listen_client(c->address, &network);
    const struct bj_slice text[SUBJECTS] = {
        address, {address.p, network}, c->name};
    for (int i = 0; i < SUBJECTS; i++)
        ret[i] = find_tries(s, i, secret_key_of(s, text[i]), now);
}

static bool may_try(struct bj_secrets *s, const struct bj_secret_client *c,
                    uint64_t now)
{
    struct tries *t[SUBJECTS];
    find_all(s, c, now, t);
    return t[ADDRESS]->n < limits[ADDRESS].burst &&
           t[NETWORK]->n < limits[NETWORK].burst &&
           (t[ADDRESS]->n == 0 || t[NAME]->n < limits[NAME].burst);
}

static void count_wrong(struct bj_secrets *s, const struct bj_secret_client *c,
                        uint64_t now)
{
    struct tries *t[SUBJECTS];
    find_all(s, c, now, t);
    for (int i = 0; i < SUBJECTS; i++)
        t[i]->n += t[i]->n < limits[i].burst;
}

/* --- hashes ---------------------------------------------------------------*/

/* Compute the hash of secret and compare it. */
static bool compute(struct bj_secrets *s, const char *hash, const char *like,
                    struct bj_slice secret)
{
    char text[SECRET_MAX];
    memcpy(text, secret.p, secret.n);
    text[secret.n] = '\0';
    const char *want = hash ? hash : like ? like : dummy;
    const char *got = crypt_rn(text, want, &s->data, sizeof(s->data));
    bool right = got && got[0] != '*' &&
                 secret_same(bj_slice_str(got), bj_slice_str(want)) && hash;
    explicit_bzero(text, sizeof(text));
    return right;
}

bool bj_secret_known(struct bj_secrets *s, const char *hash,
                     struct bj_slice secret)
{
    pthread_mutex_lock(&s->lock);
    bool known = hash && secret_is_known(s, hash, secret);
    pthread_mutex_unlock(&s->lock);
    return known;
}

int bj_secret_check(struct bj_secrets *s, const char *hash, const char *like,
                    const struct bj_secret_client *client,
                    struct bj_slice secret, uint64_t now_usec)
{
    if (secret.n == 0 || secret.n >= SECRET_MAX ||
        memchr(secret.p, '\0', secret.n))
        return 0;
    if (bj_secret_known(s, hash, secret))
        return 1;
    pthread_mutex_lock(&s->lock);
    bool may = may_try(s, client, now_usec);
    pthread_mutex_unlock(&s->lock);
    if (!may)
        return -EAGAIN;
    /* Another request with the same secret then finds it cached; requests that
     * waited for others of their address are counted again. */
    pthread_mutex_lock(&s->compute);
    int r = bj_secret_known(s, hash, secret);
    pthread_mutex_lock(&s->lock);
    if (r == 0 && !may_try(s, client, now_usec))
        r = -EAGAIN;
    pthread_mutex_unlock(&s->lock);
    if (r == 0) {
        r = compute(s, hash, like, secret);
        pthread_mutex_lock(&s->lock);
        if (r > 0)
            remember(s, hash, secret);
        else
            count_wrong(s, client, now_usec);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_unlock(&s->compute);
    return r;
}

bool bj_secret_usable(const char *hash)
{
    static const char *const good[] = {"$2a$", "$2b$", "$2y$", "$5$",
                                       "$6$",  "$7$",  "$y$",  "$gy$"};
    struct bj_slice text = bj_slice_str(hash);
    int r = crypt_checksalt(hash);
    if (text.n >= BJ_HASH_BYTES || r == CRYPT_SALT_INVALID ||
        r == CRYPT_SALT_METHOD_DISABLED)
        return false;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (bj_slice_starts(text, bj_slice_str(good[i])))
            return true;
    return false;
}

/* --- base64 ----------------------------------------------------------------
 */

static int digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

int bj_base64(struct bj_slice s, char *dst, size_t cap)
{
    unsigned bits = 0, have = 0;
    size_t n = 0;
    if (s.n % 4 != 0)
        return -EINVAL;
    for (int i = 0; i < 2 && s.n > 0 && s.p[s.n - 1] == '='; i++)
        s.n--;
    for (size_t i = 0; i < s.n; i++) {
        int d = digit(s.p[i]);
        if (d < 0)
            return -EINVAL;
        bits = bits << 6 | (unsigned)d;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        if (n == cap)
            return -EFBIG;
        dst[n++] = (char)(bits >> have & 0xff);
    }
    return have < 6 && (bits & ((1u << have) - 1)) == 0 ? (int)n : -EINVAL;
}

bool bj_secret_basic(struct bj_slice coded, char *buf, size_t cap,
                     struct bj_slice *ret_name, struct bj_slice *ret_secret)
{
    int n = bj_base64(coded, buf, cap);
    struct bj_slice rest = {buf, n < 0 ? 0 : (size_t)n};
    if (n <= 0 || !memchr(buf, ':', rest.n) ||
        !bj_slice_field(&rest, ':', ret_name))
        return false;
    *ret_secret = rest;
    return true;
}
