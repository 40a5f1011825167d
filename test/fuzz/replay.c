/* SPDX-License-Identifier: MIT
 *
 * replay.c - runs a fuzz target over the files of a folder, where there is no
 * fuzzer to do it. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *folder, const char *name) {
    uint8_t data[4096];
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        perror(path);
        return -1;
    }
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    /* An exact copy on the heap, so that reading past it is noticed. */
    uint8_t *copy = malloc(size + (size == 0));
    if (copy == NULL)
        return -1;
    for (size_t i = 0; i < size; i++)
        copy[i] = data[i];
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return 0;
}

int main(int argc, char **argv) {
    int n = 0;
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    if (dir == NULL) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        if (replay(argv[1], e->d_name) != 0)
            return 1;
        n++;
    }
    closedir(dir);
    printf("%d inputs replayed\n", n);
    return n == 0;
}
