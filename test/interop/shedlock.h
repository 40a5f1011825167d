/* SPDX-License-Identifier: MIT
 *
 * shedlock.h - the real ShedLock beside our client, on one table.
 *
 * A test begins with a table of its own on a shared server, with Java and with
 * a client, and speaks to Java in the lines of shedlock/Peer.java.
 * $HF_SHEDLOCK is the folder that shedlock/build.sh made, $HF_SHEDLOCK_DB the
 * database: postgres or mariadb. */
#ifndef HF_TEST_SHEDLOCK_H
#define HF_TEST_SHEDLOCK_H

#include "java.h"

/* Begin and end of a test: Java by the database's clock, or by its own. */
void with_database_time(void **state);
void with_own_time(void **state);
int end_shedlock(void **state);
#define WITH_DB_TIME(name)  HF_TEST_IN(with_database_time, name, end_shedlock)
#define WITH_OWN_TIME(name) HF_TEST_IN(with_own_time, name, end_shedlock)

/* Only Java is there, and no table; then our client. */
void with_java_alone(void **state);
void c_joins(void);
#define WITH_JAVA(name) HF_TEST_IN(with_java_alone, name, end_shedlock)

const char *the_table(void);
bool on_postgres(void);

#endif
