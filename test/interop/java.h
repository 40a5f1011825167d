/* SPDX-License-Identifier: MIT
 *
 * java.h - the stranger that is a Java virtual machine: Redisson or Curator
 * itself, with a Peer.java of either. */
#ifndef HF_TEST_JAVA_H
#define HF_TEST_JAVA_H

#include "stranger.h"

extern stranger the_java;

/* FOLDER is what a build.sh made, LIB the libraries in it.  Where either is
 * missing the test is skipped, for the reason that build.sh left in FOLDER/why
 * or FOLDER/LIB.why. */
void java_start(const char *folder, const char *lib, const char *told);

#define java_kill()            stranger_kill(&the_java)
#define java_ask(...)          stranger_ask(&the_java, __VA_ARGS__)
#define java_number(...)       stranger_number(&the_java, __VA_ARGS__)
#define java_says(wanted, ...) stranger_says(&the_java, wanted, __VA_ARGS__)
#define java_begins(k, ...)    stranger_begins(&the_java, k, __VA_ARGS__)
#define java_waits(k, ...)     stranger_waits(&the_java, k, __VA_ARGS__)
#define java_answer(k, ms)     stranger_answer(&the_java, k, ms)
#define java_answers(k, said)  stranger_answers(&the_java, k, said)
#define java_has_counted(k, g) stranger_has_counted(&the_java, k, g)
#define java_answered(k)       stranger_answered(&the_java, k)
#define java_thread_says(wanted, k, ...)                                       \
    stranger_thread_says(&the_java, wanted, k, __VA_ARGS__)

#endif
