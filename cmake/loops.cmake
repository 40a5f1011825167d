# SPDX-License-Identifier: MIT
#
# Which event loops are here, for the tests and examples of the adapters in
# include/holdfast/adapters; one line is printed for each.  The library itself
# needs none of them.  What is here is a target, hf_loop_NAME.
include_guard(GLOBAL)
set(hf_loops epoll uv event glib CACHE INTERNAL "loops that have an adapter")

add_library(hf_loop_epoll INTERFACE)

# hf_loop(NAME, its file for pkg-config, its package)
function(hf_loop name module package)
    pkg_check_modules(HF_LOOP_${name} QUIET IMPORTED_TARGET GLOBAL ${module})
    if(HF_LOOP_${name}_FOUND)
        add_library(hf_loop_${name} INTERFACE)
        target_link_libraries(hf_loop_${name} INTERFACE
            PkgConfig::HF_LOOP_${name})
        message("holdfast: loop ${name} tested (${module} ${HF_LOOP_${name}_VERSION})")
    else()
        message("holdfast: loop ${name} not tested: install ${package}")
    endif()
endfunction()
hf_loop(uv "libuv" libuv1-dev)
hf_loop(event "libevent_core" libevent-dev)
hf_loop(glib "glib-2.0" libglib2.0-dev)
