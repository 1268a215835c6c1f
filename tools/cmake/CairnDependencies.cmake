# Finds every package the project uses, says what it found, and stops with advice where something is missing or does not fit
# together.

set(CAIRN_FOUND_SUMMARY "")

# Stops with the Debian package that brings what is missing.
macro(cairn_require name is_found package version location)
  if(NOT ${is_found})
    message(FATAL_ERROR "Cairn needs ${name}. On Debian and Ubuntu: apt-get install ${package} (tools/setup installs everything)")
  endif()
  list(APPEND CAIRN_FOUND_SUMMARY "${name} ${version} (${location})")
endmacro()

find_package(Threads REQUIRED)

# LibTorch before RocksDB: both bring gflags, and the target that LibTorch wants has a location only when it comes first.
if(CAIRN_WITH_TORCH)
  find_package(Torch QUIET CONFIG)
  cairn_require(LibTorch Torch_FOUND libtorch-dev "${Torch_VERSION}" "${TORCH_INSTALL_PREFIX}")
  # With a wheel and Debian's package side by side, one folder's Torch can pull in the other's c10; the program then dies before
  # main.
  set(CAIRN_TORCH_FOLDERS "")
  foreach(library IN ITEMS torch torch_cpu c10)
    if(TARGET ${library})
      get_target_property(location ${library} LOCATION)
      if(location)
        get_filename_component(folder ${location} DIRECTORY)
        file(REAL_PATH ${folder} folder)
        list(APPEND CAIRN_TORCH_FOLDERS ${folder})
      endif()
    endif()
  endforeach()
  # What TORCH_LIBRARIES names, and so every program that uses the variable.
  foreach(library IN ITEMS "${TORCH_LIBRARY}" "${c10_LIBRARY}")
    if(EXISTS "${library}")
      get_filename_component(folder ${library} DIRECTORY)
      file(REAL_PATH ${folder} folder)
      list(APPEND CAIRN_TORCH_FOLDERS ${folder})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES CAIRN_TORCH_FOLDERS)
  list(LENGTH CAIRN_TORCH_FOLDERS count)
  if(count GREATER 1)
    list(JOIN CAIRN_TORCH_FOLDERS "\n  " folders)
    message(FATAL_ERROR "LibTorch's parts come from different releases:\n  ${folders}\n"
      "For the LibTorch of a PyTorch wheel pass -DCMAKE_PREFIX_PATH=<site-packages>/torch (not .../share/cmake)")
  endif()
  # Its flags name a language level; ours decides. Its headers are not ours to warn about.
  add_library(cairn_torch INTERFACE)
  target_link_libraries(cairn_torch INTERFACE torch)
  # What users of the library compile with: our headers are C++17, those of newer LibTorch releases want more.
  set(CAIRN_PUBLIC_STANDARD 17)
  get_target_property(level torch CXX_STANDARD)
  if(level AND level GREATER CAIRN_PUBLIC_STANDARD)
    set(CAIRN_PUBLIC_STANDARD ${level})
  endif()
endif()

find_package(fmt QUIET CONFIG)
cairn_require(fmt fmt_FOUND libfmt-dev "${fmt_VERSION}" "${fmt_DIR}")

# Debian spells it Flatbuffers or FlatBuffers, by release.
find_package(FlatBuffers QUIET CONFIG)
if(NOT FlatBuffers_FOUND)
  find_package(Flatbuffers QUIET CONFIG)
endif()
find_path(CAIRN_FLATBUFFERS_INCLUDE flatbuffers/flexbuffers.h)
find_program(CAIRN_FLATC flatc)
set(CAIRN_FLATBUFFERS_FOUND FALSE)
if(CAIRN_FLATBUFFERS_INCLUDE AND CAIRN_FLATC)
  set(CAIRN_FLATBUFFERS_FOUND TRUE)
  execute_process(COMMAND ${CAIRN_FLATC} --version OUTPUT_VARIABLE CAIRN_FLATC_VERSION OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "flatc version " "" CAIRN_FLATC_VERSION "${CAIRN_FLATC_VERSION}")
endif()
cairn_require(FlatBuffers CAIRN_FLATBUFFERS_FOUND "libflatbuffers-dev flatbuffers-compiler" "${CAIRN_FLATC_VERSION}"
              "${CAIRN_FLATC}")
add_library(cairn_flatbuffers INTERFACE)
target_include_directories(cairn_flatbuffers SYSTEM INTERFACE ${CAIRN_FLATBUFFERS_INCLUDE})

find_package(CairnXxHash QUIET)
cairn_require(xxHash CairnXxHash_FOUND libxxhash-dev "${CairnXxHash_VERSION}" "${CairnXxHash_LIBRARY}")

find_package(RocksDB QUIET CONFIG)
cairn_require(RocksDB RocksDB_FOUND librocksdb-dev "${RocksDB_VERSION}" "${RocksDB_DIR}")
if(RocksDB_VERSION VERSION_LESS 7.8)
  message(FATAL_ERROR "Cairn needs RocksDB 7.8 or newer, found ${RocksDB_VERSION} in ${RocksDB_DIR}")
endif()
# Versions in which closing a read-only handle deletes the writer's live files (facebook/rocksdb#14881).
if(RocksDB_VERSION VERSION_GREATER_EQUAL 11.1 AND RocksDB_VERSION VERSION_LESS 11.6)
  message(FATAL_ERROR "RocksDB ${RocksDB_VERSION} deletes live files when a read-only handle is closed: use 11.6 or newer, or 10.x")
endif()

if(CAIRN_BUILD_TOOLS AND CAIRN_WITH_TORCH)
  find_package(CLI11 QUIET CONFIG)
  cairn_require(CLI11 CLI11_FOUND libcli11-dev "${CLI11_VERSION}" "${CLI11_DIR}")
  find_package(nlohmann_json QUIET CONFIG)
  cairn_require(nlohmann-json nlohmann_json_FOUND nlohmann-json3-dev "${nlohmann_json_VERSION}" "${nlohmann_json_DIR}")
endif()
if(CAIRN_BUILD_TESTS)
  find_package(Catch2 QUIET CONFIG)
  cairn_require(Catch2 Catch2_FOUND catch2 "${Catch2_VERSION}" "${Catch2_DIR}")
endif()

list(JOIN CAIRN_FOUND_SUMMARY "\n--   " CAIRN_FOUND_SUMMARY)
message(STATUS "Cairn ${PROJECT_VERSION} builds with\n--   ${CAIRN_FOUND_SUMMARY}")
