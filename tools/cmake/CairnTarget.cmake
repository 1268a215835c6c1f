# What every target of this project gets: warnings, sanitizers, include roots.

function(cairn_target target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
    -Woverloaded-virtual $<$<BOOL:${CAIRN_WERROR}>:-Werror>)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
  if(CAIRN_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${CAIRN_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${CAIRN_SANITIZE})
  endif()
  if(CAIRN_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
