/* SPDX-License-Identifier: MIT
 *
 * letter.h - one command as it goes to several servers.
 *
 * Spelled once and sent to each; whoever may have to send it again keeps a
 * reference. */
#ifndef HF_REDLOCK_LETTER_H
#define HF_REDLOCK_LETTER_H

#include <stdatomic.h>

#include "../../../world.h"
#include "../scripts.h"

typedef struct hf_letter {
    atomic_uint refs;
    bool scripted; /* it calls `script`, by its hash                    */
    hf_script script;
    hf_time until; /* a release is pointless after this                 */
    size_t len;
    char *bytes;
} hf_letter;

/* NULL: out of memory. */
hf_letter *hf__letter_new(const hf_scripts *scripts, const hf_call *call,
                          hf_time until);
hf_letter *hf__letter_plain(int argc, const char *const *argv);

hf_letter *hf__letter_keep(hf_letter *l);
void hf__letter_put(hf_letter *l); /* NULL is allowed */

/* With the text of the script in place of its hash, for a server that does not
 * know it.  NULL: out of memory; else yours to free. */
char *hf__letter_whole(const hf_letter *l, const hf_scripts *scripts,
                       size_t *len);

#endif
