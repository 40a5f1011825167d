/* SPDX-License-Identifier: MIT
 *
 * zookeeper.h - what the files of this port share. */
#ifndef HF_ZOOKEEPER_H
#define HF_ZOOKEEPER_H

#include <stdatomic.h>

#include "../line/port.h"
#include "layout.h"
#include "round.h"
#include "watch.h"

typedef struct hf_zookeeper {
    hf_port base;
    const hf_port_host *host;
    hf_zk *zk;
    hf_layout layout;
    const struct ACL_vector *acl;
    bool guarded;              /* the access list is not the world's */
    atomic_bool no_containers; /* the server is too old for them */
    _Atomic uint64_t
        recorded; /* the generation that made our record; 0: none */
    hf_watches watches;
    char chroot[HF_CHROOT_MAX + 1]; /* "" or "/a/b" */
    char *where;
} hf_zookeeper;

extern const hf_port_ops hf__zookeeper_port;

/* The node of a line, and the one whose children are its entries. */
void hf__zookeeper_base(const hf_zookeeper *p, const hf_line *line,
                        char buf[HF_ZNODE_SIZE]);
void hf__zookeeper_folder(const hf_zookeeper *p, const hf_line *line,
                          char buf[HF_ZNODE_SIZE]);

/* "folder/child", cut off where it would be too long for any name. */
void hf__zookeeper_join(char buf[HF_ZNODE_SIZE], const char *folder,
                        const char *child);

/* Is there time to ask again what was not answered? */
bool hf__zookeeper_again(int rc, hf_time by);

/* What a question without effect came to when it is given up. */
int hf__zookeeper_only_asked(int rc, hf_error *err);

/* What a request came to that should have made something: in doubt if it may
 * have been, certainly not done otherwise. */
int hf__zookeeper_certainty(int rc, bool unsure, hf_error *err);

/* ---- folder.c, list.c, check.c ----------------------------------------- */

/* Makes the node, and all above it, as containers, which the server removes
 * again when they have been empty for a while.  Being there already is fine. */
int hf__zookeeper_make_folder(hf_zookeeper *p, const char *folder, hf_time by,
                              hf_error *err);

/* The children of a folder as a line. */
int hf__zookeeper_lineup(hf_zookeeper *p, const hf_line *line,
                         const char *folder, const hf_answer *list,
                         hf_lineup *all, hf_time by, hf_error *err);

/* `look` without notes: the majority's word. */
int hf__zookeeper_lines(hf_zookeeper *p, const hf_line *line, hf_lineup *all,
                        hf_time by, hf_error *err);

/* The first entry from `from` on that was made with this id; -1: none.  It may
 * be of another session. */
int hf__zookeeper_find(const hf_lineup *all, hf_kind kind,
                       const unsigned char id[16], int from);

/* The entry whose first node this is; -1: none. */
int hf__zookeeper_at(const hf_lineup *all, const char *path);

/* The servers' clock in ms since 1970; asks for it if need be. */
int hf__zookeeper_clock(hf_zookeeper *p, int64_t *ms, hf_time by,
                        hf_error *err);

/* `check`, and what it learns: the generation that was asked about, and the
 * token of each (NULL: not wanted). */
int hf__zookeeper_verify(hf_zookeeper *p, const char *const *keys, int *found,
                         uint64_t *tokens, size_t n, uint64_t *generation,
                         hf_time by, hf_error *err);

/* ---- the verbs --------------------------------------------------------- */

int hf__zookeeper_enter(hf_port *port, const hf_wish *w, bool only_if_free,
                        hf_arrival *came, hf_time by, hf_error *err);
int hf__zookeeper_enter_permit(hf_zookeeper *p, const hf_wish *w,
                               hf_arrival *came, hf_time by, hf_error *err);
int hf__zookeeper_leave(hf_port *port, const hf_wish *w, const char *key,
                        hf_time by, hf_error *err);
int hf__zookeeper_keep_out(hf_port *port, const hf_wish *w, const char *key,
                           int ms, hf_time by, hf_error *err);
int hf__zookeeper_check(hf_port *port, const char *const *keys, int *found,
                        size_t n, hf_time by, hf_error *err);
int hf__zookeeper_look(hf_port *port, const hf_line *line, bool notes,
                       hf_lineup *all, hf_time by, hf_error *err);
int hf__zookeeper_read(hf_port *port, const hf_line *line,
                       hf_number_state *state, int64_t *leased, hf_time by,
                       hf_error *err);
int hf__zookeeper_write(hf_port *port, const hf_line *line,
                        const hf_number_state *state, hf_time by,
                        hf_error *err);
int hf__zookeeper_watch(hf_port *port, const hf_line *line, const char *key,
                        uint64_t as_of, uint64_t watch, hf_time by,
                        hf_error *err);
void hf__zookeeper_unwatch(hf_port *port, uint64_t watch);
void hf__zookeeper_fired(void *arg, uint64_t watch, bool gone);
void hf__zookeeper_replaced(void *arg, uint64_t handle);
int hf__zookeeper_record(hf_port *port, const char *text, hf_time by,
                         hf_error *err);
int hf__zookeeper_records(hf_port *port, hf_record_text_fn *fn, void *arg,
                          hf_time by, hf_error *err);
int hf__zookeeper_names(hf_port *port,
                        void (*fn)(void *arg, const hf_line *line), void *arg,
                        hf_time by, hf_error *err);
int hf__zookeeper_lines_of(hf_port *port, const char *name,
                           void (*fn)(void *arg, const hf_line *line),
                           void *arg, hf_time by, hf_error *err);
int hf__zookeeper_examine(hf_port *port, hf_fact_fn *fn, void *arg, hf_time by,
                          hf_error *err);

/* ---- number.c ---------------------------------------------------------- */

/* The bytes of a SharedCount.  False: it is none. */
enum { HF_COUNT_BYTES = 4 };
bool hf__zk_count_parse(const hf_answer *get, int64_t *number);
void hf__zk_count_write(int64_t number, char bytes[HF_COUNT_BYTES]);

/* Of a number and of what is leased out of it (NULL: a latch): another when
 * either has changed, is new or is gone.  Never 0. */
uint64_t hf__zk_number_as_of(const hf_answer *count, const hf_answer *leases);

/* How the answers of a number begin, by which `names` knows what it counts. */
bool hf__zk_answers_are_of(const char *text, size_t length, hf_kind kind);

#endif
