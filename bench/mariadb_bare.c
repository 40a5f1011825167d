/* SPDX-License-Identifier: MIT
 *
 * mariadb_bare.c - the bare statements of a lock in MariaDB. */
#include "mariadb_bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS UNSIGNED)"

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
                           0))
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

#define FREE "(until <= " NOW " AND waits = 0)"
#define MINE "(client = '0123456789abcdef' AND owner = 1)"

static bool mariadb_begin(const char *name) {
    snprintf(
        take_text, sizeof take_text,
        "INSERT INTO bare_line (name, kind, token, until, owner, client, asked,"
        " since) VALUES ('%s', 0, " NOW ", " NOW " + 30000000, 1, "
        "'0123456789abcdef', 0, " NOW ") ON DUPLICATE KEY UPDATE "
        "token = IF(" FREE ", GREATEST(token + 1, VALUES(token)), token), "
        "owner = IF(" FREE ", VALUES(owner), owner), "
        "client = IF(" FREE ", VALUES(client), client), "
        "since = IF(" FREE ", VALUES(since), since), "
        "until = IF(" FREE ", VALUES(until), until) "
        "RETURNING token, HEX(client), owner, until - " NOW ", waits",
        name);
    snprintf(give_text, sizeof give_text,
             "UPDATE bare_line SET until = " NOW " WHERE name = '%s' AND "
             "kind = 0 AND " MINE " AND until > " NOW
             " AND kept = 0 AND waits = 0",
             name);
    return true;
}

static bool mariadb_take(void) {
    MYSQL_RES *r = ask(take_text) ? mysql_store_result(conn) : NULL;
    MYSQL_ROW row = r ? mysql_fetch_row(r) : NULL;
    bool well = row && row[2] && strcmp(row[2], "1") == 0;

    if (r)
        mysql_free_result(r);
    return well;
}

static bool mariadb_give(void) {
    return ask(give_text) && mysql_affected_rows(conn) == 1;
}

const bare mariadb_calls = {"libmariadb", mariadb_open, mariadb_begin,
                            mariadb_take, mariadb_give, false};
