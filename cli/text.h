/* SPDX-License-Identifier: MIT
 *
 * text.h - words for people: text from strangers made harmless, durations,
 * colours. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes `text` so that a terminal obeys none of it: control bytes, marks
 * that turn the direction of writing, and what is not UTF-8 become \xNN. */
void text_put(FILE *out, const char *text);

/* The same into a buffer, cut at a character if it is too small; the columns
 * it takes when every character takes one. */
size_t text_clean(const char *text, char *buf, size_t size);

/* How many bytes of clean text fit into so many columns. */
int text_fit(const char *clean, int columns);

/* The bytes of the character at `text` if it is harmless UTF-8, else 0. */
size_t text_char(const char *text);

/* Without blanks and line ends at both sides; cuts the text itself. */
char *text_trim(char *text);

/* "850ms", "3.2s", "42s", "5m03s", "2h07m", "3d04h"; "-" when negative. */
const char *text_span(int64_t ms, char buf[static 24]);

typedef enum text_colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW } text_colour;

/* --color: "auto", "always", "never"; false if it is none of these. */
bool text_colour_mode(const char *mode);

/* The sequence that switches to the colour, or "" where there is none. */
const char *text_paint(FILE *out, text_colour colour);

#endif
