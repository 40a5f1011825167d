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

#include "backend/redis/info.h"
#include "backend/redis/keys.h"
#include "backend/redis/redis.h"
#include "backend/redis/reply.h"
#include "backend/redis/topology/cluster_map.h"
#include "backend/redis/topology/naming.h"
#include "backend/redis/topology/sentinel_uri.h"

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

/* Whatever stands in it, and however long it is. */
static void what_a_client_does_is_read_back(void **state) {
    (void)state;
    static char longest[HF_DOING_MAX + 1], again[HF_DOING_MAX + 1];
    hf_identity me = {.pid = 7, .host = "doing=x\nnumber=3"}, who;
    char *text;
    for (int i = 0; i < HF_DOING_MAX; i++)
        longest[i] = (char)(i % 255 + 1);
    text = hf__record_new(&me, UINT64_MAX, longest);
    assert_non_null(text);
    assert_true(hf__record_number(text) == UINT64_MAX);
    hf__record_doing(again, text);
    assert_string_equal(again, longest);
    hf__record_read(&who, text);
    assert_memory_equal(&who, &me, sizeof me);
    text[HF_RECORD_SIZE - 1] = '\0'; /* as those read it who list locks */
    hf__record_read(&who, text);
    assert_memory_equal(&who, &me, sizeof me);
    free(text);
    text = hf__record_new(&me, 1, "");
    hf__record_doing(again, text);
    assert_string_equal(again, "");
    free(text);
}

static void a_record_bears_the_want_of_memory(void **state) {
    (void)state;
    hf_identity me = {.pid = 7};
    was_hit = false;
    until_failure = 1;
    char *text = hf__record_new(&me, 1, "1\n");
    until_failure = 0;
    assert_true((text == NULL) == was_hit);
    free(text);
}

/* By one that says more than we know of. */
static void what_is_done_is_not_taken_from_another_line(void **state) {
    (void)state;
    static const char text[] = "pid=7\nweight=3\nthing=x\nnumber=9\ndoing=1";
    static char doing[HF_DOING_MAX + 1];
    assert_true(hf__record_number(text) == 9);
    hf__record_doing(doing, text);
    assert_string_equal(doing, "1");
}

static void a_record_of_before_says_nothing_of_what_is_done(void **state) {
    (void)state;
    static char doing[HF_DOING_MAX + 1];
    static char much[2 * HF_DOING_MAX] = "pid=7\ndoing=";
    hf__record_doing(doing, "pid=7\nhost=a");
    assert_string_equal(doing, "");
    assert_true(hf__record_number("pid=7\nhost=a") == 0);
    memset(much + strlen(much), 'x', sizeof much - strlen(much) - 1);
    hf__record_doing(doing, much); /* by one that may say more */
    assert_int_equal(strlen(doing), HF_DOING_MAX);
}

/* ---- what a server says of itself -------------------------------------- */

/* What a server that is asked would answer; NULL: that code. */
static const char *answer;
static int answer_code;

int hf__node_ask(hf_node *node, int argc, const char *const *argv,
                 redisReply **ret, hf_time by, hf_error *err) {
    (void)node, (void)argc, (void)argv, (void)by;
    if (!answer)
        return err->code = answer_code;
    *ret = reply_of(answer, strlen(answer));
    return HF_OK;
}

