/* SPDX-License-Identifier: MIT
 *
 * deadlock_test.c - who waits for whom, as a table of records and circles. */
#include "../../src/deadlock.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A client's number: its letter, as often as it takes. */
static void number(char letter, char ret[37]) {
    memset(ret, letter, 36);
    ret[36] = 0;
}

/* "CLIENT in CLIENT": it works for it. */
static bool read_inside(const char *claim, char texts[26][2048]) {
    char inner, outer, of[37];
    if (sscanf(claim, " %c in %c", &inner, &outer) != 2)
        return false;
    number(outer, of);
    char *text = texts[inner - 'a'];
    size_t used = strlen(text);
    snprintf(text + used, 2048 - used, "i %s\n", of);
    return true;
}

/* Clients are letters; a claim is "CLIENT THREAD DOES KIND OWNER NAME", after
 * which `d` says that it asked, `@N` since when.  Claims stand apart by
 * commas.  A circle is told by its waits, "a1 x, b2 y": who, for what. */
static void read_scene(const char *scene, hf_records *ret) {
    static char texts[26][2048];
    char *copy = strdup(scene), *rest = copy, *claim;
    memset(texts, 0, sizeof texts);
    *ret = (hf_records){0};
    while ((claim = strsep(&rest, ","))) {
        char client, does, kind[16], owner[64], name[32], more[32] = "";
        int thread, since = 1;
        if (read_inside(claim, texts))
            continue;
        int n = sscanf(claim, " %c %d %c %15s %63s %31s %31s", &client, &thread,
                       &does, kind, owner, name, more);
        assert_true(n >= 6 && client >= 'a' && client <= 'z');
        if (strchr(more, '@') != NULL)
            since = atoi(strchr(more, '@') + 1);
        char *text = texts[client - 'a'];
        size_t used = strlen(text);
        snprintf(text + used, sizeof texts[0] - used,
                 "%c %s %s %d 1 %d %s %s\n", does, kind, owner, thread, since,
                 more[0] == 'd' ? "d" : "-", name);
    }
    for (char c = 'z'; c >= 'a'; c--) {
        hf_identity who = {.pid = 1};
        number(c, who.client);
        if (texts[c - 'a'][0] != 0)
            hf__records_add(ret, &who, texts[c - 'a']);
    }
    assert_int_equal(hf__records_sort(ret), HF_OK);
    free(copy);
}

static void describe(const hf_circles *circles, char *ret, size_t size) {
    *ret = 0;
    for (size_t i = 0; i < circles->n; i++)
        for (size_t j = 0; j < circles->all[i].n; j++) {
            const hf_told *w = circles->all[i].links[j].wants;
            size_t n = strlen(ret);
            snprintf(ret + n, size - n, "%s%c%d %s",
                     j > 0 ? ", " :
                     i > 0 ? "; " :
                             "",
                     w->record->who.client[0], (int)w->of.who, w->of.name);
        }
}

