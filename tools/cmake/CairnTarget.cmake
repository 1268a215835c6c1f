# What every target of this project gets: warnings, sanitizers, include roots.

# Sanitizers alone, for programs that stand for a user's.
function(cairn_sanitize target)
  if(CAIRN_SANITIZE)
    list(JOIN CAIRN_SANITIZE "," kinds)
    target_compile_options(${target} PRIVATE -fsanitize=${kinds} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${kinds})
  endif()
endfunction()

function(cairn_target target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
    -Woverloaded-virtual $<$<BOOL:${CAIRN_WERROR}>:-Werror>)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
  cairn_sanitize(${target})
  if(CAIRN_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
