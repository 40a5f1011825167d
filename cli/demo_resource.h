/* SPDX-License-Identifier: MIT
 *
 * demo_resource.h - what the demonstrations write to: a file that does not
 * look who writes, and one that checks tokens.
 *
 * All of them leave the process if the file system refuses. */
#ifndef CLI_DEMO_RESOURCE_H
#define CLI_DEMO_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Becomes the content, whoever wrote before. */
void resource_write(const char *path, const char *text);

/* "TOKEN TEXT" becomes the content, unless there is one with a higher token;
 * false then.  Looking and writing are one step, under the file's own lock. */
bool resource_write_fenced(const char *path, uint64_t token, const char *text);

/* What is there; "" if nothing is. */
void resource_read(const char *path, char *buf, size_t size);

#endif
