# xxHash, which comes without a CMake package. Target CairnXxHash::xxhash. Installed beside the package configuration, since a
# static libcairn needs it as well.
find_path(CairnXxHash_INCLUDE_DIR xxhash.h)
find_library(CairnXxHash_LIBRARY xxhash)
if(CairnXxHash_INCLUDE_DIR)
  file(STRINGS ${CairnXxHash_INCLUDE_DIR}/xxhash.h lines REGEX "#define XXH_VERSION_(MAJOR|MINOR|RELEASE) +[0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  string(REPLACE ";" "." CairnXxHash_VERSION "${numbers}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CairnXxHash REQUIRED_VARS CairnXxHash_LIBRARY CairnXxHash_INCLUDE_DIR
                                  VERSION_VAR CairnXxHash_VERSION)
if(CairnXxHash_FOUND AND NOT TARGET CairnXxHash::xxhash)
  add_library(CairnXxHash::xxhash UNKNOWN IMPORTED)
  set_target_properties(CairnXxHash::xxhash PROPERTIES
    IMPORTED_LOCATION ${CairnXxHash_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${CairnXxHash_INCLUDE_DIR})
endif()
mark_as_advanced(CairnXxHash_INCLUDE_DIR CairnXxHash_LIBRARY)
