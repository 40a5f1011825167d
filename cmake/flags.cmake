# SPDX-License-Identifier: MIT
#
# How everything is compiled: `hf_flags` is linked by every target of ours.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

add_library(hf_flags INTERFACE)
target_compile_definitions(hf_flags INTERFACE _GNU_SOURCE)
target_compile_options(hf_flags INTERFACE
    -Wall -Wextra -Wshadow -Wformat=2 -Wvla -Wimplicit-fallthrough
    "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-Wmissing-prototypes>"
    $<$<COMPILE_LANG_AND_ID:C,Clang>:-Wthread-safety>
    $<$<BOOL:${HF_WERROR}>:-Werror>)
target_link_options(hf_flags INTERFACE
    -Wl,--as-needed -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

if(HF_SANITIZE STREQUAL "address")
    set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(HF_SANITIZE STREQUAL "thread")
    set(sanitize -fsanitize=thread)
elseif(HF_SANITIZE)
    message(FATAL_ERROR "HF_SANITIZE=${HF_SANITIZE}: say address or thread")
endif()

if(HF_SANITIZE)
    target_compile_options(hf_flags INTERFACE
        -O1 -g -fno-omit-frame-pointer ${sanitize})
    target_link_options(hf_flags INTERFACE ${sanitize})
else()
    # Some belong to one processor only, hence the question.  Fortifying wants
    # an optimising build; the sanitizers bring checks of their own.
    foreach(flag -fstack-protector-strong -fstack-clash-protection
                 -fcf-protection)
        string(MAKE_C_IDENTIFIER "HF_HAS${flag}" known)
        check_c_compiler_flag(${flag} ${known})
        if(${known})
            target_compile_options(hf_flags INTERFACE ${flag})
        endif()
    endforeach()
    target_compile_definitions(hf_flags INTERFACE
        $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:_FORTIFY_SOURCE=2>)
endif()
