# Decides whether to build the CUDA plug-in (SHOAL_CUDA=AUTO|ON|OFF). If so, creates the target
# lt::cuda.
#
# CUDA's major version and nccl.h must match LibTorch's. Otherwise the plug-in would load and then
# corrupt memory (ProcessGroupNCCL::Options contains an ncclConfig_t by value).

set(SHOAL_NCCL_REQUIRED 2.28.9) # the NCCL of torch 2.11
set(SHOAL_HAVE_CUDA OFF)

# Finds nvcc: the user's choice (CMAKE_CUDA_COMPILER or CUDACXX), then the nvidia pip wheels beside
# torch, which scripts/build fetches if no other nvcc suits (has_nvcc in scripts/setup/libtorch.sh),
# then CUDA_HOME, PATH and /usr/local/cuda.
function(shoal_find_nvcc result)
  if(CMAKE_CUDA_COMPILER)
    set(nvcc ${CMAKE_CUDA_COMPILER})
  elseif(DEFINED ENV{CUDACXX})
    set(nvcc $ENV{CUDACXX})
  else()
    find_program(nvcc nvcc HINTS ${SHOAL_TORCH_ROOT}/../nvidia/cu13/bin $ENV{CUDA_HOME}/bin
                 PATHS /usr/local/cuda/bin NO_CACHE)
  endif()
  set(${result} ${nvcc} PARENT_SCOPE)
endfunction()

# Returns the major version of the CUDA runtime that LibTorch links, or "" if torch has no CUDA.
function(shoal_torch_cuda_major result)
  set(major "")
  if(TARGET lt::c10_cuda AND TARGET lt::torch_cuda)
    file(STRINGS ${SHOAL_TORCH_ROOT}/lib/libc10_cuda.so line REGEX "libcudart\\.so\\.[0-9]+" LIMIT_COUNT 1)
    string(REGEX REPLACE ".*libcudart\\.so\\.([0-9]+).*" "\\1" major "${line}")
  endif()
  set(${result} "${major}" PARENT_SCOPE)
endfunction()

# Returns the folder and version of the first nccl.h found in NCCL_INCLUDE_DIR, the nccl wheel
# beside torch, the CUDA toolkit and the system's folders. Both are "" if there is none.
function(shoal_find_nccl toolkit folder version)
  set(${folder} "" PARENT_SCOPE)
  set(${version} "" PARENT_SCOPE)
  foreach(place ${NCCL_INCLUDE_DIR} $ENV{NCCL_INCLUDE_DIR} ${SHOAL_TORCH_ROOT}/../nvidia/nccl/include ${toolkit}
                /usr/local/include /usr/include)
    if(EXISTS ${place}/nccl.h)
      file(STRINGS ${place}/nccl.h lines REGEX "define NCCL_(MAJOR|MINOR|PATCH) +[0-9]")
      string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
      string(REPLACE ";" "." found "${numbers}")
      set(${folder} ${place} PARENT_SCOPE)
      set(${version} ${found} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Handles a dependency that is missing or does not suit: stops if SHOAL_CUDA=ON, otherwise builds
# without the plug-in.
macro(shoal_no_cuda reason remedy)
  if(SHOAL_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SHOAL_CUDA=ON, but ${reason}: ${remedy}")
  endif()
  set(SHOAL_CUDA_SUMMARY "off (${reason})")
endmacro()

set(setup "run scripts/build --cuda, which installs what is missing")
shoal_find_nvcc(nvcc)
shoal_torch_cuda_major(torch_cuda)
if(SHOAL_CUDA STREQUAL "OFF")
  set(SHOAL_CUDA_SUMMARY "off (SHOAL_CUDA=OFF)")
elseif(SHOAL_SANITIZE AND NOT SHOAL_CUDA STREQUAL "ON")
  set(SHOAL_CUDA_SUMMARY "off (sanitizers)")
elseif(NOT nvcc)
  shoal_no_cuda("nvcc is not found" "${setup}")
elseif(torch_cuda STREQUAL "")
  shoal_no_cuda("the torch in ${SHOAL_TORCH_ROOT} has no CUDA" "${setup}")
else()
  execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE nvcc_says ERROR_QUIET)
  string(REGEX REPLACE ".*release ([0-9]+\\.[0-9]+).*" "\\1" nvcc_version "${nvcc_says}")
  string(REGEX REPLACE "\\..*" "" nvcc_major "${nvcc_version}")
  get_filename_component(toolkit ${nvcc} REALPATH)
  get_filename_component(toolkit ${toolkit}/../../include ABSOLUTE)
  shoal_find_nccl(${toolkit} nccl_folder nccl_version)
  if(NOT nvcc_major STREQUAL torch_cuda)
    shoal_no_cuda("${nvcc} is from CUDA ${nvcc_version}, but torch needs CUDA ${torch_cuda}"
                  "name another nvcc with CUDACXX")
  elseif(NOT nccl_folder)
    shoal_no_cuda("nccl.h is not found" "${setup}")
  elseif(NOT nccl_version STREQUAL SHOAL_NCCL_REQUIRED)
    shoal_no_cuda("${nccl_folder} has NCCL ${nccl_version}, but torch needs ${SHOAL_NCCL_REQUIRED}"
                  "name the folder of another nccl.h with NCCL_INCLUDE_DIR")
  else()
    set(SHOAL_HAVE_CUDA ON)
    set(SHOAL_CUDA_SUMMARY "on (CUDA ${nvcc_version}, NCCL ${nccl_version})")
  endif()
endif()

if(SHOAL_HAVE_CUDA)
  set(CMAKE_CUDA_COMPILER ${nvcc})
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # Turing, Ampere (80 also covers 86 and 89), Hopper, and PTX for later GPUs. Each architecture
    # adds compile time.
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
  endif()
  if(CCACHE_PROGRAM AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared) # the one that LibTorch loads
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 17) # kernels only; CMake 3.25 does not support C++20 for nvcc
  find_package(CUDAToolkit REQUIRED)

  add_library(lt::cuda INTERFACE IMPORTED GLOBAL)
  target_include_directories(lt::cuda SYSTEM INTERFACE ${nccl_folder} ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(lt::cuda INTERFACE USE_C10D_NCCL USE_NVSHMEM)
  # libtorch_cuda's kernels register themselves in static initializers. So it must be linked even if
  # our code uses none of its symbols.
  target_link_options(lt::cuda INTERFACE -Wl,--no-as-needed)
  target_link_libraries(lt::cuda INTERFACE lt::torch lt::torch_cuda lt::c10_cuda CUDA::cudart)
endif()
