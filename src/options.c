/* SPDX-License-Identifier: MIT
 *
 * options.c - option structs grow, and programs do not grow with them. */
#include "options.h"

#include <string.h>

#include "err.h"

int hf__options_copy(void *to, size_t size, const void *from, const char *what,
                     hf_error *err) {
    const unsigned char *bytes = from;
    size_t theirs;

    memset(to, 0, size);
    if (!from)
        return HF_OK;
    memcpy(&theirs, from, sizeof theirs);
    if (theirs < sizeof theirs || theirs > 4096)
        return hf__fail(err, HF_EUSAGE,
                        "%s.size is %zu: set it to sizeof(%s), as "
                        "the _INIT macro does",
                        what, theirs, what);
    for (size_t i = size; i < theirs; i++)
        if (bytes[i])
            return hf__fail(err, HF_EUSAGE,
                            "%s asks for what this version (%s) of the "
                            "library does not know",
                            what, HF_VERSION);
    memcpy(to, from, theirs < size ? theirs : size);
    return HF_OK;
}
