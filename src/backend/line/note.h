/* SPDX-License-Identifier: MIT
 *
 * note.h - what an entry says of its owner, for those who list the line.
 *
 *     holdfast 1 OWNER LASTS PID HOST USER PROGRAM WHY
 *
 * LASTS is for how many ms the entry stays when nobody sees to it any more.
 * One line of printable ASCII.  What would spoil it is written %XX, nothing at
 * all is `-`.  Peers never read it; what they write there is no note. */
#ifndef HF_LINE_NOTE_H
#define HF_LINE_NOTE_H

#include "../../../include/holdfast/backend.h"

enum { HF_NOTE_SIZE = 1280 };

typedef struct hf_note {
    char owner[80]; /* see hf__owner_of */
    int lasts_ms;
    hf_identity who;
} hf_note;

void hf__note_write(char *buf, const hf_claim *c, int lasts_ms,
                    const hf_identity *who);

/* Of an entry whose owner has let go, and which keeps others out for so
 * long. */
void hf__note_released(char *buf, int lasts_ms, const hf_identity *who);

/* Of a client as a whole: the first line of its record. */
void hf__note_present(char *buf, int lasts_ms, const hf_identity *who);

/* false: it is none. */
bool hf__note_read(hf_note *ret, const char *text);

#endif