/* A question that was perhaps not heard was not answered. */
static void info_is_there_or_not(void **state) {
    (void)state;
    static const int codes[][2] = {{HF_EDOUBT, HF_EDOWN},
                                   {HF_EFORBIDDEN, HF_EFORBIDDEN}};
    char buf[16];
    hf_info info;
    hf_error err;
    EACH(i, codes) {
        answer = NULL;
        answer_code = codes[i][0];
        assert_int_equal(hf__info_ask(&info, NULL, 0, &err), codes[i][1]);
        assert_int_equal(err.code, codes[i][1]);
        assert_false(hf__info_has(&info, "role"));
        assert_string_equal(hf__info_field(&info, "role", buf, sizeof buf), "");
        assert_int_equal(hf__info_number(&info, "role"), 0);
        assert_int_equal(hf__info_version(&info), 0);
        hf__info_clear(&info);
    }
    answer = "$26\r\n# Server\r\nroles:5\r\nrole:12\r\r\n";
    assert_int_equal(hf__info_ask(&info, NULL, 0, &err), HF_OK);
    assert_string_equal(hf__info_field(&info, "role", buf, sizeof buf), "12");
    assert_int_equal(hf__info_number(&info, "role"), 12);
    hf__info_clear(&info);
    assert_null(info.reply);
}

static void versions_are_understood(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int version;
    } cases[] = {
        {"redis_version:7.2.4\r\n", 702},
        {"redis_version:255.255.255\r\n", 25599},
        {"redis_version:8\r\n", 800},
        {"redis_version:x\r\n", 0},
        {"redis_version:-7.0\r\n", 0},
        {"redis_version:10000.0\r\n", 0},
        {"redis_version:7.-1\r\n", 0},
        {"", 0},
    };
    EACH(i, cases) {
        redisReply reply = {.type = REDIS_REPLY_STRING,
                            .str = (char *)(uintptr_t)cases[i].text};
        hf_info info = {&reply};
        assert_int_equal(hf__info_version(&info), cases[i].version);
    }
}

static void a_setting_may_be_unknown(void **state) {
    (void)state;
    char buf[4] = "";
    answer = "*2\r\n$1\r\na\r\n$6\r\nalways\r\n";
    assert_true(hf__setting(NULL, "a", buf, sizeof buf, 0));
    assert_string_equal(buf, "alw");
    static const char *const without[] = {
        NULL, "*0\r\n", "*2\r\n$1\r\na\r\n$-1\r\n", "+OK\r\n"};
    EACH(i, without) {
        answer = without[i];
        answer_code = HF_EFORBIDDEN;
        assert_false(hf__setting(NULL, "a", buf, sizeof buf, 0));
    }
    assert_string_equal(buf, "alw");
}

/* ---- what a sentinel says of a master ---------------------------------- */

#define HOST "$1\r\nh\r\n"
#define IP   "$2\r\nip\r\n"
#define PORT "$4\r\nport\r\n"

static bool names(hf_naming *ret, const char *master, const char *place) {
    redisReply *first = reply_of(master, strlen(master));
    redisReply *second = reply_of(place, strlen(place));
    bool named = hf__naming_read(ret, first, second);
    freeReplyObject(first);
    freeReplyObject(second);
    return named;
}

static void a_master_is_named_by_a_host_and_a_port(void **state) {
    (void)state;
    static const char *const none[] = {
        "*-1\r\n",
        "*2\r\n" HOST "$-1\r\n",
        "*2\r\n$-1\r\n$1\r\n1\r\n",
        "*2\r\n$0\r\n\r\n$1\r\n1\r\n",
        "*2\r\n" HOST "$1\r\n0\r\n",
        "*2\r\n" HOST "$5\r\n65536\r\n",
    };
    hf_naming n;
    EACH(i, none) {
        assert_false(names(&n, "*0\r\n", none[i]));
        assert_true(names(&n, "*4\r\n" IP HOST PORT "$4\r\n6380\r\n", none[i]));
        assert_string_equal(n.host, "h");
        assert_int_equal(n.port, 6380);
    }
    assert_true(names(&n, "*0\r\n", "*2\r\n" HOST "$5\r\n65535\r\n"));
    assert_int_equal(n.port, 65535);
    char longest[400], host[sizeof n.host + 1];
    memset(host, 'x', sizeof host);
    host[sizeof host - 1] = '\0';
    snprintf(longest, sizeof longest, "*2\r\n$%zu\r\n%s\r\n$1\r\n1\r\n",
             strlen(host), host);
    assert_false(names(&n, "*0\r\n", longest));
}

