# SPDX-License-Identifier: MIT
#
# Tests of holdfast.hpp: every *_test.cpp is a program, as those in C are.
include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
    message("holdfast: the tests of holdfast.hpp are left out: there is no C++ compiler")
    return()
endif()
enable_language(CXX)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(check_cpp OBJECT cpp/check.cpp)
target_link_libraries(check_cpp PUBLIC test_support)
target_compile_features(check_cpp PUBLIC cxx_std_17)
target_compile_options(check_cpp PUBLIC -Wpedantic -Wconversion)

# Templates take their time to compile, and three times that with sanitizers:
# so without optimising, and only what converts numbers with all of them.
file(GLOB sources CONFIGURE_DEPENDS cpp/*.cpp)
set_source_files_properties(${sources} PROPERTIES
    COMPILE_OPTIONS "-O0;-U_FORTIFY_SOURCE")
if(HF_SANITIZE STREQUAL "address")
    set(others ${sources})
    list(FILTER others EXCLUDE REGEX "types_test")
    set_property(SOURCE ${others} APPEND PROPERTY
        COMPILE_OPTIONS -fno-sanitize=undefined)
endif()
list(FILTER sources INCLUDE REGEX "_test\\.cpp$")
foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    set(name cpp_${name})
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE check_cpp)
    discovered(${name} cpp ${name} "")
endforeach()

# One program of two units, of two standards.
target_sources(cpp_units_test PRIVATE cpp/unit20.cpp)
set_property(SOURCE ${here}/cpp/unit20.cpp APPEND PROPERTY
    COMPILE_OPTIONS -std=c++20)
target_compile_options(cpp_no_exceptions_test PRIVATE
    -fno-exceptions -fno-rtti)

if(NOT HF_SANITIZE)
    add_test(NAME cpp.the_header_pleases_strict_compilers
        COMMAND ${here}/cpp/strict.sh ${PROJECT_SOURCE_DIR}/include)
    add_test(NAME cpp.what_the_pages_show_runs
        COMMAND ${here}/cpp/pages.sh ${PROJECT_BINARY_DIR}
            ${CMAKE_CXX_COMPILER})
    set_tests_properties(cpp.the_header_pleases_strict_compilers
        cpp.what_the_pages_show_runs PROPERTIES LABELS cpp TIMEOUT 180
        ENVIRONMENT "${environment}")
endif()
