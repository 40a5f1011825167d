# SPDX-License-Identifier: MIT
#
# peers.cmake - other people's clients, and the tests that share locks with
# them.  A part of test/CMakeLists.txt.
#
# Every interop/PEER_X_test.c is run once for each library that interop/PEER/
# build.sh brings, as PEERlib_X_test: redisson3_locks_test.  A sanitizer would
# see nothing new there.
if(HF_SANITIZE)
    return()
endif()

# built(PEER): the test that builds it before those that need it.  Java and Go
# take their time when they fetch for the first time.
function(built peer)
    add_test(NAME interop.${peer}_is_built
        COMMAND ${here}/interop/${peer}/build.sh
            ${CMAKE_CURRENT_BINARY_DIR}/${peer})
    set_tests_properties(interop.${peer}_is_built PROPERTIES LABELS interop
        TIMEOUT 300 SKIP_RETURN_CODE 77 FIXTURES_SETUP ${peer})
endfunction()
built(redisson)
built(curator)
built(shedlock)
built(kazoo)
built(etcd)
built(redsync)

add_library(test_strangers STATIC interop/stranger.c interop/java.c
    interop/redisson.c interop/both.c interop/curator.c interop/shedlock.c
    interop/kazoo.c interop/etcd.c)
target_link_libraries(test_strangers PUBLIC test_support)

# shared(PROGRAM SUITE FIXTURES SETTING...)
function(shared name suite fixtures)
    discovered(${name} interop ${suite} "${fixtures}"
        HF_REDISSON=${CMAKE_CURRENT_BINARY_DIR}/redisson
        HF_CURATOR=${CMAKE_CURRENT_BINARY_DIR}/curator
        HF_SHEDLOCK=${CMAKE_CURRENT_BINARY_DIR}/shedlock
        HF_KAZOO=${CMAKE_CURRENT_BINARY_DIR}/kazoo
        HF_ETCD=${CMAKE_CURRENT_BINARY_DIR}/etcd ${ARGN})
endfunction()

file(GLOB sources CONFIGURE_DEPENDS interop/*_test.c)
foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE test_strangers)
    add_dependencies(${name} hf-peer hf-lender hf-skew)
    if(name MATCHES "^redisson_")
        set(fixtures redisson)
        if(name MATCHES "cluster|sentinel")
            list(APPEND fixtures lent_${CMAKE_MATCH_0})
        endif()
        foreach(line 3 4)
            string(REPLACE redisson_ redisson${line}_ suite ${name})
            shared(${name} ${suite} "${fixtures}" HF_REDISSON_LIB=lib${line})
        endforeach()
    elseif(name MATCHES "^curator_")
        foreach(line 54 59)
            string(REPLACE curator_ curator${line}_ suite ${name})
            shared(${name} ${suite} "curator;lent_zookeeper"
                HF_CURATOR_LIB=lib${line})
        endforeach()
    elseif(name MATCHES "^shedlock_")
        foreach(sort postgres mariadb)
            string(REPLACE shedlock_ shedlock_${sort}_ suite ${name})
            shared(${name} ${suite} "shedlock;lent_${sort}"
                HF_SHEDLOCK_DB=${sort})
        endforeach()
    elseif(name MATCHES "^kazoo_")
        string(REPLACE kazoo_ kazoo28_ old ${name})
        string(REPLACE kazoo_ kazoo211_ new ${name})
        set(fixtures curator kazoo lent_zookeeper)
        shared(${name} ${old} "${fixtures}" HF_KAZOO_LIB=lib28
            HF_CURATOR_LIB=lib54)
        shared(${name} ${new} "${fixtures}" HF_KAZOO_LIB=lib211
            HF_CURATOR_LIB=lib59)
    else()
        shared(${name} ${name} "etcd;lent_etcd")
    endif()
endforeach()