static const struct row {
    const char *scene, *circles;
} rows[] = {
    {"a 1 h lock 1 x", ""},
    {"a 1 w lock 1 x", ""},
    {"a 1 h lock 1 x, b 1 w lock 1 x", ""},
    /* Two want what the other has. */
    {"a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x",
     "a1 y, b1 x"},
    /* Also two threads of one process, and by other kinds of lock. */
    {"a 1 h lock 1 x, a 1 w lock 2 y, a 2 h lock 3 y, a 2 w lock 4 x",
     "a1 y, a2 x"},
    {"a 1 h lock 1 x, a 1 w fair 02 y, b 1 h lock 1 y, b 1 w fair 02 x",
     "a1 y, b1 x"},
    {"a 1 h write 1:write x, a 1 w simple 2 y, b 1 h simple 1 y, "
     "b 1 w write 2:write x",
     "a1 y, b1 x"},
    /* Another thread of the holder's process waits, not the holder. */
    {"a 1 h lock 1 x, a 2 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x", ""},
    /* Those who work inside of what others hold, and inside of these. */
    {"a 9 h lock 1 x, b in a, b 1 w lock 1 y, c 9 h lock 1 y, d in c, "
     "d 1 w lock 1 x",
     "b1 y, d1 x"},
    {"a 9 h lock 1 x, b in a, b 9 h lock 1 z, c in b, c 1 w lock 1 y, "
     "d 1 h lock 1 y, d 1 w lock 2 x",
     "c1 y, d1 x"},
    {"a 9 h lock 1 x, b in a, b 1 w lock 1 x", "b1 x"},
    /* One of two who wait inside may go on; a circle of these is nobody's. */
    {"a 9 h lock 1 x, b in a, b 1 w lock 1 y, b 2 w lock 2 z, c 1 h lock 1 y, "
     "c 1 w lock 2 x",
     ""},
    {"a 9 h lock 1 x, a in b, b 9 h lock 1 y, b in a, c 1 w lock 1 x", ""},
    {"a 9 h lock 1 x, a in f, b 1 w lock 1 x", ""},
    /* Kinds that do not meet. */
    {"a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w write 2:write x",
     ""},
    /* A chain is no circle; who stands behind one is not in it. */
    {"a 1 h lock 1 x, b 1 h lock 1 y, b 1 w lock 2 x, c 1 w lock 1 y", ""},
    {"a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x, "
     "c 1 h lock 1 z, c 1 w lock 2 x, d 1 w lock 1 z",
     "a1 y, b1 x"},
    /* Three, and two circles at once. */
    {"a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 z, "
     "c 1 h lock 1 z, c 1 w lock 2 x",
     "a1 y, b1 z, c1 x"},
    {"a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x, "
     "c 1 h lock 1 p, c 1 w lock 2 q, d 1 h lock 1 q, d 1 w lock 2 p",
     "a1 y, b1 x; c1 q, d1 p"},
    /* Readers: one that is stuck keeps the writer out. */
    {"a 1 h read 1 x, b 1 h read 1 x, b 1 w lock 2 y, c 1 h lock 1 y, "
     "c 1 w write 2:write x",
     "b1 y, c1 x"},
    {"a 1 h read 1 x, a 1 w lock 2 y, b 1 h read 1 x, b 1 w lock 2 y, "
     "c 1 h lock 1 y, c 1 w write 2:write x",
     "a1 y, c1 x; b1 y, c1 x"},
    /* A reader is kept out by the writer alone. */
    {"a 1 h read 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w read 2 x", ""},
    {"a 1 h write 1:write x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w read 2 x",
     "a1 y, b1 x"},
    /* A writer that reads, too, is one. */
    {"a 1 h write 1:write x, a 1 h read 2 x, a 1 w lock 3 y, b 1 h lock 1 y, "
     "b 1 w read 2 x",
     "a1 y, b1 x"},
    /* Permits: all who have some must be stuck. */
    {"a 1 h permit aa x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w permit bb x",
     "a1 y, b1 x"},
    {"a 1 h permit aa x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w permit bb x, "
     "c 1 h permit cc x",
     ""},
    {"a 1 h permit aa x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w permit bb x, "
     "c 1 h permit cc x, c 1 w lock 2 y",
     "a1 y, b1 x; c1 y, b1 x"},
    /* Who has the permits it waits for waits for itself. */
    {"a 1 h permit aa x, a 1 w permit ab x", "a1 x"},
    {"a 1 h permit aa x, a 1 w permit ab x, b 1 h permit bb x", ""},
    /* Permits that are nobody's, and latches, have no holder. */
    {"a 1 h permit aa x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w semaphore 2 x",
     ""},
    {"a 1 h lock 1 x, a 1 w latch 2 x", ""},
    /* What a thread holds does not keep the same thread out. */
    {"a 1 h write 1:write x, a 1 w read 2 x", ""},
    {"a 1 h lock 1 x, a 1 w fair 02 x", ""},
    /* A handle that owns waits for nobody: any thread may release it. */
    {"a 9 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x", ""},
    /* What was lost is held no more. */
    {"a 1 l lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x", ""},
    /* Records that contradict each other: held by two; */
    {"a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x, "
     "c 1 h lock 1 x",
     ""},
    {"a 1 h write 1:write x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w read 2 x, "
     "c 1 h read 1 x",
     ""},
    {"a 1 h write 1:write x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w read 2 x, "
     "c 1 h write 1:write x",
     ""},
    /* a claim that waits and holds; */
    {"a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x, "
     "b 1 h lock 2 x",
     ""},
    /* a thread that waits twice. */
    {"a 1 h lock 1 x, a 1 w lock 2 y, a 1 w lock 3 z, b 1 h lock 1 y, "
     "b 1 w lock 2 x",
     ""},
};

static void circles_are_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hf_records records;
        hf_circles circles;
        char got[512];
        read_scene(rows[i].scene, &records);
        assert_int_equal(hf__circles_find(&circles, &records), HF_OK);
        describe(&circles, got, sizeof got);
        if (strcmp(got, rows[i].circles) != 0)
            fail_msg("%s: found \"%s\", not \"%s\"", rows[i].scene, got,
                     rows[i].circles);
        for (size_t c = 0; c < circles.n; c++)
            for (size_t n = circles.all[c].n, l = 0; l < n; l++) {
                const hf_link *link = &circles.all[c].links[l];
                const hf_link *next = &circles.all[c].links[(l + 1) % n];
                assert_string_equal(link->wants->of.name, next->has->of.name);
                assert_true(next->has->record == next->wants->record ||
                            next->has->record->has_inner);
                assert_int_equal(next->has->of.does, HF_DOES_HOLD);
            }
        hf__circles_free(&circles);
        hf__records_free(&records);
    }
}

