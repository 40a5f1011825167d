/* SPDX-License-Identifier: MIT
 *
 * page.h - the console's page and its files, and the form that asks for a
 * token. */
#ifndef CONSOLE_PAGE_H
#define CONSOLE_PAGE_H

#include "request.h"

void page_index(request *r);
void page_file(request *r);
void page_log_in(request *r);
void page_log_out(request *r);

/* The form; `trouble` says why it is shown again, or "". */
void page_login(request *r, int status, const char *trouble);

#endif