static void odd_fields_of_a_master_are_passed_over(void **state) {
    (void)state;
    hf_naming n;
    assert_true(names(&n,
                      "*11\r\n:1\r\n$1\r\nx\r\n$6\r\nquorum\r\n:5\r\n"
                      "$6\r\nquorum\r\n$2\r\n-1\r\n"
                      "$10\r\nnum-slaves\r\n$1\r\n3\r\n"
                      "$19\r\nnum-other-sentinels\r\n$10\r\n9999999999\r\n"
                      "$6\r\nquorum\r\n",
                      "*2\r\n" HOST "$1\r\n1\r\n"));
    assert_int_equal(n.quorum, 0);
    assert_int_equal(n.replicas, 3);
    assert_int_equal(n.sentinels, INT32_MAX);
}

static void another_sentinel_is_a_row(void **state) {
    (void)state;
    static const struct {
        const char *wire;
        bool named;
    } cases[] = {
        {"*4\r\n" IP HOST PORT "$5\r\n26379\r\n", true},
        {"*2\r\n" IP HOST, false},
        {"*0\r\n", false},
        {"$1\r\nx\r\n", false},
    };
    EACH(i, cases) {
        redisReply *row = reply_of(cases[i].wire, strlen(cases[i].wire));
        hf_naming n;
        assert_int_equal(hf__naming_of_other(&n, row), cases[i].named);
        freeReplyObject(row);
    }
}

static void a_change_is_told_of_one_master(void **state) {
    (void)state;
    static const struct {
        const char *wire;
        bool ours;
    } cases[] = {
        {"*3\r\n" HOST HOST "$10\r\nmain a 1 b\r\n", true},
        {"*3\r\n" HOST HOST "$11\r\nmains a 1 b\r\n", false},
        {"*3\r\n" HOST HOST "$5\r\nother\r\n", false},
        {"*3\r\n" HOST HOST ":1\r\n", false},
        {"*2\r\n" HOST HOST, false},
    };
    EACH(i, cases) {
        redisReply *message = reply_of(cases[i].wire, strlen(cases[i].wire));
        assert_int_equal(hf__naming_changes(message, "main"), cases[i].ours);
        freeReplyObject(message);
    }
}

/* ---- who has which slot ------------------------------------------------ */

/* How many slots of the map that is in the reply have an owner. */
static int served(const char *wire, size_t size, const char *asked) {
    redisReply *reply = reply_of(wire, size);
    hf_cluster_map *map;
    hf_error err;
    int n = 0;

    if (hf__cluster_map_read(&map, reply, asked, &err) == HF_OK) {
        EACH(i, map->owners)
        n += map->owners[i] != 0;
        hf__cluster_map_free(map);
    }
    freeReplyObject(reply);
    return n;
}

#define RANGE "*1\r\n*3\r\n:7\r\n:7\r\n"
#define ID    "$2\r\nid\r\n"

static void a_server_that_does_not_say_where_it_is_has_no_slots(void **state) {
    (void)state;
    static const char good[] =
        RANGE "*4\r\n$1\r\n?\r\n:1\r\n" ID "*6\r\n:1\r\n" HOST
              "$1\r\nx\r\n:1\r\n" IP HOST;
    static const char *const bad[] = {
        RANGE "*2\r\n" HOST "$1\r\n1\r\n",
        RANGE "*2\r\n:1\r\n:1\r\n",
        RANGE "*2\r\n$-1\r\n:1\r\n",
        RANGE "*3\r\n$1\r\n?\r\n:1\r\n" ID,
        RANGE "*4\r\n$1\r\n?\r\n:1\r\n" ID ":1\r\n",
        RANGE "*4\r\n$1\r\n?\r\n:1\r\n" ID "*2\r\n" HOST HOST,
        RANGE "*4\r\n$1\r\n?\r\n:1\r\n" ID "*1\r\n" IP,
    };
    assert_int_equal(served(good, strlen(good), ""), 1);
    EACH(i, bad)
    assert_int_equal(served(bad[i], strlen(bad[i]), ""), 0);
    static const char nul[] = RANGE "*2\r\n$2\r\na\0\r\n:1\r\n";
    assert_int_equal(served(nul, sizeof nul - 1, "asked"), 0);
    char longest[400];
    snprintf(longest, sizeof longest, RANGE "*2\r\n$256\r\n%0256d\r\n:1\r\n",
             7);
    assert_int_equal(served(longest, strlen(longest), "asked"), 0);
}

