# Checks a tree against the table of layers in src/README.md: cmake -DROOT=<tree> -P check_includes.cmake
#
# Also: no source over 400 lines, none with bytes outside ASCII, and torch/torch.h in programs and tests alone.
cmake_minimum_required(VERSION 3.22)
set(problems "")

# Public headers that need only the standard library: every layer may include them.
set(plain "cairn/(error|value|checkpoint_info|history|progress|query|retention|version)\\.h")
set(std "[a-z_0-9]+|sys/[a-z_0-9]+\\.h|(unistd|fcntl|emmintrin)\\.h")
set(torch "(ATen|c10|torch)/.*")
set(rocksdb "rocksdb/.*")

# check(<patterns of files> <regex of includes that are allowed>)
function(check patterns allowed)
  list(TRANSFORM patterns PREPEND ${ROOT}/)
  file(GLOB_RECURSE files ${patterns})
  foreach(file IN LISTS files)
    file(STRINGS ${file} lines REGEX "^ *# *include +[<\"]")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^ *# *include +[<\"]([^>\"]+)[>\"].*" "\\1" include "${line}")
      if(NOT include MATCHES "^(${allowed})$" OR include STREQUAL "torch/torch.h")
        file(RELATIVE_PATH name ${ROOT} ${file})
        string(APPEND problems "\n${name} includes ${include}")
      endif()
    endforeach()
  endforeach()
  set(problems "${problems}" PARENT_SCOPE)
endfunction()

# Every file of a layer's folder, and those it has below.
function(check_layer folder allowed)
  check("${folder}/*.h;${folder}/*.cpp" "${allowed}")
  set(problems "${problems}" PARENT_SCOPE)
endfunction()

check_layer(include/cairn "${std}|cairn/.*|ATen/core/Tensor\\.h")
check_layer(src/format "${std}|${plain}|format/.*|fmt/.*|flatbuffers/.*|xxhash\\.h|xxh_x86dispatch\\.h")
check_layer(src/storage "${std}|${plain}|format/.*|storage/.*|fmt/.*|${rocksdb}")
check_layer(src/state "${std}|cairn/.*|format/.*|state/.*|fmt/.*|${torch}")
check_layer(src/query "${std}|cairn/.*|query/.*|fmt/.*|sqlite3\\.h")
check_layer(src/interop "${std}|cairn/.*|interop/.*|fmt/.*|nlohmann/.*|${torch}")

# Where the layers meet: all of ours, but neither RocksDB nor FlatBuffers themselves.
file(GLOB meeting RELATIVE ${ROOT} ${ROOT}/src/*.h ${ROOT}/src/*.cpp)
check("${meeting}" "${std}|[a-z_]+\\.h|(cairn|format|storage|state|query|interop)/.*|fmt/.*|${torch}")

file(GLOB_RECURSE sources ${ROOT}/include/*.h ${ROOT}/src/*.h ${ROOT}/src/*.cpp ${ROOT}/tools/*.h ${ROOT}/tools/*.cpp
     ${ROOT}/tests/*.h ${ROOT}/tests/*.cpp ${ROOT}/schemas/*.fbs)
foreach(file IN LISTS sources)
  file(RELATIVE_PATH name ${ROOT} ${file})
  file(READ ${file} text)  # not file(STRINGS), which skips what is not ASCII
  if(text MATCHES "[^\t\n -~]")
    string(APPEND problems "\n${name} has characters outside ASCII")
  endif()
  string(REGEX MATCHALL "\n" newlines "${text}")
  list(LENGTH newlines count)
  if(count GREATER 400)
    string(APPEND problems "\n${name} has ${count} lines")
  endif()
endforeach()

if(NOT sources)
  message(FATAL_ERROR "no sources under '${ROOT}'")
endif()
if(problems)
  message(FATAL_ERROR "layers:${problems}")
endif()
