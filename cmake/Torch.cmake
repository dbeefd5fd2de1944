# LibTorch as imported targets, without find_package(Torch), because the CPU build must not need
# nvcc.
#
#   lt::torch   for all our code: headers (as system headers), definitions, libtorch_cpu, libc10
#   lt::cuda    for the CUDA plug-in, if SHOAL_HAVE_CUDA: libtorch_cuda, libc10_cuda, CUDA runtime,
#               nccl.h
#   lt::c10 lt::torch_cpu lt::c10_cuda lt::torch_cuda   the libraries themselves, if they exist
#
# Sets SHOAL_TORCH_VERSION, SHOAL_TORCH_ROOT (the folder with lib/ and include/), SHOAL_HAVE_CUDA
# and SHOAL_CUDA_SUMMARY. Provides shoal_install_torch(). Stops if the torch found is not the
# required version.

set(SHOAL_TORCH_REQUIRED 2.11)
set(TORCH_ROOT "$ENV{TORCH_ROOT}" CACHE PATH
    "torch to build with: its folder, a site-packages folder or a virtual environment (default: .deps/libtorch)")

# Finds torch's folder, which contains lib/libtorch_cpu.so. `place` may be that folder, a
# site-packages folder or a virtual environment.
function(shoal_torch_folder place result)
  file(GLOB candidates ${place} ${place}/torch ${place}/lib/python3*/site-packages/torch)
  foreach(folder ${candidates})
    if(EXISTS ${folder}/lib/libtorch_cpu.so)
      file(REAL_PATH ${folder} folder)
      set(${result} ${folder} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "no LibTorch in ${place}: run scripts/build, which installs it, or set TORCH_ROOT to the folder "
                      "of an installed torch ${SHOAL_TORCH_REQUIRED}")
endfunction()

function(shoal_torch_version root result)
  foreach(header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS ${root}/include/${header})
      file(STRINGS ${root}/include/${header} lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]")
      if(lines)
        string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
        string(REPLACE ";" "." version "${numbers}")
        set(${result} ${version} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  set(${result} "of unknown version" PARENT_SCOPE)
endfunction()

if(TORCH_ROOT)
  shoal_torch_folder(${TORCH_ROOT} SHOAL_TORCH_ROOT)
else()
  shoal_torch_folder(${PROJECT_SOURCE_DIR}/.deps/libtorch SHOAL_TORCH_ROOT)
endif()
shoal_torch_version(${SHOAL_TORCH_ROOT} SHOAL_TORCH_VERSION)
if(NOT SHOAL_TORCH_VERSION MATCHES "^${SHOAL_TORCH_REQUIRED}\\.")
  message(FATAL_ERROR "found torch ${SHOAL_TORCH_VERSION} in ${SHOAL_TORCH_ROOT}, but shoal needs torch "
                      "${SHOAL_TORCH_REQUIRED}: name another with TORCH_ROOT, or unset it and run scripts/build")
endif()

foreach(name c10 torch_cpu c10_cuda torch_cuda)
  if(EXISTS ${SHOAL_TORCH_ROOT}/lib/lib${name}.so)
    add_library(lt::${name} SHARED IMPORTED GLOBAL)
    set_target_properties(lt::${name} PROPERTIES IMPORTED_LOCATION ${SHOAL_TORCH_ROOT}/lib/lib${name}.so)
  endif()
endforeach()

add_library(lt::torch INTERFACE IMPORTED GLOBAL)
target_include_directories(lt::torch SYSTEM INTERFACE
  ${SHOAL_TORCH_ROOT}/include ${SHOAL_TORCH_ROOT}/include/torch/csrc/api/include)
# Without these, the c10d headers are empty, or their classes have another layout than in the
# library.
target_compile_definitions(lt::torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO USE_RPC USE_TENSORPIPE)
# libtorch_cpu.so itself needs libcudart and libcupti. The loader finds them; the linker need not.
target_link_options(lt::torch INTERFACE -Wl,--allow-shlib-undefined)
target_link_libraries(lt::torch INTERFACE lt::torch_cpu lt::c10)

include(${CMAKE_CURRENT_LIST_DIR}/Cuda.cmake)

# The installed tree has torch/ and nvidia/ side by side, as LibTorch's own RPATH requires.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/shoal/torch/lib" "$ORIGIN/torch/lib")
function(shoal_install_torch)
  set(libraries c10.so torch_cpu.so gomp.so.1)
  set(cu13 ${SHOAL_TORCH_ROOT}/../nvidia/cu13/lib)
  file(GLOB nvidia ${cu13}/libcudart.so.* ${cu13}/libcupti.so.*)
  if(SHOAL_HAVE_CUDA)
    list(APPEND libraries c10_cuda.so torch_cuda.so torch_cuda_linalg.so torch_nvshmem.so)
    file(GLOB nvidia ${SHOAL_TORCH_ROOT}/../nvidia/*/lib/lib*.so.*)
  endif()
  foreach(library ${libraries})
    if(EXISTS ${SHOAL_TORCH_ROOT}/lib/lib${library})
      install(FILES ${SHOAL_TORCH_ROOT}/lib/lib${library} DESTINATION lib/shoal/torch/lib)
    endif()
  endforeach()
  foreach(library ${nvidia})
    string(REGEX MATCH "nvidia/[^/]+/lib" folder ${library})
    install(FILES ${library} DESTINATION lib/shoal/${folder})
  endforeach()
endfunction()
