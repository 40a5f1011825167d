# SPDX-License-Identifier: MIT
#
# browser.cmake - the console's page in a real browser.  A part of
# test/CMakeLists.txt.
#
# Every console/X_test.js is a test console.page_X: node runs it, with what
# fetch.sh brought.  One browser at a time is enough for a machine.  A sanitizer
# would see nothing new there.
if(HF_SANITIZE OR NOT TARGET holdfast_console)
    return()
endif()

set(browser ${CMAKE_CURRENT_BINARY_DIR}/browser)
add_test(NAME console.browser_is_fetched
    COMMAND ${here}/console/fetch.sh ${browser})
set_tests_properties(console.browser_is_fetched PROPERTIES LABELS console
    TIMEOUT 300 SKIP_RETURN_CODE 77 FIXTURES_SETUP browser)

file(GLOB sources CONFIGURE_DEPENDS console/*_test.js)
foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE _test "" name ${name})
    add_test(NAME console.page_${name}
        COMMAND sh -c "command -v node >/dev/null || { echo 'skipped: node is not installed'; exit 77; }; exec node '${source}'")
    set_tests_properties(console.page_${name} PROPERTIES LABELS console
        TIMEOUT 900 SKIP_RETURN_CODE 77 FIXTURES_REQUIRED browser
        RESOURCE_LOCK browser
        ENVIRONMENT "${environment};HF_BUILD=${PROJECT_BINARY_DIR};HF_BROWSER=${browser}")
endforeach()
