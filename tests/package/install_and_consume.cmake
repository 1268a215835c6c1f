# Installs a build into a folder of its own, then configures, builds and runs the consumer against it.
cmake_minimum_required(VERSION 3.22)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${WORK}/build "-DCMAKE_PREFIX_PATH=${WORK}/prefix;${PREFIX_PATH}"
    -DTorch_DIR=${TORCH} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_BUILD_TYPE=Release)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer ${WORK}/store.cairn)
run(${WORK}/prefix/bin/cairn log ${WORK}/store.cairn)