static bool redirects(const char *text, const char *asked) {
    hf_redirect to;
    return hf__redirect_read(&to, text, "MOVED", asked);
}

static void a_redirect_may_have_more_behind_it(void **state) {
    (void)state;
    assert_true(redirects("MOVED 1 a:1 more", "asked"));
    assert_true(redirects("MOVED 1 a:1\r", "asked"));
    assert_false(redirects("MOVED 1x a:1", "asked"));
}

static void a_redirect_without_a_host_needs_one_that_was_asked(void **state) {
    (void)state;
    char longest[HF_HOST_SIZE + 1];
    memset(longest, 'x', sizeof longest);
    longest[HF_HOST_SIZE] = '\0';
    assert_true(redirects("MOVED 1 :1", longest + 1));
    assert_false(redirects("MOVED 1 :1", longest));
    assert_false(redirects("MOVED 1 :1", NULL));
    assert_false(redirects("MOVED 1 :1", ""));
}

/* A map with holes would send requests astray; and nobody is down. */
static void a_map_bears_the_want_of_memory(void **state) {
    (void)state;
    char wire[4000] = "*20\r\n";
    for (int i = 0; i < 20; i++)
        sprintf(wire + strlen(wire),
                "*3\r\n:%d\r\n:%d\r\n*2\r\n" HOST ":%d\r\n", i, i, i + 1);
    redisReply *reply = reply_of(wire, strlen(wire));
    for (int n = 1;; n++) {
        hf_cluster_map *map = NULL;
        hf_error err;
        was_hit = false;
        until_failure = n;
        int rc = hf__cluster_map_read(&map, reply, "asked", &err);
        until_failure = 0;
        assert_int_equal(rc, was_hit ? HF_ENO_MEMORY : HF_OK);
        assert_true((map == NULL) == was_hit);
        hf__cluster_map_free(map);
        if (!was_hit)
            break;
    }
    freeReplyObject(reply);
}

/* ---- addresses --------------------------------------------------------- */

static hf_uri *parsed(const char *text) {
    hf_uri *uri = NULL;
    hf_error err = {0, ""};

    if (hf_uri_parse(&uri, text, &err) != HF_OK)
        fail_msg("%s: %s", text, err.text);
    return uri;
}

/* What the address of the first host is called, or why it is refused; for the
 * next call to overwrite. */
static const char *where(const char *text) {
    static char buf[300];
    hf_uri *uri = parsed(text);
    hf_address *a = NULL;
    hf_error err = {0, ""};
    int rc = hf__address_new(&a, uri, 0, &err);

    snprintf(buf, sizeof buf, "%s", rc == HF_OK ? a->where : err.text);
    hf__address_free(a);
    hf_uri_free(uri);
    return buf;
}

static void an_address_is_shown_in_full(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"redis://h:1/2?db=2", "redis://h:1/2"},
        {"redis://h/2?db=", "redis://h:6379/2"},
        {"redis://h?db=1000000", "redis://h:6379/1000000"},
        {"rediss://u:p@[::1]:1/2", "rediss://u@[::1]:1/2"},
        {"redis+unix:///run/r.sock", "redis+unix:///run/r.sock?db=0"},
        {"redis+unix://u:p@/run/r.sock?db=3",
         "redis+unix://u@/run/r.sock?db=3"},
    };
    EACH(i, cases)
    assert_string_equal(where(cases[i][0]), cases[i][1]);
}

