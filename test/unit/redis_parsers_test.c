/* SPDX-License-Identifier: MIT
 *
 * redis_parsers_test.c - the corners of what reads the texts of Redis and its
 * sentinels, and addresses of theirs, which the other tests and the corpus of
 * the fuzzer leave out; among them the want of memory at every step.
 * tools/coverage.sh says which there are.  No server is asked. */
#include "support/dir.h"
#include "support/suite.h"
#include "support/want.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backend/redis/keys.h"
#include "backend/redis/redis.h"
#include "backend/redis/reply.h"

#define EACH(i, of) for (size_t i = 0; i < sizeof(of) / sizeof *(of); i++)

#define UUID  "01234567-89ab-4cde-8f01-23456789abcd"
#define OTHER "01234567-89ab-4cde-8f01-23456789abce"

/* The reply as the wire has it; freed by freeReplyObject. */
static redisReply *reply_of(const char *wire, size_t size) {
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_int_equal(redisReaderFeed(reader, wire, size), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

/* ---- refusals ---------------------------------------------------------- */

static redisReply refusal(const char *text) {
    return (redisReply){.type = REDIS_REPLY_ERROR,
                        .str = (char *)(uintptr_t)text,
                        .len = strlen(text)};
}

#define WRAPPED                                                                \
    "ERR Error running script (call to f_1): @user_script:3: @user_script: 3: "

static void a_refusal_is_known_by_its_first_words(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"LOADING Redis is loading", HF_ESTARTING},
        {"NOAUTH", HF_EAUTH},
        {"NOAUTHX", HF_ESTORE},
        {"ERR AUTH", HF_EAUTH},
        {"ERR invalid passwords", HF_EAUTH},
        {"ERR DB index is out of range", HF_EURI},
        {"", HF_ESTORE},
        {WRAPPED "-OOM command not allowed", HF_EFULL},
        {WRAPPED "READONLY You can't write", HF_EREAD_ONLY},
        {WRAPPED " - ", HF_ESTORE},
        {"ERR Error running script", HF_ESTORE},
        {"ERR Error running script: one colon", HF_ESTORE},
    };
    EACH(i, cases) {
        redisReply reply = refusal(cases[i].text);
        assert_int_equal(hf__reply_code(&reply), cases[i].code);
    }
    redisReply fine = {.type = REDIS_REPLY_STATUS};
    assert_int_equal(hf__reply_code(&fine), 0);
}

static void a_refusal_is_told_on_one_short_line(void **state) {
    (void)state;
    hf_error err;
    char text[300];
    redisReply reply = refusal("WRONGTYPE Operation\r\nagainst");
    assert_int_equal(hf__reply_fail(&err, &reply, "there", "x"), HF_ESTORE);
    assert_string_equal(err.text,
                        "there, \"x\": the name is in use for another kind of "
                        "thing (WRONGTYPE Operation)");
    hf__reply_fail(&err, &reply, "there", NULL);
    assert_string_equal(err.text, "there: the name is in use for another kind "
                                  "of thing (WRONGTYPE Operation)");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    reply = refusal(text);
    assert_int_equal(hf__reply_fail(&err, &reply, "there", "x"), HF_ESTORE);
    assert_int_equal(strlen(err.text), strlen("there: ") + 100);
}

static void a_script_that_was_cut_short_is_told_apart(void **state) {
    (void)state;
    redisReply cut = refusal("ERR Script attempted to access a non local key "
                             "in a cluster node");
    redisReply whole = refusal("BUSY Redis is busy");
    redisReply unknown = refusal("ERR x");
    redisReply fine = {.type = REDIS_REPLY_INTEGER};
    assert_true(hf__reply_cut_short(&cut));
    assert_false(hf__reply_cut_short(&whole));
    assert_false(hf__reply_cut_short(&unknown));
    assert_false(hf__reply_cut_short(&fine));
    assert_true(hf__reply_is(&whole, "BUSY"));
    assert_false(hf__reply_is(&whole, "MOVED"));
    assert_false(hf__reply_is(&fine, "BUSY"));
}

