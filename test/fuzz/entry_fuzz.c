/* SPDX-License-Identifier: MIT
 *
 * entry_fuzz.c - any text as what others call their entries, in the stores
 * that keep a line of them, and as what is written in those.
 *
 * The lines of the input are a name, two children and a note.  An entry of
 * ours is taken for what it is, by its own name and by no other; a name that
 * is accepted is never taken for an entry; and what we write in one is read
 * back, however much of it is nonsense. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "backend/etcd/keys.h"
#include "backend/etcd/value.h"
#include "backend/line/note.h"
#include "backend/zookeeper/layout.h"
#include "client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const hf_layout layouts[] = {HF_CURATOR, HF_KAZOO, HF_BRIDGE};
static const hf_kind lines[] = {HF_LOCK, HF_WRITE, HF_SEMAPHORE, HF_LATCH};
#define EACH(i, of) for (size_t i = 0; i < sizeof(of) / sizeof *(of); i++)

/* ---- ZooKeeper --------------------------------------------------------- */

static bool is_entry(const char *child) {
    hf_tagged tagged;
    bool any = false;
    EACH(i, layouts)
    EACH(j, lines)
    if (hf__layout_parse(layouts[i], lines[j], child, &tagged)) {
        assert(tagged.order <= 9999999999 && lines[j] != HF_LATCH);
        assert(hf_line_kind(tagged.kind) == lines[j]);
        any = true;
    }
    return any;
}

/* The way there and back of an entry's key. */
static void check_key(const char *child) {
    static const int counts[] = {HF_ONE, HF_PAIR, 3};
    static const size_t nodes[] = {1, 2, 3};
    char path[HF_ZNODE_SIZE];
    size_t n = strlen(child);
    EACH(i, counts) {
        char *key = hf__zk_key_make("/f", child, counts[i]);
        assert(key != NULL && hf__zk_key_nodes(key) == nodes[i]);
        assert(hf__zk_key_order(key) == strtoull(child + n - 10, NULL, 10));
        hf__zk_key_node(key, 0, path);
        assert(strncmp(path, "/f/", 3) == 0);
        assert(n > 500 || strcmp(path + 3, child) == 0);
        for (size_t j = 1; j < nodes[i]; j++)
            hf__zk_key_node(key, j, path);
        free(key);
    }
}

static void check_children(const char *a, const char *b) {
    int64_t ms = -1;
    if (is_entry(a))
        check_key(a);
    if (hf__layout_parse_until(a, &ms))
        assert(ms >= 0);
    hf__layout_is_part(a);
    if (hf__layout_same_id(a, b))
        assert(hf__layout_same_id(b, a));
}

/* One of ours, with the id that the text begins with. */
static void check_ours(const char *text) {
    static const hf_kind kinds[] = {HF_LOCK, HF_READ, HF_WRITE, HF_PERMIT};
    unsigned char id[16] = {0}, other[16];
    char name[HF_ZNODE_SIZE];
    hf_tagged tagged;

    memcpy(id, text, strnlen(text, sizeof id));
    memcpy(other, id, sizeof other);
    other[0] ^= 1;
    EACH(i, layouts)
    EACH(j, kinds) {
        size_t n = hf__layout_name(layouts[i], kinds[j], id, name);
        assert(n == strlen(name));
        assert(hf__layout_has_id(name, id) && !hf__layout_has_id(name, other));
        strcpy(name + n, "0000000042");
        assert(is_entry(name));
        assert(hf__layout_parse(layouts[i], hf_line_kind(kinds[j]), name,
                                &tagged));
        assert(tagged.order == 42);
        assert(tagged.kind == kinds[j] || layouts[i] == HF_KAZOO);
    }
}

static void check_path(const char *name) {
    hf_error err = {0, ""};
    const char *slash = strrchr(name, '/');
    int rc = hf__layout_check_name("", name, &err);
    assert(rc == HF_OK || (rc == HF_ENAME && err.text[0] != '\0'));
    if (rc != HF_OK)
        return;
    assert(*name != '\0' && *name != '/' && strstr(name, "//") == NULL);
    assert(slash == NULL || !is_entry(slash + 1));
    assert(slash == NULL || !hf__layout_is_part(slash + 1));
}

/* ---- etcd -------------------------------------------------------------- */

static hf_bytes bytes(const char *text) {
    return (hf_bytes){(const uint8_t *)text, strlen(text)};
}

static void check_etcd_key(const char *name, hf_kind kind, hf_key_sort sort) {
    hf_line line = {.kind = hf_line_kind(kind), .name = name};
    hf_wish wish = {.kind = kind, .line = line, .permits = 2};
    hf_error err;
    hf_key key;
    hf_key_parts parts;
    unsigned n = 0;

    if (hf__etcd_key_check(&line, &err) != HF_OK)
        return;
    hf__etcd_key_entry(&key, "p/", &wish, 0x1234, 7);
    assert(key.n == strlen(key.at));
    hf__etcd_key_read(&parts, bytes(key.at + 2));
    assert(parts.sort == sort && parts.name == strlen(name));
    assert(memcmp(key.at + 2, name, parts.name) == 0);
    assert(parts.permits == (kind == HF_PERMIT ? 2 : 1));
    assert(hf__etcd_key_is_ours("p/", &key, 0x1234, &n) && n == 7);
    assert(!hf__etcd_key_is_ours("p/", &key, 0x1235, &n));
}

static void check_etcd(const char *name, const char *text) {
    hf_number_state state;
    if (*name != '\0') {
        check_etcd_key(name, HF_LOCK, HF_KEY_LOCK);
        check_etcd_key(name, HF_READ, HF_KEY_READ);
        check_etcd_key(name, HF_WRITE, HF_KEY_WRITE);
        check_etcd_key(name, HF_PERMIT, HF_KEY_PERMIT);
    }
    if (hf__etcd_value_read(&state, bytes(text)))
        assert(state.n_answers <= HF_ANSWERS);
}

/* ---- notes ------------------------------------------------------------- */

static void same(const char *a, const char *b) {
    assert(strcmp(a, b) == 0);
}

/* What could be read of it can be written, and comes back. */
static void check_note(const char *text) {
    char written[HF_NOTE_SIZE];
    hf_claim c = {.kind = HF_LOCK, .owner = 3};
    hf_note note, again;

    if (!hf__note_read(&note, text))
        return;
    hf__note_write(written, &c, note.lasts_ms, &note.who);
    assert(strlen(written) < sizeof written);
    assert(hf__note_read(&again, written));
    assert(again.lasts_ms == note.lasts_ms && again.who.pid == note.who.pid);
    same(again.who.host, note.who.host);
    same(again.who.user, note.who.user);
    same(again.who.program, note.who.program);
    same(again.who.why, note.who.why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = calloc(1, size + 1), *rest = text, *of[4];
    char prefix[] = "";
    hf_client client = {.prefix = prefix};
    hf_error err;

    assert(text != NULL);
    memcpy(text, data, size);
    for (int i = 0; i < 4; i++)
        of[i] =
            rest != NULL ? (i < 3 ? strsep(&rest, "\n") : rest) : text + size;
    check_path(of[0]);
    check_children(of[1], of[2]);
    check_children(of[2], of[1]);
    check_ours(of[1]);
    if (hf__check_name(&client, of[0], &err) == HF_OK)
        check_etcd(of[0], of[3]);
    check_etcd("", of[3]);
    check_note(of[3]);
    free(text);
    return 0;
}