static void odd_databases_are_refused(void **state) {
    (void)state;
    static const char *const numbers[] = {"x",
                                          "1x",
                                          "-1",
                                          "1000001",
                                          "99999999999999999999",
                                          "-99999999999999999999"};
    char text[100];
    EACH(i, numbers) {
        snprintf(text, sizeof text, "redis://h?db=%s", numbers[i]);
        assert_non_null(strstr(where(text), "is not a number"));
    }
    assert_non_null(strstr(where("redis://h/1?db=2"), "two databases"));
    assert_non_null(strstr(where("redis://h?tls_ca=x"), "rediss://"));
}

static void without_a_host_it_is_this_one(void **state) {
    (void)state;
    char none[] = "", scheme[] = "redis";
    hf_uri_host host = {.host = none};
    hf_uri uri = {.scheme = scheme, .hosts = &host, .n_hosts = 1};
    for (size_t i = 0; i < 2; i++) {
        hf_error err;
        hf_address *a = NULL;
        assert_int_equal(hf__address_new(&a, &uri, i, &err), HF_OK);
        assert_string_equal(a->where, "redis://127.0.0.1:6379/0");
        hf__address_free(a);
    }
}

static void a_socket_has_a_path(void **state) {
    (void)state;
    char none[] = "", scheme[] = "redis+unix";
    hf_uri uri = {.scheme = scheme};
    hf_error err;
    hf_address *a = NULL;
    assert_int_equal(hf__address_new(&a, &uri, 0, &err), HF_EURI);
    uri.path = none;
    assert_int_equal(hf__address_new(&a, &uri, 0, &err), HF_EURI);
    assert_null(a);
    hf__address_free(NULL);
}

/* A file that has the word in it, for us alone. */
static void write_secret(char *path, size_t size) {
    hf_test_fresh_path(path, size, "secret");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("word\n", f);
    fclose(f);
    assert_int_equal(chmod(path, 0600), 0);
}

static void a_password_comes_from_where_the_address_says(void **state) {
    (void)state;
    char path[200];
    write_secret(path, sizeof path);
    const struct {
        const char *before, *environment, *file, *password;
    } cases[] = {
        {"", NULL, NULL, NULL},        {"", "env", NULL, "env"},
        {"joe@", NULL, NULL, ""},      {"joe@", "env", NULL, "env"},
        {"joe@", "env", path, "word"}, {"joe:uri@", "env", path, "uri"},
        {"", NULL, "/nowhere", "-"},
    };
    EACH(i, cases) {
        char text[300];
        const char *file = cases[i].file;
        snprintf(text, sizeof text, "redis+unix://%s/s%s%s", cases[i].before,
                 file ? "?password_file=" : "", file ? file : "");
        if (cases[i].environment)
            setenv("REDISCLI_AUTH", cases[i].environment, 1);
        hf_uri *uri = parsed(text);
        hf_address *a = NULL;
        hf_error err;
        int rc = hf__address_new(&a, uri, 0, &err);
        unsetenv("REDISCLI_AUTH");
        hf_uri_free(uri);
        if (rc != HF_OK) {
            assert_int_equal(rc, HF_EAUTH);
            assert_string_equal(cases[i].password, "-");
            continue;
        }
        if (cases[i].password)
            assert_string_equal(a->password, cases[i].password);
        else
            assert_null(a->password);
        hf__address_free(a);
    }
}

/* The address, and that of another server like it. */
static int make_both(const hf_uri *uri) {
    hf_address *a = NULL, *b = NULL;
    hf_error err;
    int rc = hf__address_new(&a, uri, 0, &err);

    if (rc == HF_OK)
        rc = hf__address_at(&b, a, "other", 7, &err);
    if (rc == HF_OK)
        assert_int_equal(b->port, 7);
    hf__address_free(a);
    hf__address_free(b);
    return rc;
}

