# SPDX-License-Identifier: MIT
#
# loops.cmake - the adapters for event loops: one suite for all of them, their
# examples, and their headers as strict compilers see them.  A part of
# test/CMakeLists.txt.
include(${PROJECT_SOURCE_DIR}/cmake/loops.cmake)

add_library(test_loop STATIC loops/loop.c)
target_link_libraries(test_loop PRIVATE test_support)

foreach(loop ${hf_loops})
    if(NOT TARGET hf_loop_${loop})
        continue()
    endif()
    set(name loop_${loop}_test)
    add_executable(${name} loops/${loop}_test.c)
    target_link_libraries(${name} PRIVATE
        test_loop test_support hf_loop_${loop})
    discovered(${name} loops ${name} "")

    add_test(NAME loops.the_${loop}_example_sells_every_ticket_once
        COMMAND ${launcher} ${here}/loops/example.sh
            $<TARGET_FILE:example-loop-${loop}>)
    set_tests_properties(loops.the_${loop}_example_sells_every_ticket_once
        PROPERTIES LABELS loops TIMEOUT ${test_timeout}
        ENVIRONMENT "${environment}")
    if(NOT HF_SANITIZE)
        add_test(NAME loops.${loop}_h_is_strict_c_and_cpp
            COMMAND ${here}/loops/strict.sh ${CMAKE_C_COMPILER} ${loop})
        set_tests_properties(loops.${loop}_h_is_strict_c_and_cpp PROPERTIES
            LABELS loops TIMEOUT 60 SKIP_RETURN_CODE 77)
    endif()
endforeach()
