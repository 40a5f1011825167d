/* SPDX-License-Identifier: MIT
 *
 * file.c - finds the store's file and refuses unsafe places.
 *
 * Whoever can write the file or rename it in its folder can hand out our
 * locks; so both must be ours (or root's) alone, or belong to a group whose
 * folder says by its mode that it shares.  SQLite's shared memory works on one
 * host only, and network file systems tend to say so late: they are refused
 * by their type.
 *
 * The file is never opened here.  POSIX locks belong to the process: closing
 * any descriptor of the file would drop those that SQLite has on it for
 * another client of this process.  Hence mknod and stat, and no open. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"

static const struct {
    uint32_t type;
    const char *name;
} network[] = {
    {0x00006969, "NFS"},    {0xff534d42, "CIFS"},     {0xfe534d42, "SMB2"},
    {0x0000517b, "SMB"},    {0x65735546, "FUSE"},     {0x01021997, "9p"},
    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},      {0x00c36400, "Ceph"},
    {0x73757245, "Coda"},   {0x0000564c, "NCP"},      {0x01161970, "GFS2"},
    {0x7461636f, "OCFS2"},  {0x0bd00bd0, "Lustre"},   {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"}, {0x20030528, "OrangeFS"}, {0xaad7aaea, "PanFS"},
    {0x786f4256, "vboxsf"}, {0x7c7c6673, "prl_fs"},   {0xbacbacbc, "vmhgfs"},
};

const char *hf__file_network_fs(uint32_t type) {
    for (size_t i = 0; i < sizeof network / sizeof network[0]; i++)
        if (network[i].type == type)
            return network[i].name;
    return NULL;
}

/* What doctor shows of the common local ones. */
static const char *local_fs(uint32_t type) {
    switch (type) {
    case 0x0000ef53:
        return "ext4";
    case 0x58465342:
        return "XFS";
    case 0x9123683e:
        return "Btrfs";
    case 0x01021994:
        return "tmpfs";
    case 0x794c7630:
        return "overlay";
    case 0x2fc12fc1:
        return "ZFS";
    case 0xf2f52010:
        return "F2FS";
    default:
        return "a local one";
    }
}

static int refuse_errno(hf_error *err, const char *what, const char *path) {
    int code = errno == EACCES || errno == EPERM ? HF_EFORBIDDEN :
               errno == EROFS                    ? HF_EREAD_ONLY :
               errno == ENOSPC                   ? HF_EFULL :
               errno == ENOMEM                   ? HF_ENO_MEMORY :
                                                   HF_EURI;

    return hf__fail(err, code, "cannot %s %s: %s", what, path, strerror(errno));
}

/* Makes the folder `path` and what is missing above it, for us alone. */
static int make_folders(char *path, hf_error *err) {
    for (char *at = path; at != NULL;) {
        at = strchr(at + 1, '/');
        if (at != NULL)
            *at = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST) {
            /* Above a read-only mount, or where we may not look: only the
             * last folder must be there, and realpath will say. */
            if (at == NULL)
                return refuse_errno(err, "make the folder", path);
        }
        if (at != NULL)
            *at = '/';
    }
    return HF_OK;
}

/* The folder of `given`, resolved, in `folder`; the last part is returned. */
static const char *resolve(const char *given, char folder[PATH_MAX],
                           hf_error *err) {
    char parent[PATH_MAX];
    const char *slash = strrchr(given, '/');
    const char *last = slash != NULL ? slash + 1 : given;
    size_t size = slash != NULL ? (size_t)(slash - given) : 1;

    if (*last == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        hf__fail(err, HF_EURI,
                 "%s names a folder: add the name of a file, such as locks.db",
                 given);
        return NULL;
    }
    if (size >= sizeof parent || strlen(last) > NAME_MAX - 4) {
        hf__fail(err, HF_EURI, "the path of the store is too long");
        return NULL;
    }
    snprintf(parent, sizeof parent, "%.*s", (int)size,
             slash != NULL ? given : ".");
    if (parent[0] == '\0')
        strcpy(parent, "/");
    if (realpath(parent, folder) != NULL)
        return last;
    if (errno == ENOENT && make_folders(parent, err) != HF_OK)
        return NULL;
    if (realpath(parent, folder) != NULL)
        return last;
    refuse_errno(err, "use the folder", parent);
    return NULL;
}

/* May others write there?  In a folder shared with a group the files are the
 * group's, whoever of it made them. */
static int check_folder(hf_file *file, const char *folder, hf_error *err) {
    struct stat st;

    if (stat(folder, &st) < 0)
        return refuse_errno(err, "use the folder", folder);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return hf__fail(err, HF_EFORBIDDEN,
                        "the folder %s belongs to user %u, who could change "
                        "the store: use one of your own",
                        folder, (unsigned)st.st_uid);
    if (st.st_mode & S_IWOTH)
        return hf__fail(err, HF_EFORBIDDEN,
                        "everybody may write in the folder %s: chmod o-w, or "
                        "put the store into a folder of its own",
                        folder);
    file->mode = st.st_mode & S_IWGRP ? 0660 : 0600;
    file->gid = st.st_gid;
    return HF_OK;
}

