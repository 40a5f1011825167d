# SPDX-License-Identifier: MIT
#
# Which stores can be built here; one line is printed for each.
#
# A store that needs a client library sets HF_<STORE>, and <STORE>_LIBRARIES
# and <STORE>_INCLUDE_DIRS as pkg-config knows them.
set(hf_modules redis zookeeper etcd postgres mariadb)

# The names by which any machine's linker knows the libraries, for what others
# read: paths are this machine's.
function(hf_by_name ret)
    set(names "")
    foreach(library ${ARGN})
        if(IS_ABSOLUTE "${library}")
            get_filename_component(library "${library}" NAME_WE)
            string(REGEX REPLACE "^lib" "" library "${library}")
        endif()
        list(APPEND names ${library})
    endforeach()
    set(${ret} ${names} PARENT_SCOPE)
endfunction()

function(hf_say store text)
    string(LENGTH "${store}" width)
    math(EXPR pad "9 - ${width}")
    string(REPEAT " " ${pad} spaces)
    message("holdfast: store ${store}${spaces} ${text}")
endfunction()

pkg_check_modules(SQLITE QUIET sqlite3>=3.35)
set(HF_SQLITE ${SQLITE_FOUND})
if(HF_SQLITE)
    hf_say(sqlite "built (libsqlite3 ${SQLITE_VERSION})")
else()
    hf_say(sqlite "not built: install libsqlite3-dev")
endif()

pkg_check_modules(HIREDIS QUIET hiredis)
pkg_check_modules(OPENSSL QUIET openssl>=1.1.1)
if(HIREDIS_FOUND AND OPENSSL_FOUND)
    set(HF_REDIS ON)
    set(REDIS_LIBRARIES ${HIREDIS_LIBRARIES} ${OPENSSL_LIBRARIES})
    # Not hiredis' own folder: it is <hiredis/hiredis.h> in every version.
    set(REDIS_INCLUDE_DIRS ${OPENSSL_INCLUDE_DIRS})
    hf_say(redis "built (hiredis ${HIREDIS_VERSION}, OpenSSL ${OPENSSL_VERSION})")
else()
    set(HF_REDIS OFF)
    hf_say(redis "not built: install libhiredis-dev and libssl-dev")
endif()

# Its package brings no file for pkg-config.
find_path(ZOOKEEPER_INCLUDE_DIRS zookeeper/zookeeper.h)
find_library(ZOOKEEPER_LIBRARIES zookeeper_mt)
mark_as_advanced(ZOOKEEPER_INCLUDE_DIRS ZOOKEEPER_LIBRARIES)
if(ZOOKEEPER_INCLUDE_DIRS AND ZOOKEEPER_LIBRARIES)
    set(HF_ZOOKEEPER ON)
    file(STRINGS ${ZOOKEEPER_INCLUDE_DIRS}/zookeeper/zookeeper_version.h version
        REGEX "ZOO_VERSION \"")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" version "${version}")
    hf_say(zookeeper "built (libzookeeper_mt ${version})")
else()
    set(HF_ZOOKEEPER OFF)
    hf_say(zookeeper "not built: install libzookeeper-mt-dev")
endif()

pkg_check_modules(NGHTTP2 QUIET libnghttp2>=1.30)
if(NGHTTP2_FOUND AND OPENSSL_FOUND)
    set(HF_ETCD ON)
    set(ETCD_LIBRARIES ${NGHTTP2_LIBRARIES} ${OPENSSL_LIBRARIES})
    set(ETCD_INCLUDE_DIRS ${NGHTTP2_INCLUDE_DIRS} ${OPENSSL_INCLUDE_DIRS})
    hf_say(etcd "built (nghttp2 ${NGHTTP2_VERSION}, OpenSSL ${OPENSSL_VERSION})")
else()
    set(HF_ETCD OFF)
    hf_say(etcd "not built: install libnghttp2-dev and libssl-dev")
endif()

pkg_check_modules(PQ QUIET libpq>=10)
if(PQ_FOUND)
    set(HF_POSTGRES ON)
    set(POSTGRES_LIBRARIES ${PQ_LIBRARIES})
    set(POSTGRES_INCLUDE_DIRS ${PQ_INCLUDE_DIRS})
    hf_say(postgres "built (libpq ${PQ_VERSION})")
else()
    set(HF_POSTGRES OFF)
    hf_say(postgres "not built: install libpq-dev")
endif()

pkg_check_modules(LIBMARIADB QUIET libmariadb)
if(LIBMARIADB_FOUND AND OPENSSL_FOUND)
    set(HF_MARIADB ON)
    set(MARIADB_LIBRARIES ${LIBMARIADB_LIBRARIES} ${OPENSSL_LIBRARIES})
    set(MARIADB_INCLUDE_DIRS ${LIBMARIADB_INCLUDE_DIRS}
        ${OPENSSL_INCLUDE_DIRS})
    hf_say(mariadb "built (libmariadb ${LIBMARIADB_VERSION})")
else()
    set(HF_MARIADB OFF)
    hf_say(mariadb "not built: install libmariadb-dev and libssl-dev")
endif()
