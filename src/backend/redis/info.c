/* SPDX-License-Identifier: MIT
 *
 * info.c - what a server says of itself. */
#include "info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reply.h"

int hf__info_ask(hf_info *ret, hf_node *node, hf_time by, hf_error *err) {
    int rc = hf__node_ask(node, 1, (const char *const[]){"INFO"}, &ret->reply,
                          by, err);

    if (rc != HF_OK) {
        ret->reply = NULL;
        return rc == HF_EDOUBT ? (err->code = HF_EDOWN) : rc;
    }
    return HF_OK;
}

void hf__info_clear(hf_info *info) {
    if (info->reply)
        freeReplyObject(info->reply);
    info->reply = NULL;
}

/* Where the value begins, or NULL. */
static const char *find(const hf_info *info, const char *name) {
    const char *at = info->reply ? info->reply->str : NULL;
    size_t len = strlen(name);

    for (; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, name, len) == 0 && at[len] == ':')
            return at + len + 1;
    }
    return NULL;
}

const char *hf__info_field(const hf_info *info, const char *name, char *buf,
                           size_t size) {
    const char *at = find(info, name);

    snprintf(buf, size, "%.*s", at ? (int)strcspn(at, "\r\n") : 0,
             at ? at : "");
    return buf;
}

bool hf__info_has(const hf_info *info, const char *name) {
    return find(info, name) != NULL;
}

long long hf__info_number(const hf_info *info, const char *name) {
    const char *at = find(info, name);

    return at ? strtoll(at, NULL, 10) : 0;
}

int hf__info_version(const hf_info *info) {
    const char *at = find(info, "redis_version");
    char *end;
    long major = at ? strtol(at, &end, 10) : 0;
    long minor = major && *end == '.' ? strtol(end + 1, NULL, 10) : 0;

    if (major < 0 || major > 9999 || minor < 0)
        return 0;
    return (int)(major * 100 + (minor < 100 ? minor : 99));
}

bool hf__setting(hf_node *node, const char *name, char *buf, size_t size,
                 hf_time by) {
    const char *argv[] = {"CONFIG", "GET", name};
    redisReply *reply;
    hf_error err;
    bool known;

    if (hf__node_ask(node, 3, argv, &reply, by, &err) != HF_OK)
        return false;
    known = hf__reply_has(reply, 2, 0) && reply->element[1]->str;
    if (known)
        snprintf(buf, size, "%s", reply->element[1]->str);
    freeReplyObject(reply);
    return known;
}
