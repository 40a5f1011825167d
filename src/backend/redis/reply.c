/* SPDX-License-Identifier: MIT
 *
 * reply.c - what the server's refusals mean.
 *
 * The first word decides.  Before Redis 7 an error inside a script came
 * wrapped ("ERR Error running script (…): @user_script:3: OOM …"), so there we
 * look behind the wrapping. */
#include "reply.h"

#include <string.h>

#include "../../err.h"

static const struct {
    const char *word;
    int code;
    const char *text; /* what to do about it */
} meanings[] = {
    {"LOADING", HF_ESTARTING, "it is loading its data; try again soon"},
    {"READONLY", HF_EREAD_ONLY,
     "it is a read-only replica; give the address of the master"},
    {"OOM", HF_EFULL, "it is out of memory; raise maxmemory"},
    {"MISCONF", HF_EFULL, "it cannot write to its disk; make room there"},
    {"NOREPLICAS", HF_EREAD_ONLY, "too few of its replicas are in touch"},
    {"ERR max number of clients", HF_ECROWDED,
     "it takes no more connections; raise maxclients"},
    {"NOAUTH", HF_EAUTH, "it wants a password"},
    {"WRONGPASS", HF_EAUTH, "user name or password are wrong"},
    {"ERR AUTH", HF_EAUTH, "it has no password, or not for this user"},
    {"ERR Client sent AUTH", HF_EAUTH, "it has no password: give none"},
    {"ERR invalid password", HF_EAUTH, "the password is wrong"},
    {"NOPERM", HF_EFORBIDDEN, "the ACL of our user forbids it"},
    {"ERR The user executing the script", HF_EFORBIDDEN,
     "the ACL of our user forbids a command of the script"},
    {"ACL failure in script", HF_EFORBIDDEN,
     "the ACL of our user forbids a command of the script"},
    {"DENIED", HF_EFORBIDDEN, "it is in protected mode: set a password"},
    {"BUSY", HF_ESTARTING, "a script of somebody holds it up; try again soon"},
    {"MASTERDOWN", HF_EDOWN, "it is a replica without its master"},
    {"CLUSTERDOWN", HF_EDOWN, "its cluster is down"},
    {"MOVED", HF_EURI, "this is a cluster: write redis+cluster://"},
    {"ASK", HF_EURI, "this is a cluster: write redis+cluster://"},
    {"CROSSSLOT", HF_EURI, "this is a cluster: write redis+cluster://"},
    {"TRYAGAIN", HF_ESTARTING, "it is busy moving the name to another server"},
    {"ERR Script attempted to access a non local key", HF_EDOUBT,
     "it is moving the name to another server, and stopped in the middle"},
    {"Lua script attempted to access a non local key", HF_EDOUBT,
     "it is moving the name to another server, and stopped in the middle"},
    {"WRONGTYPE", HF_ESTORE, "the name is in use for another kind of thing"},
    {"ERR DB index", HF_EURI, "it has no database of that number"},
};

enum { N_MEANINGS = sizeof meanings / sizeof meanings[0] };

static bool begins(const char *text, const char *word) {
    size_t len = strlen(word);

    return strncmp(text, word, len) == 0 &&
           (text[len] == ' ' || text[len] == '\0' || strchr(word, ' '));
}

/* The text of the error itself. */
static const char *unwrap(const char *text) {
    static const char wrapping[] = "ERR Error running script";
    const char *inner, *next;

    if (strncmp(text, wrapping, sizeof wrapping - 1) != 0)
        return text;
    inner = text;
    while ((next = strstr(inner, "@user_script")))
        inner = next + 1;
    for (int colons = 0; *inner && colons < 2; inner++)
        colons += *inner == ':';
    while (*inner == ' ' || *inner == '-')
        inner++;
    return *inner ? inner : text;
}

static int meaning(const redisReply *reply) {
    const char *text = unwrap(reply->str);

    for (int i = 0; i < N_MEANINGS; i++)
        if (begins(text, meanings[i].word))
            return i;
    return -1;
}

int hf__reply_code(const redisReply *reply) {
    int i;

    if (reply->type != REDIS_REPLY_ERROR)
        return 0;
    i = meaning(reply);
    return i < 0 ? HF_ESTORE : meanings[i].code;
}

int hf__reply_fail(hf_error *err, const redisReply *reply, const char *where,
                   const char *name) {
    int i = meaning(reply), len = (int)strcspn(reply->str, "\r\n");

    if (len > 100)
        len = 100;
    if (i < 0)
        return hf__fail(err, HF_ESTORE, "%s: %.*s", where, len, reply->str);
    if (name)
        return hf__fail(err, meanings[i].code, "%s, \"%.64s\": %s (%.*s)",
                        where, name, meanings[i].text, len, reply->str);
    return hf__fail(err, meanings[i].code, "%s: %s (%.*s)", where,
                    meanings[i].text, len, reply->str);
}

bool hf__reply_is(const redisReply *reply, const char *word) {
    return reply->type == REDIS_REPLY_ERROR && begins(unwrap(reply->str), word);
}

bool hf__reply_cut_short(const redisReply *reply) {
    int i = reply->type == REDIS_REPLY_ERROR ? meaning(reply) : -1;

    return i >= 0 && meanings[i].code == HF_EDOUBT;
}

bool hf__reply_has(const redisReply *reply, size_t n, size_t ints) {
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < n)
        return false;
    for (size_t i = 0; i < ints; i++)
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
    return true;
}

int hf__reply_odd(hf_error *err, const char *where) {
    return hf__fail(err, HF_EDOUBT,
                    "%s: an answer that makes no sense; is it Redis?", where);
}
