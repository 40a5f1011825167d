# SPDX-License-Identifier: MIT
#
# Which stores can be built here; one line is printed for each.
#
# A store that needs a client library sets HF_<STORE>, and <STORE>_LIBRARIES
# and <STORE>_INCLUDE_DIRS as pkg-config knows them.
function(hf_say store text)
    string(LENGTH "${store}" width)
    math(EXPR pad "7 - ${width}")
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
