# SPDX-License-Identifier: MIT
#
# What `make install` puts where: one rule for pkg-config and CMake users.
include(CMakePackageConfigHelpers)

# Whatever lies in include/ is public.
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS holdfast holdfast_static EXPORT holdfast
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(store ${hf_modules})
    if(TARGET holdfast_${store})
        install(TARGETS holdfast_${store}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/holdfast)
    endif()
endforeach()
if(TARGET holdfast_command)
    install(TARGETS holdfast_command
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET holdfast_console)
    install(TARGETS holdfast_console
        RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/holdfast)
    # systemd's folder has one name, whatever libraries' is.
    set(HF_UNIT_DIR lib/systemd/system CACHE STRING "where systemd's units go")
    configure_file(console/holdfast-serve.service.in holdfast-serve.service
        @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/holdfast-serve.service
        DESTINATION ${HF_UNIT_DIR})
endif()
install(FILES cli/completion.bash RENAME holdfast
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES cli/completion.zsh RENAME _holdfast
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES cli/completion.fish RENAME holdfast.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

install(DIRECTORY guard/ DESTINATION ${CMAKE_INSTALL_DATADIR}/holdfast/guard)
install(FILES monitoring/grafana-dashboard.json monitoring/alerts.yml
    DESTINATION ${CMAKE_INSTALL_DATADIR}/holdfast/monitoring)

# ---- for pkg-config ---------------------------------------------------------
# What libholdfast.a wants: its own libraries by name, so that holdfast.pc asks
# for no store's development files (pkg-config wants every package that
# Requires.private names, even to tell of a header); holdfast-static.pc does.
set(HF_LIBS_PRIVATE ${CMAKE_DL_LIBS})
set(HF_REQUIRES_PRIVATE "")
if(HF_SQLITE)
    list(APPEND HF_LIBS_PRIVATE ${SQLITE_LIBRARIES})
    list(APPEND HF_REQUIRES_PRIVATE sqlite3)
endif()
set(packages_redis hiredis openssl)
set(packages_zookeeper "") # has none
set(packages_etcd libnghttp2 openssl)
set(packages_postgres "") # its own wants libraries of a static libpq
set(packages_mariadb libmariadb openssl)
foreach(store ${hf_modules})
    if(TARGET holdfast_${store})
        string(TOUPPER ${store} STORE)
        hf_by_name(names ${${STORE}_LIBRARIES})
        list(APPEND HF_LIBS_PRIVATE ${names})
        list(APPEND HF_REQUIRES_PRIVATE ${packages_${store}})
    endif()
endforeach()
list(REMOVE_DUPLICATES HF_LIBS_PRIVATE)
list(REMOVE_DUPLICATES HF_REQUIRES_PRIVATE)
list(TRANSFORM HF_LIBS_PRIVATE PREPEND -l)
list(JOIN HF_LIBS_PRIVATE " " HF_LIBS_PRIVATE)
list(JOIN HF_REQUIRES_PRIVATE " " HF_REQUIRES_PRIVATE)

# Counted from the file itself, so that the tree may be moved.
function(hf_from_prefix ret dir)
    if(IS_ABSOLUTE "${dir}")
        set(${ret} "${dir}" PARENT_SCOPE)
    else()
        set(${ret} "\${prefix}/${dir}" PARENT_SCOPE)
    endif()
endfunction()
hf_from_prefix(HF_PC_LIBDIR "${CMAKE_INSTALL_LIBDIR}")
hf_from_prefix(HF_PC_INCLUDEDIR "${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(HF_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
    string(REGEX REPLACE "/$" "" up "${up}")
    set(HF_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(name holdfast holdfast-static)
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    # /usr is not moved, and its plain name pkg-config leaves out of flags.
    install(CODE "
        if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
            set(pc \"\$ENV{DESTDIR}/usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig/${name}.pc\")
            file(READ \${pc} text)
            string(REGEX REPLACE \"prefix=[^\n]*\" \"prefix=/usr\" text \"\${text}\")
            file(WRITE \${pc} \"\${text}\")
        endif()")
endforeach()

# ---- for CMake ---------------------------------------------------------------
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfast-targets.cmake
    DESTINATION ${package})
set(HF_MODULE_DIR ${CMAKE_INSTALL_LIBDIR}/holdfast)
configure_package_config_file(cmake/holdfast-config.cmake.in
    holdfast-config.cmake INSTALL_DESTINATION ${package}
    PATH_VARS HF_MODULE_DIR)
write_basic_package_version_file(holdfast-config-version.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/holdfast-config.cmake
    ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
    DESTINATION ${package})
