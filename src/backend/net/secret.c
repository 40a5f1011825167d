/* SPDX-License-Identifier: MIT
 *
 * secret.c - passwords: where they come from, and how they go. */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"

enum { PASSWORD_MAX = 4096 };

/* Reads at most PASSWORD_MAX - 1 bytes.  Whoever may read the file may use the
 * password, so it must not be everybody.  The length, or HF_EAUTH. */
static ssize_t slurp(char *text, const char *path, hf_error *err) {
    struct stat st;
    ssize_t size = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, &st) == 0)
        size = read(fd, text, PASSWORD_MAX);
    if (size < 0)
        size = hf__fail(err, HF_EAUTH, "cannot read password_file %s: %s", path,
                        strerror(errno));
    else if (st.st_mode & (S_IROTH | S_IWOTH))
        size = hf__fail(err, HF_EAUTH,
                        "password_file %s is open to everybody: chmod 600 it",
                        path);
    else if (size == PASSWORD_MAX)
        size = hf__fail(err, HF_EAUTH, "password_file %s is too long", path);
    if (fd >= 0)
        close(fd);
    return size;
}

int hf__secret_read(char **ret, const char *path, hf_error *err) {
    char text[PASSWORD_MAX];
    ssize_t size = slurp(text, path, err);
    int rc = HF_OK;

    if (size < 0)
        return HF_EAUTH;
    text[size] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    *ret = hf__strdup(text);
    if (!*ret)
        rc = hf__fail_plain(err, HF_ENO_MEMORY);
    explicit_bzero(text, sizeof text);
    return rc;
}

void hf__secret_free(char *text) {
    if (text)
        explicit_bzero(text, strlen(text));
    hf__free(text);
}
