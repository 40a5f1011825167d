/* SPDX-License-Identifier: MIT
 *
 * errors.c - what a number of MariaDB's or of its client library means.
 *
 * A statement that the server refuses was not carried out, and its transaction
 * ends with the connection.  What the library itself reports, or what ends the
 * connection, leaves open whether a script that had left took effect. */
#include "errors.h"

#include <errmsg.h>
#include <stdio.h>

#include "../../err.h"
#include "../tables/database.h"

typedef struct meaning {
    unsigned number;
    int code;
    const char *advice; /* the next step; NULL: the server's text will do */
} meaning;

#define READ_ONLY "it accepts no writes here: name the primary"
#define ENDED     "the database ended the statement before it was done"
#define GRANT     "see `holdfast doctor --acl` for what to GRANT"

/* The server's, then the library's (2000 to 2999), then later servers'. */
static const meaning meanings[] = {
    {3, HF_EFULL, NULL},          /* EE_WRITE                              */
    {1020, HF_DB_AGAIN, NULL},    /* ER_CHECKREAD: a snapshot was too old  */
    {1021, HF_EFULL, NULL},       /* ER_DISK_FULL                          */
    {1026, HF_EFULL, NULL},       /* ER_ERROR_ON_WRITE                     */
    {1040, HF_ECROWDED, NULL},    /* ER_CON_COUNT_ERROR                    */
    {1044, HF_EFORBIDDEN, GRANT}, /* ER_DBACCESS_DENIED_ERROR              */
    {1045, HF_EAUTH, NULL},       /* ER_ACCESS_DENIED_ERROR                */
    {1046, HF_EURI, "write mariadb://HOST/DATABASE"}, /* ER_NO_DB_ERROR     */
    {1047, HF_ESTARTING, NULL}, /* ER_UNKNOWN_COM_ERROR: a node of Galera's
                                      that is not yet in its cluster        */
    {1049, HF_EURI, "create it with CREATE DATABASE, or name another one"},
    {1053, HF_ESTARTING, NULL},    /* ER_SERVER_SHUTDOWN                    */
    {1054, HF_DB_NO_TABLES, NULL}, /* ER_BAD_FIELD_ERROR: an old table      */
    {1060, HF_DB_AGAIN, NULL},     /* ER_DUP_FIELDNAME, on MySQL: it is new */
    {1114, HF_EFULL, NULL},        /* ER_RECORD_FILE_FULL                   */
    {1129, HF_EAUTH, "run mariadb-admin flush-hosts there"},
    {1130, HF_EAUTH, NULL},        /* ER_HOST_NOT_PRIVILEGED                */
    {1142, HF_EFORBIDDEN, GRANT},  /* ER_TABLEACCESS_DENIED_ERROR           */
    {1143, HF_EFORBIDDEN, GRANT},  /* ER_COLUMNACCESS_DENIED_ERROR          */
    {1146, HF_DB_NO_TABLES, NULL}, /* ER_NO_SUCH_TABLE                      */
    {1203, HF_ECROWDED, NULL},     /* ER_TOO_MANY_USER_CONNECTIONS          */
    {1205, HF_DB_AGAIN, NULL},     /* ER_LOCK_WAIT_TIMEOUT                  */
    {1213, HF_DB_AGAIN, NULL},     /* ER_LOCK_DEADLOCK                      */
    {1223, HF_EREAD_ONLY, READ_ONLY}, /* ER_CANT_UPDATE_WITH_READLOCK       */
    {1226, HF_ECROWDED, NULL},    /* ER_USER_LIMIT_REACHED                 */
    {1227, HF_EFORBIDDEN, GRANT}, /* ER_SPECIFIC_ACCESS_DENIED_ERROR       */
    {1251, HF_EAUTH, NULL},       /* ER_NOT_SUPPORTED_AUTH_MODE            */
    {1290, HF_EREAD_ONLY, READ_ONLY}, /* ER_OPTION_PREVENTS_STATEMENT       */
    {1317, HF_EDOWN, ENDED}, /* ER_QUERY_INTERRUPTED: KILL QUERY      */
    {1524, HF_EAUTH, NULL},  /* ER_PLUGIN_IS_NOT_LOADED               */
    {1665, HF_ESTORE, "set binlog_format to MIXED or ROW"},
    {1698, HF_EAUTH, NULL}, /* ER_ACCESS_DENIED_NO_PASSWORD_ERROR    */
    {1792, HF_EREAD_ONLY, READ_ONLY}, /* ER_CANT_EXECUTE_IN_READ_ONLY_…     */
    {1820, HF_EAUTH, NULL}, /* ER_MUST_CHANGE_PASSWORD               */
    {1836, HF_EREAD_ONLY, READ_ONLY}, /* ER_READ_ONLY_MODE                  */
    {1862, HF_EAUTH, NULL},  /* ER_MUST_CHANGE_PASSWORD_LOGIN         */
    {1969, HF_EDOWN, ENDED}, /* ER_STATEMENT_TIMEOUT                  */
    {CR_CONNECTION_ERROR, HF_EDOWN, NULL},
    {CR_CONN_HOST_ERROR, HF_EDOWN, NULL},
    {CR_UNKNOWN_HOST, HF_EDOWN, NULL},
    {CR_SSL_CONNECTION_ERROR, HF_ETLS, NULL},
    {CR_OUT_OF_MEMORY, HF_ENO_MEMORY, NULL},
    {2059, HF_EAUTH, NULL},     /* CR_AUTH_PLUGIN_CANNOT_LOAD            */
    {3024, HF_EDOWN, ENDED},    /* MySQL: ER_QUERY_TIMEOUT               */
    {3032, HF_ESTARTING, NULL}, /* MySQL: ER_SERVER_OFFLINE_MODE         */
    {3118, HF_EAUTH, NULL},     /* MySQL: ER_ACCOUNT_HAS_BEEN_LOCKED     */
    {4031, HF_EDOWN, NULL},     /* MySQL: hung up on because it was idle */
    {4151, HF_EAUTH, NULL},     /* ER_ACCOUNT_HAS_BEEN_LOCKED            */
};

