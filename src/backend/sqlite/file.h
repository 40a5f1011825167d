/* SPDX-License-Identifier: MIT
 *
 * file.h - where the embedded store may live, and who may write there. */
#ifndef HF_SQLITE_FILE_H
#define HF_SQLITE_FILE_H

#include <sys/types.h>

#include "../../../include/holdfast/backend.h"

typedef struct hf_file {
    char *path;   /* absolute, without a symbolic link in it */
    char *folder; /* beside it: the sockets of its clients */
    mode_t mode;  /* 0600; 0660 in a folder that its group may write */
    gid_t gid;    /* of the folder */
    bool network; /* on a network file system, by the user's own wish */
    const char *fs;
} hf_file;

/* Resolves the address, makes file and folders where they are missing, and
 * refuses what others could tamper with.  HF_EURI, HF_EFORBIDDEN, ... name the
 * resolved path. */
int hf__file_find(hf_file *ret, const hf_uri *uri, hf_error *err);
void hf__file_free(hf_file *file);

/* Gives what we made in a shared folder to the group that shares it.  False:
 * errno says why; others of the group may then be shut out. */
bool hf__file_share(const hf_file *file, const char *path);

/* What a file system is called if it reaches beyond this host, or can: by the
 * type that statfs(2) tells.  Otherwise NULL. */
const char *hf__file_network_fs(uint32_t type);

#endif
