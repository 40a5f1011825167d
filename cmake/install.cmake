# SPDX-License-Identifier: MIT
#
# What `make install` puts where: one rule for pkg-config and CMake users.
include(CMakePackageConfigHelpers)

install(FILES include/holdfast.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/holdfast/backend.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/holdfast)
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
    install(FILES console/holdfast-serve.service
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/systemd/system)
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

# libholdfast.a wants what its stores want.
set(HF_REQUIRES "")
if(HF_SQLITE)
    string(APPEND HF_REQUIRES " sqlite3")
endif()
if(HF_REDIS)
    string(APPEND HF_REQUIRES " hiredis openssl")
endif()
if(HF_ETCD)
    string(APPEND HF_REQUIRES " libnghttp2 openssl")
endif()
if(TARGET holdfast_mariadb)
    string(APPEND HF_REQUIRES " libmariadb")
endif()
set(HF_LIBS_PRIVATE "")
if(HF_ZOOKEEPER)
    string(APPEND HF_LIBS_PRIVATE " -lzookeeper_mt")
endif()
if(TARGET holdfast_postgres) # its package wants libraries of a static libpq
    string(APPEND HF_LIBS_PRIVATE " -lpq")
endif()
configure_file(cmake/holdfast.pc.in holdfast.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfast-targets.cmake
    DESTINATION ${package})
configure_package_config_file(cmake/holdfast-config.cmake.in
    holdfast-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(holdfast-config-version.cmake
    COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/holdfast-config.cmake
    ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
    DESTINATION ${package})
