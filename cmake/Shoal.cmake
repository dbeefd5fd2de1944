# shoal_target(<target> [TORCH_FREE]) sets a target's warnings, include root and sanitizers. Without
# TORCH_FREE, the target also links LibTorch, whose headers are system headers.

option(SHOAL_WERROR "Treat compiler warnings in our own code as errors" OFF)

set(SHOAL_WARNINGS -Wall -Wextra)
if(SHOAL_WERROR)
  list(APPEND SHOAL_WARNINGS -Werror)
endif()
# Turns off false warnings of gcc 12 about std::string::insert (gcc bug 105651) and, with the
# address sanitizer, about std::regex (gcc bug 105562).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12")
  list(APPEND SHOAL_WARNINGS -Wno-restrict)
  if(SHOAL_SANITIZE STREQUAL "address")
    list(APPEND SHOAL_WARNINGS -Wno-maybe-uninitialized)
  endif()
endif()
set(SHOAL_SANITIZE_FLAGS "")
if(SHOAL_SANITIZE STREQUAL "address")
  set(SHOAL_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(SHOAL_SANITIZE STREQUAL "thread")
  set(SHOAL_SANITIZE_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
elseif(NOT SHOAL_SANITIZE STREQUAL "")
  message(FATAL_ERROR "SHOAL_SANITIZE is '${SHOAL_SANITIZE}'; it must be empty, address or thread")
endif()

function(shoal_target target)
  cmake_parse_arguments(ARG "TORCH_FREE" "" "" ${ARGN})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${SHOAL_WARNINGS}>)
  target_link_libraries(${target} PUBLIC Threads::Threads)
  if(SHOAL_SANITIZE_FLAGS)
    set(flags ${SHOAL_SANITIZE_FLAGS})
    if(NOT ARG_TORCH_FREE)
      # UBSan triples the compile time of a file that includes LibTorch, and mostly checks
      # LibTorch's templates.
      list(TRANSFORM flags REPLACE "address,undefined" "address")
    endif()
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${flags}>)
    target_link_options(${target} PUBLIC ${SHOAL_SANITIZE_FLAGS})
  endif()
  if(NOT ARG_TORCH_FREE)
    target_link_libraries(${target} PUBLIC lt::torch)
  endif()
endfunction()
