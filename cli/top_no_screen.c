/* SPDX-License-Identifier: MIT
 *
 * top_no_screen.c - `holdfast top` where it was built without ncurses. */
#include "status.h"
#include "top.h"

int top_screen(top *t) {
    (void)t;
    complain("this holdfast was built without ncurses and cannot draw; "
             "'holdfast top --batch' prints the same, '-n 1' once");
    return EXIT_UNAVAILABLE;
}
