# SPDX-License-Identifier: MIT
#
# discover.cmake - asks a test program for its tests and writes them down for
# CTest.  Run after every link; see test/CMakeLists.txt for the variables.
execute_process(COMMAND ${launcher} ${program} --list
    OUTPUT_VARIABLE names RESULT_VARIABLE status)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${program} --list failed: ${status}")
endif()
string(REGEX REPLACE "\n" ";" names "${names}")

set(text "")
foreach(name ${names})
    set(test "[==[${suite}.${name}]==]")
    # Servers that take much of the machine: one such test of a suite at a time.
    set(lock "")
    if(name MATCHES "^three\\.")
        set(lock three_${suite})
    endif()
    set(command "")
    foreach(word ${launcher} ${program} ${name})
        string(APPEND command " [==[${word}]==]")
    endforeach()
    set(alone FALSE) # who occupies the processors is unfair to its neighbours
    if(name MATCHES "two_busy_processors")
        set(alone TRUE)
    endif()
    string(APPEND text "add_test(${test}${command})\n"
        "set_tests_properties(${test} PROPERTIES LABELS ${label}"
        " TIMEOUT ${timeout} ENVIRONMENT [==[${environment}]==]"
        " FIXTURES_REQUIRED [==[${fixture}]==] RESOURCE_LOCK [==[${lock}]==]"
        " RUN_SERIAL ${alone}"
        " SKIP_REGULAR_EXPRESSION [==[\\[  SKIPPED \\]]==])\n")
endforeach()
file(WRITE ${listing} "${text}")