static const struct {
    const char *scene, *who; /* "": nobody */
} yields[] = {
    {"a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x", ""},
    {"a 1 h lock 1 x, a 1 w lock 2 y d, b 1 h lock 1 y, b 1 w lock 2 x @9",
     "a"},
    {"a 1 h lock 1 x, a 1 w lock 2 y d@5, b 1 h lock 1 y, b 1 w lock 2 x d@4",
     "a"},
    {"a 1 h lock 1 x, a 1 w lock 2 y d@5, b 1 h lock 1 y, b 1 w lock 2 x d@6",
     "b"},
    {"a 1 h lock 1 x, a 1 w lock 2 y d@5, b 1 h lock 1 y, b 1 w lock 2 x d@5",
     "b"},
};

static void the_last_who_asked_gives_way(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof yields / sizeof *yields; i++) {
        hf_records records;
        hf_circles circles;
        read_scene(yields[i].scene, &records);
        assert_int_equal(hf__circles_find(&circles, &records), HF_OK);
        assert_int_equal(circles.n, 1);
        const hf_told *last = hf__circle_yields(&circles.all[0]);
        assert_int_equal(last ? last->record->who.client[0] : 0,
                         yields[i].who[0]);
        hf__circles_free(&circles);
        hf__records_free(&records);
    }
}

static uint64_t key_of(const char *scene) {
    hf_records records;
    hf_circles circles;
    read_scene(scene, &records);
    assert_int_equal(hf__circles_find(&circles, &records), HF_OK);
    assert_int_equal(circles.n, 1);
    uint64_t key = hf__circle_key(&circles.all[0]);
    hf__circles_free(&circles);
    hf__records_free(&records);
    return key;
}

static void only_the_very_same_circle_has_its_key(void **state) {
    (void)state;
    uint64_t key = key_of(
        "a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x");
    assert_true(key == key_of("b 1 w lock 2 x d, a 1 h lock 1 x, "
                              "c 1 h lock 1 z, b 1 h lock 1 y, "
                              "a 1 w lock 2 y @7"));
    /* The wait is another one, the hold is. */
    assert_false(key == key_of("a 1 h lock 1 x, a 1 w lock 3 y, "
                               "b 1 h lock 1 y, b 1 w lock 2 x"));
    assert_false(key == key_of("a 1 h lock 1 x, a 1 w lock 2 y, "
                               "b 1 h lock 3 y, b 1 w lock 2 x"));
}

static void all_who_can_never_go_on_are_marked(void **state) {
    (void)state;
    hf_records records;
    hf_circles circles;
    read_scene(
        "a 1 h lock 1 x, a 1 w lock 2 y, b 1 h lock 1 y, b 1 w lock 2 x, "
        "c 1 h lock 1 z, c 1 w lock 2 x, d 1 h lock 1 p",
        &records);
    assert_int_equal(hf__circles_find(&circles, &records), HF_OK);
    for (size_t i = 0; i < records.n_claims; i++)
        assert_int_equal(records.claims[i].stuck,
                         records.claims[i].record->who.client[0] != 'd');
    hf__circles_free(&circles);
    hf__records_free(&records);
}

/* Random scenes: whoever is said to be in a circle is, and a circle that was
 * put in is found. */
static void a_circle_is_found_in_any_crowd(void **state) {
    (void)state;
    unsigned seed = 11;
    for (int round = 0; round < 300; round++) {
        char scene[8192] = "";
        int n = 2 + rand_r(&seed) % 20, circle = 2 + rand_r(&seed) % (n - 1);
        for (int i = 0; i < n; i++) {
            size_t used = strlen(scene);
            int next = i < circle ? (i + 1) % circle :
                                    rand_r(&seed) % (i == 0 ? 1 : i);
            snprintf(scene + used, sizeof scene - used,
                     "%s%c 1 h lock 1 n%d, %c 1 w lock 2 n%d", i ? ", " : "",
                     'a' + i, i, 'a' + i, next);
        }
        hf_records records;
        hf_circles circles;
        read_scene(scene, &records);
        assert_int_equal(hf__circles_find(&circles, &records), HF_OK);
        assert_int_equal(circles.n, 1);
        assert_int_equal(circles.all[0].n, circle);
        hf__circles_free(&circles);
        hf__records_free(&records);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(circles_are_found),
    cmocka_unit_test(the_last_who_asked_gives_way),
    cmocka_unit_test(only_the_very_same_circle_has_its_key),
    cmocka_unit_test(all_who_can_never_go_on_are_marked),
    cmocka_unit_test(a_circle_is_found_in_any_crowd),
};
HF_SUITE(tests)