static int make_sentinels(const hf_uri *uri) {
    hf_sentinel_uri u;
    hf_error err;
    int rc = hf__sentinel_uri_read(&u, uri, &err);

    hf__sentinel_uri_clear(&u);
    return rc;
}

/* libc's asprintf can do without the second of its allocations. */
static void bears_want(const char *text, int (*make)(const hf_uri *uri)) {
    hf_uri *uri = parsed(text);

    for (int n = 1;; n++) {
        was_hit = false;
        until_failure = n;
        int rc = make(uri);
        until_failure = 0;
        if (!was_hit)
            assert_int_equal(rc, HF_OK);
        else if (rc != HF_OK || ours_alone)
            assert_int_equal(rc, HF_ENO_MEMORY);
        if (!was_hit)
            break;
    }
    hf_uri_free(uri);
}

static void addresses_bear_the_want_of_memory(void **state) {
    (void)state;
    char path[200], text[400];
    bears_want("redis://h", make_both);
    bears_want("redis+unix://u:p@/run/r.sock", make_both);
    bears_want("rediss://u:p@h:1/2?tls_ca=a&tls_cert=b&tls_key=c", make_both);
    write_secret(path, sizeof path);
    snprintf(text, sizeof text, "redis://u@h?password_file=%s", path);
    bears_want(text, make_both);
    bears_want("redis+sentinel://u:p@h/m/1?sentinel_user=x", make_sentinels);
    bears_want("rediss+sentinel://h,i:1/m?tls_ca=a&sentinel_tls_ca=b",
               make_sentinels);
}

/* ---- addresses of sentinels -------------------------------------------- */

static void no_sentinel_is_shown_the_password_of_the_servers(void **state) {
    (void)state;
    static const struct {
        const char *query, *password;
    } cases[] = {
        {"", NULL},
        {"?sentinel_user=joe", ""},
        {"?sentinel_user=joe&sentinel_password=word", "word"},
        {"?sentinel_password=word", "word"},
    };
    setenv("REDISCLI_AUTH", "of-servers", 1);
    EACH(i, cases) {
        char text[100];
        snprintf(text, sizeof text, "redis+sentinel://h/m%s", cases[i].query);
        hf_uri *uri = parsed(text);
        hf_sentinel_uri u;
        hf_error err;
        assert_int_equal(hf__sentinel_uri_read(&u, uri, &err), HF_OK);
        assert_string_equal(u.servers->password, "of-servers");
        if (cases[i].password)
            assert_string_equal(u.sentinels->password, cases[i].password);
        else
            assert_null(u.sentinels->password);
        hf__sentinel_uri_clear(&u);
        hf_uri_free(uri);
    }
    unsetenv("REDISCLI_AUTH");
}

static void sentinels_have_their_own_ways(void **state) {
    (void)state;
    static const struct {
        const char *text, *where;
        bool tls;
        const char *ca;
    } cases[] = {
        {"redis+sentinel://h/m", "redis+sentinel://h:26379/m/0", false, NULL},
        {"redis+sentinel://h/m/", "redis+sentinel://h:26379/m/0", false, NULL},
        {"rediss+sentinel://u:p@h:1,[::1]/m.-_9/2?tls_ca=a",
         "rediss+sentinel://u@h:1,[::1]:26379/m.-_9/2", true, "a"},
        {"rediss+sentinel://h/m?tls_ca=a&sentinel_tls_ca=b",
         "rediss+sentinel://h:26379/m/0", true, "b"},
        {"rediss+sentinel://h/m?tls_ca=a&sentinel_tls=off",
         "rediss+sentinel://h:26379/m/0", false, NULL},
        {"redis+sentinel://h/m?sentinel_tls=on&sentinel_tls_ca=b",
         "redis+sentinel://h:26379/m/0", true, "b"},
    };
    EACH(i, cases) {
        hf_uri *uri = parsed(cases[i].text);
        hf_sentinel_uri u;
        hf_error err = {0, ""};
        assert_int_equal(hf__sentinel_uri_read(&u, uri, &err), HF_OK);
        assert_string_equal(u.where, cases[i].where);
        assert_int_equal(u.servers->tls, uri->tls);
        assert_int_equal(u.sentinels->tls, cases[i].tls);
        if (cases[i].ca)
            assert_string_equal(u.sentinels->rules.ca, cases[i].ca);
        else
            assert_null(u.sentinels->rules.ca);
        hf__sentinel_uri_clear(&u);
        hf_uri_free(uri);
    }
}

