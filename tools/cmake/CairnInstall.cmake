# Installs library, headers, command line, and the package that find_package(cairn) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CAIRN_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/cairn)
install(TARGETS cairn cairn_torch EXPORT cairnTargets)
install(DIRECTORY include/cairn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/generated/cairn/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cairn)
install(EXPORT cairnTargets NAMESPACE cairn:: DESTINATION ${CAIRN_PACKAGE_DIR})
if(TARGET cairn_cli)
  install(TARGETS cairn_cli)
endif()

configure_package_config_file(tools/cmake/cairn-config.cmake.in ${PROJECT_BINARY_DIR}/cairn-config.cmake
                              INSTALL_DESTINATION ${CAIRN_PACKAGE_DIR})
# Until 1.0 a minor release may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cairn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cairn-config.cmake ${PROJECT_BINARY_DIR}/cairn-config-version.cmake
              tools/cmake/FindCairnXxHash.cmake
        DESTINATION ${CAIRN_PACKAGE_DIR})
