# Installs library, headers, command line, and the package that find_package(cairn) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CAIRN_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/cairn)
install(TARGETS cairn cairn_torch EXPORT cairnTargets)
install(DIRECTORY include/cairn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/generated/cairn/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cairn)
install(EXPORT cairnTargets NAMESPACE cairn:: DESTINATION ${CAIRN_PACKAGE_DIR})
if(TARGET cairn_cli)
  file(RELATIVE_PATH library_dir /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(cairn_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${library_dir}" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS cairn_cli)
endif()

configure_package_config_file(tools/cmake/cairn-config.cmake.in ${PROJECT_BINARY_DIR}/cairn-config.cmake
                              INSTALL_DESTINATION ${CAIRN_PACKAGE_DIR})
# Until 1.0 a minor release may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cairn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cairn-config.cmake ${PROJECT_BINARY_DIR}/cairn-config-version.cmake
              tools/cmake/FindCairnXxHash.cmake
        DESTINATION ${CAIRN_PACKAGE_DIR})

# For builds without CMake. LibTorch has no .pc file, so its libraries are named by hand.
list(GET CAIRN_TORCH_FOLDERS 0 CAIRN_TORCH_LIBRARY_DIR)
get_target_property(CAIRN_TORCH_INCLUDES torch INTERFACE_INCLUDE_DIRECTORIES)
list(REMOVE_ITEM CAIRN_TORCH_INCLUDES /usr/include)
list(TRANSFORM CAIRN_TORCH_INCLUDES PREPEND "-isystem ")
list(JOIN CAIRN_TORCH_INCLUDES " " CAIRN_TORCH_INCLUDES)
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up "${up}")
set(CAIRN_PC_PREFIX "\${pcfiledir}/${up}")  # where it lies, so that an installed tree can be moved
configure_file(tools/cmake/cairn.pc.in ${PROJECT_BINARY_DIR}/cairn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cairn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
