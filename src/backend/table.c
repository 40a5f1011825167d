/* SPDX-License-Identifier: MIT
 *
 * table.c - the one list of stores.
 *
 * A store that needs a big client library is a module, holdfast/holdfast-X.so
 * beside the library itself, loaded when an address first asks for it: who
 * uses one store does not install, load or trust the others.  The static
 * library has everything in it. */
#include "table.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../err.h"
#include "../log.h"

extern const hf_backend_ops hf__memory_ops;
#ifdef HF_WITH_SQLITE
extern const hf_backend_ops hf__sqlite_ops;
#endif
#ifdef HF_WITH_REDIS
extern const hf_backend_ops hf__redis_ops;
#endif
#ifdef HF_WITH_ZOOKEEPER
extern const hf_backend_ops hf__zookeeper_ops;
#endif
#ifdef HF_WITH_ETCD
extern const hf_backend_ops hf__etcd_ops;
#endif
#ifdef HF_WITH_POSTGRES
extern const hf_backend_ops hf__postgres_ops;
#endif
#ifdef HF_WITH_MARIADB
extern const hf_backend_ops hf__mariadb_ops;
#endif

typedef struct store {
    const char *scheme;
    const hf_backend_ops *ops; /* NULL: in the module, or not built */
    const char *module;
    const char *package; /* what to install when it is missing: Debian's name */
} store;

#ifdef HF_WITH_SQLITE
#define SQLITE &hf__sqlite_ops
#else
#define SQLITE NULL
#endif
#ifdef HF_WITH_REDIS
#define REDIS &hf__redis_ops
#else
#define REDIS NULL
#endif
#ifdef HF_WITH_ZOOKEEPER
#define ZOOKEEPER &hf__zookeeper_ops
#else
#define ZOOKEEPER NULL
#endif
#ifdef HF_WITH_ETCD
#define ETCD &hf__etcd_ops
#else
#define ETCD NULL
#endif
#ifdef HF_WITH_POSTGRES
#define POSTGRES &hf__postgres_ops
#else
#define POSTGRES NULL
#endif
#ifdef HF_WITH_MARIADB
#define MARIADB &hf__mariadb_ops
#else
#define MARIADB NULL
#endif

static const store stores[] = {
    {"memory", &hf__memory_ops, NULL, NULL},
    {"sqlite", SQLITE, NULL, "libsqlite3-dev, and build holdfast again"},
    {"redis", REDIS, "redis", "libholdfast-redis1"},
    {"redis+unix", REDIS, "redis", "libholdfast-redis1"},
    {"redis+sentinel", REDIS, "redis", "libholdfast-redis1"},
    {"redis+cluster", REDIS, "redis", "libholdfast-redis1"},
    {"redlock", REDIS, "redis", "libholdfast-redis1"},
    {"zk", ZOOKEEPER, "zookeeper", "libholdfast-zookeeper1"},
    {"etcd", ETCD, "etcd", "libholdfast-etcd1"},
    {"postgresql", POSTGRES, "postgres", "libholdfast-postgresql1"},
    {"mariadb", MARIADB, "mariadb", "libholdfast-mariadb1"},
};

enum { N_STORES = sizeof stores / sizeof stores[0] };

/* Beside the object that this code is in, wherever links to it stand. */
static int module_path(char *buf, size_t size, const char *module) {
    Dl_info info;
    char self[PATH_MAX], *slash;

    if (!dladdr(stores, &info) || !realpath(info.dli_fname, self))
        return -1;
    slash = strrchr(self, '/');
    snprintf(buf, size, "%.*s/holdfast/holdfast-%s.so", (int)(slash - self),
             self, module);
    return 0;
}

static int load(const hf_backend_ops **ret, const store *s, const hf_host *host,
                hf_error *err) {
    char path[4096];
    void *object, *before;
    const hf_module *found;

    if (module_path(path, sizeof path, s->module) < 0)
        return hf__fail(err, HF_ESYSTEM,
                        "cannot tell where libholdfast was loaded from");
    before = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    object = before ? before : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return hf__fail(err, HF_ENO_STORE,
                        "the store '%s' is not part of this installation: "
                        "install %s (%s)",
                        s->scheme, s->package, dlerror());
    found = dlsym(object, HF_MODULE_SYMBOL);
    if (!found || found->abi != HF_MODULE_ABI)
        return hf__fail(err, HF_ENO_STORE,
                        "%s belongs to another version of holdfast", path);
    if (host && !before)
        hf__log(host, HF_LOG_INFO, "a module was loaded", {"module", path});
    *ret = found->ops;
    return HF_OK;
}

int hf__table_find(const hf_backend_ops **ret, const char *scheme,
                   const hf_host *host, hf_error *err) {
    for (int i = 0; i < N_STORES; i++) {
        if (strcmp(stores[i].scheme, scheme) != 0)
            continue;
        if (stores[i].ops) {
            *ret = stores[i].ops;
            return HF_OK;
        }
        if (stores[i].module)
            return load(ret, &stores[i], host, err);
        return hf__fail(err, HF_ENO_STORE,
                        "the store '%s' is not in this build: install %s",
                        scheme, stores[i].package);
    }
    return hf__fail(err, HF_ENO_STORE,
                    "holdfast " HF_VERSION " has no store '%s'; it has: %s",
                    scheme, hf_stores());
}

const char *hf_stores(void) {
#ifdef HF_WITH_SQLITE
    return "sqlite redis redis+unix redis+sentinel redis+cluster redlock zk "
           "etcd postgresql mariadb memory";
#else
    return "redis redis+unix redis+sentinel redis+cluster redlock zk etcd "
           "postgresql mariadb memory";
#endif
}