static void the_shape_of_an_answer_is_looked_at(void **state) {
    (void)state;
    static const struct {
        const char *wire;
        bool fits;
    } cases[] = {
        {"*3\r\n:1\r\n:2\r\n$1\r\nx\r\n", true},
        {"*3\r\n:1\r\n$1\r\n2\r\n$1\r\nx\r\n", false},
        {"*2\r\n:1\r\n:2\r\n", false},
        {":3\r\n", false},
    };
    EACH(i, cases) {
        redisReply *reply = reply_of(cases[i].wire, strlen(cases[i].wire));
        assert_int_equal(hf__reply_has(reply, 3, 2), cases[i].fits);
        freeReplyObject(reply);
    }
}

/* ---- keys -------------------------------------------------------------- */

static void a_name_may_be_too_long_for_a_key(void **state) {
    (void)state;
    char name[HF_KEY_SIZE];
    hf_error err;
    memset(name, 'x', sizeof name);
    name[HF_KEY_SIZE - 127] = '\0';
    assert_int_equal(hf__keys_check(name, &err), HF_ENAME);
    name[HF_KEY_SIZE - 128] = '\0';
    assert_int_equal(hf__keys_check(name, &err), HF_OK);
}

static void an_owner_is_spelled_by_its_kind(void **state) {
    (void)state;
    static const struct {
        hf_kind kind;
        const char *text;
    } cases[] = {
        {HF_LOCK, UUID ":7"},
        {HF_READ, UUID ":7"},
        {HF_FAIR, UUID ":07"},
        {HF_WRITE, UUID ":7:write"},
        {HF_SIMPLE, "0a000000000000000000000000000000"},
        {HF_PERMIT, "0a000000000000000000000000000000"},
    };
    EACH(i, cases) {
        char buf[HF_OWNER_SIZE];
        hf_claim c = {.kind = cases[i].kind, .owner = 7, .nonce = {10}};
        char *end = hf__owner_text(buf, UUID, &c);
        assert_string_equal(buf, cases[i].text);
        assert_ptr_equal(end, buf + strlen(buf));
    }
}

static void an_owner_has_a_uuid_and_a_number(void **state) {
    (void)state;
    assert_true(hf__is_owner(UUID ":7"));
    assert_true(hf__is_owner(UUID ":-7")); /* a Java thread of a hash */
    assert_false(hf__is_owner(UUID ":"));
    assert_false(hf__is_owner(UUID ":-"));
    assert_false(hf__is_owner(UUID ":7x"));
    assert_false(hf__is_owner(UUID));
    assert_false(hf__is_owner("01234567x89ab-4cde-8f01-23456789abcd:7"));
    assert_false(hf__is_owner("0123456g-89ab-4cde-8f01-23456789abcd:7"));
    assert_false(hf__is_owner("\xff"));
}

#define CHANNEL HF_CHANNEL_PREFIX ":"

static void a_channel_says_whom_its_message_is_for(void **state) {
    (void)state;
    static const struct {
        const char *channel;
        hf_kind kind;
        uint64_t owner;
        const char *first, *second;
    } cases[] = {
        {CHANNEL "{a}", HF_LOCK, 0, "{a}", "a"},
        {CHANNEL "{a}:" UUID ":07", HF_FAIR, 7, "{a}", "a"},
        {CHANNEL "{a}:" UUID ":7", HF_LOCK, 0, "{a}:" UUID ":7", NULL},
        {CHANNEL "{a}:" UUID ":07x", HF_LOCK, 0, "{a}:" UUID ":07x", NULL},
        {CHANNEL "{a}x" UUID ":07", HF_LOCK, 0, "{a}x" UUID ":07", NULL},
        {CHANNEL "{a}:x" UUID "x:07", HF_LOCK, 0, "{a}:x" UUID "x:07", NULL},
        {CHANNEL UUID ":07", HF_LOCK, 0, UUID ":07", NULL},
        {CHANNEL "{a}:" OTHER ":07", HF_LOCK, 0, "{a}:" OTHER ":07", NULL},
        {CHANNEL "{a}:0", HF_LOCK, 0, "{a}:0", NULL},
        {CHANNEL "{}", HF_LOCK, 0, "{}", NULL},
        {CHANNEL "{a{b}", HF_LOCK, 0, "{a{b}", NULL},
        {CHANNEL "{a}b", HF_LOCK, 0, "{a}b", NULL},
        {CHANNEL "a{b}", HF_LOCK, 0, "a{b}", NULL},
        {"redisson_rwlock:{a}", HF_WRITE, 0, "{a}", "a"},
        {"redisson_sc:{a}", HF_SEMAPHORE, 0, "{a}", "a"},
        {"redisson_countdownlatch__channel__{{a}}", HF_LATCH, 0, "{a}", NULL},
    };
    hf_news news;
    EACH(i, cases) {
        assert_true(hf__news_of_channel(&news, cases[i].channel, UUID));
        assert_int_equal(news.kind, cases[i].kind);
        assert_int_equal(news.owner, cases[i].owner);
        assert_int_equal(news.n, cases[i].second ? 2 : 1);
        assert_string_equal(news.names[0], cases[i].first);
        if (cases[i].second)
            assert_string_equal(news.names[1], cases[i].second);
    }
}