static void odd_addresses_of_sentinels_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"redis+sentinel://h/m%20n", HF_EURI},
        {"redis+sentinel://h/m/x", HF_EURI},
        {"redis+sentinel://h/m?sentinel_tls=maybe", HF_EURI},
        {"redis+sentinel://h/m?sentinel_tls_ca=b", HF_EURI},
        {"rediss+sentinel://h/m?sentinel_tls=off&sentinel_tls_server_name=b",
         HF_EURI},
        {"redis+sentinel://h/m?sentinel_password_file=/nowhere", HF_EAUTH},
    };
    EACH(i, cases) {
        hf_uri *uri = parsed(cases[i].text);
        hf_sentinel_uri u;
        hf_error err;
        assert_int_equal(hf__sentinel_uri_read(&u, uri, &err), cases[i].code);
        assert_null(u.servers);
        hf_uri_free(uri);
    }
}

static void only_sentinels_have_parameters_of_sentinels(void **state) {
    (void)state;
    hf_error err;
    hf_uri *uri = parsed("redis://h?db=1");
    assert_int_equal(hf__sentinel_uri_refuse(uri, &err), HF_OK);
    hf_uri_free(uri);
    uri = parsed("redis://h?db=1&sentinel_user=u");
    assert_int_equal(hf__sentinel_uri_refuse(uri, &err), HF_EURI);
    hf_uri_free(uri);
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
    cmocka_unit_test(what_a_client_does_is_read_back),
    cmocka_unit_test(a_record_bears_the_want_of_memory),
    cmocka_unit_test(what_is_done_is_not_taken_from_another_line),
    cmocka_unit_test(a_record_of_before_says_nothing_of_what_is_done),
    cmocka_unit_test(info_is_there_or_not),
    cmocka_unit_test(versions_are_understood),
    cmocka_unit_test(a_setting_may_be_unknown),
    cmocka_unit_test(a_master_is_named_by_a_host_and_a_port),
    cmocka_unit_test(odd_fields_of_a_master_are_passed_over),
    cmocka_unit_test(another_sentinel_is_a_row),
    cmocka_unit_test(a_change_is_told_of_one_master),
    cmocka_unit_test(a_server_that_does_not_say_where_it_is_has_no_slots),
    cmocka_unit_test(a_redirect_may_have_more_behind_it),
    cmocka_unit_test(a_redirect_without_a_host_needs_one_that_was_asked),
    cmocka_unit_test(a_map_bears_the_want_of_memory),
    cmocka_unit_test(an_address_is_shown_in_full),
    cmocka_unit_test(odd_databases_are_refused),
    cmocka_unit_test(without_a_host_it_is_this_one),
    cmocka_unit_test(a_socket_has_a_path),
    cmocka_unit_test(a_password_comes_from_where_the_address_says),
    cmocka_unit_test(addresses_bear_the_want_of_memory),
    cmocka_unit_test(no_sentinel_is_shown_the_password_of_the_servers),
    cmocka_unit_test(sentinels_have_their_own_ways),
    cmocka_unit_test(odd_addresses_of_sentinels_are_refused),
    cmocka_unit_test(only_sentinels_have_parameters_of_sentinels),
};
HF_SUITE(tests)
