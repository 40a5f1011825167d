/* SPDX-License-Identifier: MIT
 *
 * link.h - one connection to the server. */
#ifndef HF_MARIADB_LINK_H
#define HF_MARIADB_LINK_H

#include <mysql.h>

#include "../tables/database.h"
#include "address.h"

/* Of one thread at a time. */
struct hf_session {
    const hf_maria_address *at;
    struct hf_maria *db; /* the pool's; NULL: belongs to nobody */
    MYSQL my;
    bool late;   /* the deadline came while something was under way */
    bool ruined; /* not to be used again                            */
    char version[64];
    bool read_only;
    hf_session *next;
};

/* Connects, by all the addresses that the host has, and sets the session up. */
int hf__maria_connect(hf_session **ret, const hf_maria_address *at, hf_time by,
                      hf_error *err);

/* As hf_database_ops. */
int hf__maria_ask(hf_session *s, const char *script, hf_answers *ret,
                  hf_time by, hf_error *err);

int hf__maria_descriptor(const hf_session *s);

/* Has the server, unasked, said something?  Then it hung up. */
bool hf__maria_is_gone(const hf_session *s);

/* Without a goodbye that could wait for anything; `forked`: without touching
 * more than the descriptor. */
void hf__maria_hang_up(hf_session *s, bool forked);

#endif
