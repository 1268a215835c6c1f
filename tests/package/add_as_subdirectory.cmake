# Configures a project that adds Cairn as a subdirectory, and builds the format layer there.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})

run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${WORK} -DCAIRN_SOURCE=${CAIRN} "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}"
    -DTorch_DIR=${TORCH} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${WORK} --target cairn_format)