static void a_channel_of_others_is_none_of_ours(void **state) {
    (void)state;
    char longest[HF_KEY_SIZE + 40] = CHANNEL;
    hf_news news;
    memset(longest + strlen(CHANNEL), 'x', HF_KEY_SIZE);
    assert_false(hf__news_of_channel(&news, longest, UUID));
    assert_false(hf__news_of_channel(&news, CHANNEL, UUID));
    assert_false(hf__news_of_channel(&news, "__keyspace@0__:a", UUID));
    assert_false(hf__news_of_channel(&news, "", UUID));
}

/* ---- the record of a client -------------------------------------------- */

static void the_longest_record_is_read_back(void **state) {
    (void)state;
    char text[HF_RECORD_SIZE];
    hf_identity who = {.pid = INT64_MIN}, again;
    memset(who.host, '%', sizeof who.host - 1);
    memset(who.program, '\n', sizeof who.program - 1);
    memset(who.user, 127, sizeof who.user - 1);
    memset(who.why, '\x1f', sizeof who.why - 1);
    hf__record_write(text, &who);
    assert_true(strlen(text) < sizeof text);
    hf__record_read(&again, text);
    assert_memory_equal(&again, &who, sizeof who);
    hf__record_write(text, &(hf_identity){.pid = 3, .user = "\xc3\xa9"});
    assert_string_equal(text, "pid=3\nuser=\xc3\xa9");
}

static void a_record_that_others_wrote_is_read_as_far_as_it_goes(void **state) {
    (void)state;
    char text[300] = "host=", longest[65 + 200];
    hf_identity who;
    hf__record_read(&who, "pid=7\nhost=a%41%4\nprogram=%4x%x4%\nuser=%00x\n"
                          "pod=9\nrole=x\nnothing\n\n=\nwhy=");
    assert_int_equal(who.pid, 7);
    assert_string_equal(who.host, "aA%4");
    assert_string_equal(who.program, "%4x%x4%");
    assert_string_equal(who.user, "");
    assert_string_equal(who.why, "");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    strcat(text, longest);
    hf__record_read(&who, text);
    longest[sizeof who.host - 1] = '\0';
    assert_string_equal(who.host, longest);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_refusal_is_known_by_its_first_words),
    cmocka_unit_test(a_refusal_is_told_on_one_short_line),
    cmocka_unit_test(a_script_that_was_cut_short_is_told_apart),
    cmocka_unit_test(the_shape_of_an_answer_is_looked_at),
    cmocka_unit_test(a_name_may_be_too_long_for_a_key),
    cmocka_unit_test(an_owner_is_spelled_by_its_kind),
    cmocka_unit_test(an_owner_has_a_uuid_and_a_number),
    cmocka_unit_test(a_channel_says_whom_its_message_is_for),
    cmocka_unit_test(a_channel_of_others_is_none_of_ours),
    cmocka_unit_test(the_longest_record_is_read_back),
    cmocka_unit_test(a_record_that_others_wrote_is_read_as_far_as_it_goes),
};
HF_SUITE(tests)
