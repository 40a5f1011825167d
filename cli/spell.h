/* SPDX-License-Identifier: MIT
 *
 * spell.h - which word was meant. */
#ifndef CLI_SPELL_H
#define CLI_SPELL_H

/* Keeps in *best whichever of it (NULL at first) and `candidate` is nearer to
 * `word`, and in *distance how far; what is too far off is not taken. */
void spell_offer(const char *word, const char *candidate, const char **best,
                 int *distance);

#define SPELL_NONE 1000 /* where *distance begins */

#endif