static const meaning *meaning_of(unsigned number) {
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].number == number)
            return &meanings[i];
    return NULL;
}

/* The connection broke, or the server ended it: by KILL, or at COMMIT, of
 * which only it knows what became. */
static bool broke(unsigned number) {
    return number == CR_SERVER_GONE_ERROR || number == CR_SERVER_LOST ||
           number == CR_SERVER_LOST_EXTENDED || number == CR_MALFORMED_PACKET ||
           number == CR_COMMANDS_OUT_OF_SYNC ||
           number == 1180 /* ER_ERROR_DURING_COMMIT */ ||
           number == 1927 /* ER_CONNECTION_KILLED */ ||
           (number >= 1156 && number <= 1161) /* ER_NET_… */;
}

/* A script that could not be sent whole was not read whole, and so did
 * nothing. */
static int broken_off(hf_error *err, const char *where, hf_maria_stage stage,
                      unsigned number, const char *text) {
    if (stage == HF_MARIA_CONNECTING ||
        (stage == HF_MARIA_SENDING && number == CR_SERVER_GONE_ERROR))
        return hf__fail(err, HF_EDOWN, "%s: %s", where, text);
    return hf__fail(err, HF_EDOUBT,
                    "%s: the connection broke before the answer came: %s",
                    where, text);
}

int hf__maria_error(hf_error *err, const char *where, hf_maria_stage stage,
                    unsigned number, const char *text) {
    const meaning *m = meaning_of(number);

    if (broke(number))
        return broken_off(err, where, stage, number, text);
    if (!m)
        return hf__fail(err, HF_ESTORE, "%s: %s (error %u)", where, text,
                        number);
    if (m->code > 0) { /* for the core, which cures it */
        hf__fail(err, HF_ESTORE, "%s: %s (error %u)", where, text, number);
        return m->code;
    }
    if (m->advice)
        return hf__fail(err, m->code, "%s: %.100s: %s", where, text, m->advice);
    return hf__fail(err, m->code, "%s: %s", where, text);
}