static int check_file(const hf_file *file, hf_error *err) {
    const char *path = file->path;
    bool shared = file->mode == 0660;
    struct stat st;

    if (lstat(path, &st) < 0)
        return refuse_errno(err, "use", path);
    if (S_ISLNK(st.st_mode))
        return hf__fail(err, HF_EURI,
                        "%s is a symbolic link: give the path that it leads to",
                        path);
    if (!S_ISREG(st.st_mode))
        return hf__fail(err, HF_EURI, "%s is not a file", path);
    shared = shared && st.st_gid == file->gid;
    if (!shared && st.st_uid != geteuid() && st.st_uid != 0)
        return hf__fail(err, HF_EFORBIDDEN,
                        "%s belongs to user %u: use a store of your own", path,
                        (unsigned)st.st_uid);
    if (st.st_mode & S_IWOTH || (!shared && st.st_mode & S_IWGRP))
        return hf__fail(err, HF_EFORBIDDEN, "others may write %s: chmod %s",
                        path, shared ? "o-w" : "go-w");
    return HF_OK;
}

static int check_fs(hf_file *file, const char *folder, bool allowed,
                    hf_error *err) {
    struct statfs fs;
    const char *name;

    if (statfs(folder, &fs) < 0)
        return refuse_errno(err, "examine the folder", folder);
    name = hf__file_network_fs((uint32_t)fs.f_type);
    if (name != NULL && !allowed)
        return hf__fail(err, HF_EURI,
                        "%s is on %s, where locks of this store are not safe: "
                        "use a local disk, or add ?unsafe_network_fs=1",
                        file->path, name);
    file->network = name != NULL;
    file->fs = name != NULL ? name : local_fs((uint32_t)fs.f_type);
    return HF_OK;
}

bool hf__file_share(const hf_file *file, const char *path) {
    struct stat st;

    if (file->mode != 0660 || lstat(path, &st) < 0 || st.st_uid != geteuid())
        return true;
    if (st.st_gid != file->gid &&
        fchownat(AT_FDCWD, path, (uid_t)-1, file->gid, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return S_ISLNK(st.st_mode) || (st.st_mode & 0060) == 0060 ||
           fchmodat(AT_FDCWD, path, (st.st_mode & 07777) | 0060, 0) == 0;
}

/* The mode holds whatever the umask is. */
static int make_file(const hf_file *file, hf_error *err) {
    struct stat st;

    if (lstat(file->path, &st) == 0)
        return HF_OK;
    if (mknod(file->path, S_IFREG | 0600, 0) < 0)
        return errno == EEXIST ? HF_OK : refuse_errno(err, "make", file->path);
    if (chmod(file->path, 0600) < 0 || !hf__file_share(file, file->path))
        return refuse_errno(err, "make", file->path);
    return HF_OK;
}

int hf__file_find(hf_file *ret, const hf_uri *uri, hf_error *err) {
    const char *unsafe = hf_uri_get(uri, "unsafe_network_fs");
    bool allowed = unsafe != NULL && strcmp(unsafe, "1") == 0;
    char folder[PATH_MAX];
    const char *last;
    int rc;

    memset(ret, 0, sizeof *ret);
    if (uri->path == NULL || *uri->path == '\0')
        return hf__fail(err, HF_EURI,
                        "sqlite: wants a file, such as "
                        "sqlite:/var/lib/holdfast/locks.db");
    if (unsafe != NULL && !allowed && strcmp(unsafe, "0") != 0)
        return hf__fail(err, HF_EURI, "unsafe_network_fs is 0 or 1");
    last = resolve(uri->path, folder, err);
    if (last == NULL)
        return err->code;
    if (hf__asprintf(&ret->path, "%s/%s", folder[1] ? folder : "", last) < 0)
        ret->path = NULL;
    if (ret->path == NULL || hf__asprintf(&ret->folder, "%s.d", ret->path) < 0)
        ret->folder = NULL;
    rc = ret->folder == NULL ? hf__fail_plain(err, HF_ENO_MEMORY) : HF_OK;
    if (rc == HF_OK)
        rc = check_fs(ret, folder, allowed, err);
    if (rc == HF_OK)
        rc = check_folder(ret, folder, err);
    if (rc == HF_OK)
        rc = make_file(ret, err);
    if (rc == HF_OK)
        rc = check_file(ret, err);
    if (rc != HF_OK)
        hf__file_free(ret);
    return rc;
}

void hf__file_free(hf_file *file) {
    hf__free(file->path);
    hf__free(file->folder);
    file->path = file->folder = NULL;
}
