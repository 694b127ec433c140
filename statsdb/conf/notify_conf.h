/* Options of notifications (docs/notify.md), which room notify reads: those of
 * the program, and the file of each target. */
#ifndef BJ_STATSDB_CONF_NOTIFY_CONF_H
#define BJ_STATSDB_CONF_NOTIFY_CONF_H

#include "base/opt.h"

#include <stdbool.h>

/* Where notifications go, from a file of notify.target-file.  A text may be
 * NULL or empty: not set. */
struct bj_target_conf {
    char *name; /* letters, digits, - and _ */
    char *kind;
    struct bj_strv url;
    char *url_file; /* has the one URL, which is a secret */
    char *user, *password_file, *token_file;
    char *secret_file; /* signs what is posted */
    char *to;          /* room, topic or channel */
    char *ca_file, *cert_file, *key_file;
    bool allow_http; /* also to other hosts */
    struct bj_strv event, cluster, account;
    char *severity;       /* the least */
    bool users;           /* show names of users and jobs */
    struct bj_strv label; /* NAME=VALUE */
    bool ended;           /* also say when something has ended */
    uint64_t per_hour;    /* messages of a chat, at most */
};

struct bj_notify_conf {
    struct bj_strv target_files;
    char *url; /* of the web pages */
    uint64_t interval_usec, import_late_usec;

    struct bj_target_conf *target;
    size_t targets;
};

enum { BJ_TARGETS_MAX = 64 };

#define BJ_TARGET_KINDS                                                        \
    "alertmanager|webhook|mattermost|slack|matrix|ntfy|teams"

/* The option tables: of the program, base a struct bj_notify_conf, and of the
 * file of a target, base a struct bj_target_conf. */
extern const struct bj_opt bj_notify_opts[];
extern const struct bj_opt bj_target_opts[];

/* Read the files of the targets.  -EINVAL with file, line and option; free
 * them in any case. */
int bj_targets_load(struct bj_notify_conf *c, struct bj_err *err);
void bj_targets_free(struct bj_notify_conf *c);

#endif
