/* SPDX-License-Identifier: MIT
 *
 * curator.c - a part of one server, one virtual machine, one client. */
#include "curator.h"

#include "support/quorum.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUID = 36, DIGITS = 10 };

static const char *folder(void) {
    const char *set = getenv("HF_CURATOR");
    return set != NULL ? set : ".";
}

static const char *lib(void) {
    const char *set = getenv("HF_CURATOR_LIB");
    return set != NULL ? set : "lib59";
}

bool java_keeps_its_place(void) {
    return strcmp(lib(), "lib54") != 0;
}

/* ---- begin and end ----------------------------------------------------- */

void meet_curator_at(const char *uri, int session_ms) {
    char told[300];
    snprintf(told, sizeof told, "%s session_ms=%d", uri, session_ms);
    java_start(folder(), lib(), told);
    c_meet(uri, session_ms);
}

static void meet(int session_ms) {
    char uri[256];
    hf_test_quorum_borrow(&hf_test_zookeeper_sort, uri, sizeof uri);
    meet_curator_at(uri, session_ms);
}

void with_long_sessions(void **state) {
    meet(LONG_LEASE);
    hf_test_body(state);
}

void with_short_sessions(void **state) {
    meet(SHORT_LEASE);
    hf_test_body(state);
}

int end_curator(void **state) {
    (void)state;
    hf_test_clear();
    java_kill();
    hf_test_give_back();
    return 0;
}

/* ---- entries ----------------------------------------------------------- */

const char *java_node(const char *noun, const char *name, int i) {
    static char node[256];
    const char *at = java_ask("%s nodes %s", noun, name);
    for (; i > 0 && at != NULL; i--)
        at = (at = strchr(at, ',')) != NULL ? at + 1 : NULL;
    snprintf(node, sizeof node, "%s", at != NULL ? at : "");
    node[strcspn(node, ",")] = 0;
    return strcmp(node, "NO") == 0 ? "" : node;
}

static bool is_guid(const char *text) {
    for (int i = 0; i < GUID; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' :
                   !isdigit((unsigned char)text[i]) &&
                       (text[i] < 'a' || text[i] > 'f'))
            return false;
    }
    return true;
}

int64_t check_node(const char *node, const char *tag) {
    size_t n = strlen(tag);
    const char *digits = node + 3 + GUID + 1 + n;
    if (strlen(node) != 3 + GUID + 1 + n + DIGITS ||
        strncmp(node, "_c_", 3) != 0 || !is_guid(node + 3) ||
        node[3 + GUID] != '-' || strncmp(node + 3 + GUID + 1, tag, n) != 0 ||
        strspn(digits, "0123456789") != DIGITS)
        fail_msg("not what Curator would write: %s", node);
    return strtoll(digits, NULL, 10);
}
