/* SPDX-License-Identifier: MIT
 *
 * main.c - the smallest program that uses an installed holdfast; C and C++. */
#include <holdfast.h>
#include <stdio.h>

int main(void) {
    hf_client *client = NULL;
    hf_error err;
    if (hf_open(&client, "memory:", NULL, &err) != HF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    hf_close(client);
    puts(hf_version());
    return 0;
}
