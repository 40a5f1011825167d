/* SPDX-License-Identifier: MIT
 *
 * acl_test.c - the line for a user who may do what we do. */
#include "support/suite.h"

#include "backend/redis/acl.h"

#include <stdlib.h>
#include <string.h>

static hf_scripts scripts;
static hf_acl acl;
static char *line;

static const char *line_for(const char *prefix, unsigned uses,
                            hf_manner manner) {
    hf_error err;

    free(line);
    hf__scripts_clear(&scripts);
    assert_int_equal(hf__scripts_init(&scripts, &manner, &err), HF_OK);
    hf__acl_collect(&acl, &scripts, NULL, uses);
    line = hf__acl_line(&acl, prefix, uses);
    assert_non_null(line);
    return line;
}

static int teardown(void **state) {
    (void)state;
    free(line);
    line = NULL;
    hf__scripts_clear(&scripts);
    return 0;
}

/* Is it one of the words of the line? */
static bool has(const char *word) {
    size_t len = strlen(word);

    for (const char *at = line; (at = strstr(at, word)); at++)
        if (at > line && at[-1] == ' ' && strchr(" ", at[len]))
            return true;
    return false;
}

static void assert_words(const char *const *words, bool wanted) {
    for (; *words; words++)
        if (has(*words) != wanted)
            fail_msg("%s %s in: %s", *words, wanted ? "is not" : "is", line);
}
#define HAS(...)   assert_words((const char *const[]){__VA_ARGS__, NULL}, true)
#define LACKS(...) assert_words((const char *const[]){__VA_ARGS__, NULL}, false)

static void the_commands_of_the_scripts_are_in_it(void **state) {
    (void)state;
    line_for("orders:", HF_ACL_CHANNELS, (hf_manner){0});
    HAS("+hset", "+publish", "+zincrby", "+pubsub|numsub", "+type", "+info");
    HAS("+script|load", "+evalsha", "+eval", "+subscribe", "+unsubscribe");
    LACKS("+wait", "+select", "+asking", "+spublish", "+keys", "+config");
    LACKS("+pubsub", "+script", "+cluster|slots", "~holdfast_era");
}

static void every_way_of_using_it_adds_its_own(void **state) {
    (void)state;
    line_for("", HF_ACL_REPLICAS | HF_ACL_DATABASE, (hf_manner){0});
    HAS("+wait", "+select");
    line_for("a", HF_ACL_DELAY, (hf_manner){.lock_delay = 1000});
    HAS("~holdfast_era");
    line_for("a", HF_ACL_DELAY | HF_ACL_CLUSTER,
             (hf_manner){.lock_delay = 1000});
    HAS("~holdfast_era:{*}", "+asking", "+cluster|slots", "+subscribe");
    LACKS("~holdfast_era");
    line_for("a", HF_ACL_CLUSTER | HF_ACL_SHARDED,
             (hf_manner){.sharded = true});
    HAS("+spublish", "+ssubscribe", "+sunsubscribe");
    LACKS("+publish", "+subscribe", "+unsubscribe");
}

static void a_prefix_opens_its_own_keys_and_channels_only(void **state) {
    (void)state;
    line_for("orders:", HF_ACL_CHANNELS, (hf_manner){0});
    HAS("~orders:*", "~{orders:*}:timeout", "~redisson_lock_token:{orders:*}",
        "~redisson_lock_token:orders:*{*}*", "~holdfast:client:*",
        "resetchannels", "&redisson_lock__channel:{orders:*}",
        "&redisson_lock__channel:{orders:*}:*",
        "&redisson_countdownlatch__channel__{orders:*}");
    LACKS("~*", "&*", "~{orders:*", "~redisson_*");
}

/* What a wider pattern opens is not said again. */
static void all_names_are_all_keys_but_not_all_channels(void **state) {
    (void)state;
    line_for("", HF_ACL_CHANNELS, (hf_manner){0});
    HAS("~*", "&redisson_lock__channel:*{*}*", "&redisson_sc:*{*}*");
    LACKS("&*", "~redisson_lock_token:*{*}*", "~holdfast:client:*");
}

static void a_name_with_a_tag_keeps_its_own_braces(void **state) {
    (void)state;
    line_for("{orders}:", HF_ACL_CHANNELS, (hf_manner){0});
    HAS("~{orders}:*", "~redisson_lock_token:{orders}:*",
        "&redisson_countdownlatch__channel__{{orders}:*}");
    LACKS("~redisson_lock_token:{{orders}:*}", "~{orders}:*:timeout");
}

static void a_prefix_means_itself_whatever_is_in_it(void **state) {
    (void)state;
    line_for("a*[b]?\\c", HF_ACL_CHANNELS, (hf_manner){0});
    HAS("~a\\*\\[b]\\?\\\\c*", "&redisson_sc:{a\\*\\[b]\\?\\\\c*}");
    LACKS("~a\\*\\[b]\\?\\\\c*{*}*");
}

/* As it stands there nobody can log in by it. */
static void the_password_is_a_placeholder(void **state) {
    (void)state;
    line_for("", HF_ACL_CHANNELS, (hf_manner){0});
    assert_int_equal(strncmp(line, "user holdfast reset on #SHA256_", 31), 0);
    LACKS("nopass");
}

static void what_is_struck_out_is_gone(void **state) {
    (void)state;
    line_for("", HF_ACL_REPLICAS, (hf_manner){0});
    for (int i = acl.n; i-- > 0;)
        if (strcmp(acl.commands[i], "wait") == 0 ||
            strcmp(acl.commands[i], "zscore") == 0)
            hf__acl_strike(&acl, i);
    free(line);
    line = hf__acl_line(&acl, "", HF_ACL_REPLICAS);
    LACKS("+wait", "+zscore", "resetchannels");
    HAS("+type", "+zadd", "+zrevrange");
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

static const struct CMUnitTest tests[] = {
    TEST(the_commands_of_the_scripts_are_in_it),
    TEST(every_way_of_using_it_adds_its_own),
    TEST(a_prefix_opens_its_own_keys_and_channels_only),
    TEST(all_names_are_all_keys_but_not_all_channels),
    TEST(a_name_with_a_tag_keeps_its_own_braces),
    TEST(a_prefix_means_itself_whatever_is_in_it),
    TEST(the_password_is_a_placeholder),
    TEST(what_is_struck_out_is_gone),
};
HF_SUITE(tests)
