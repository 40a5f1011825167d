/* SPDX-License-Identifier: MIT
 *
 * mariadb_bare.c - the bare statements of a lock in MariaDB.
 *
 * They are those that the store sends for a lock that is free and that nobody
 * waits for (mariadb.sql, "take" and "free"), on a table of the same columns and
 * as it sends them, values written into the text: a guarded upsert, sent
 * together with the question what it did, and an update.  Both wait for the
 * disk. */
#include "mariadb_bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW    "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))"
#define CLIENT "X'30313233343536373839616263646566'"

static const char table[] =
    "CREATE TABLE bare_line ("
    "name VARBINARY(255) NOT NULL, kind TINYINT NOT NULL, "
    "token BIGINT NOT NULL DEFAULT 0, block INT NOT NULL DEFAULT 0, "
    "until BIGINT NOT NULL DEFAULT 0, owner BIGINT NOT NULL DEFAULT 0, "
    "client VARBINARY(16) NOT NULL DEFAULT '', "
    "asked TINYINT NOT NULL DEFAULT 0, since BIGINT NOT NULL DEFAULT 0, "
    "kept TINYINT NOT NULL DEFAULT 0, waits INT NOT NULL DEFAULT 0, "
    "ticket BIGINT NOT NULL DEFAULT 0, number BIGINT, gone_at BIGINT, "
    "PRIMARY KEY (name, kind)) ENGINE=InnoDB";

static MYSQL *conn;
static char take_text[4096], give_text[1024];

MYSQL *mariadb_dial(const char *uri) {
    char user[64], host[64], database[64];
    MYSQL *made = mysql_init(NULL);
    int port;

    if (sscanf(uri, "mariadb://%63[^@]@%63[^:]:%d/%63s", user, host, &port,
               database) == 4 &&
        mysql_real_connect(made, host, user, "", database, (unsigned)port, NULL,
                           CLIENT_MULTI_STATEMENTS))
        return made;
    fprintf(stderr, "bench: %s: %s\n", uri, mysql_error(made));
    mysql_close(made);
    return NULL;
}

static bool ask(const char *text) {
    return mysql_real_query(conn, text, strlen(text)) == 0;
}

static const char *mariadb_open(const char *uri) {
    conn = mariadb_dial(uri);
    if (!conn || !ask(table) ||
        !ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"))
        return NULL;
    return mysql_get_client_info();
}

#define FREE "until <= VALUES(since) AND waits = 0"

static const char take_words[] =
    "INSERT INTO bare_line (name, kind, token, block, until, owner, client, "
    "asked, since, kept) VALUES ('%s', 0, " NOW " + 1 - 1, 1 - 1, " NOW
    " + 30000000, 1, " CLIENT ", 0, " NOW ", 0) ON DUPLICATE KEY UPDATE "
    "token = IF(" FREE ", GREATEST(token + 1, VALUES(since)) + 1 - 1, token), "
    "block = IF(" FREE ", 1 - 1, block), asked = IF(" FREE ", 0, asked), "
    "kept = IF(" FREE ", 0, kept), owner = IF(" FREE ", 1, owner), "
    "client = IF(" FREE ", " CLIENT ", client), "
    "since = IF(" FREE ", VALUES(since), since), "
    "until = IF((" FREE ") OR (client = " CLIENT " AND owner = 1 AND kept = 0 "
    "AND until > VALUES(since)), VALUES(until), until);"
    "SELECT ROW_COUNT() > 0 AND client = " CLIENT " AND owner = 1 AND kept = 0 "
    "AND until > " NOW ", token, block, until - " NOW ", waits FROM bare_line "
    "WHERE name = '%s' AND kind = 0";

static const char give_words[] =
    "UPDATE bare_line SET until = " NOW " WHERE name = '%s' AND kind = 0 "
    "AND client = " CLIENT " AND owner = 1 AND until > " NOW
    " AND kept = 0 AND waits = 0";

static bool mariadb_begin(const char *name) {
    snprintf(take_text, sizeof take_text, take_words, name, name);
    snprintf(give_text, sizeof give_text, give_words, name);
    return true;
}

static bool mariadb_take(void) {
    bool asked = ask(take_text) && mysql_next_result(conn) == 0;
    MYSQL_RES *r = asked ? mysql_store_result(conn) : NULL;
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool well = row && row[0] && strcmp(row[0], "1") == 0;

    if (r)
        mysql_free_result(r);
    return well && mysql_next_result(conn) == -1;
}

static bool mariadb_give(void) {
    return ask(give_text) && mysql_affected_rows(conn) == 1;
}

const bare mariadb_calls = {"libmariadb", mariadb_open, mariadb_begin,
                            mariadb_take, mariadb_give, false};
