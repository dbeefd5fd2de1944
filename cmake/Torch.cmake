# Defines imported targets for LibTorch. Does not use find_package(Torch): with a torch built for
# CUDA, that requires nvcc, which the CPU build must not need.
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

if(SKBUILD AND NOT TORCH_ROOT)  # pip builds a wheel: use the build environment's torch
  execute_process(COMMAND ${Python_EXECUTABLE} -c
                  "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
                  OUTPUT_VARIABLE TORCH_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
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
# Must match LibTorch's build. Without these, the c10d headers are empty, or the layout of their
# classes differs from the library's.
target_compile_definitions(lt::torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO USE_RPC USE_TENSORPIPE)
# libtorch_cpu.so may need libcudart and libcupti, which are loaded only at run time. So the linker
# must accept their symbols as undefined.
target_link_options(lt::torch INTERFACE -Wl,--allow-shlib-undefined)
target_link_libraries(lt::torch INTERFACE lt::torch_cpu lt::c10)

include(${CMAKE_CURRENT_LIST_DIR}/Cuda.cmake)

# The installed tree has torch/ and nvidia/ side by side, as LibTorch's own RPATH requires.
# libraries/ is in packages only (Package.cmake).
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib/shoal/torch/lib" "$ORIGIN/../lib/shoal/libraries" "$ORIGIN/torch/lib")
if(SKBUILD)  # site-packages contains shoal/bin and torch/lib
  set(CMAKE_INSTALL_RPATH "$ORIGIN/../../torch/lib")
endif()
# The build tree has the same folders, as links, so that the programs need no other RPATH there
# (app/CMakeLists.txt).
file(CREATE_LINK ${SHOAL_TORCH_ROOT} ${PROJECT_BINARY_DIR}/torch SYMBOLIC)
if(EXISTS ${SHOAL_TORCH_ROOT}/../nvidia)
  file(CREATE_LINK ${SHOAL_TORCH_ROOT}/../nvidia ${PROJECT_BINARY_DIR}/nvidia SYMBOLIC)
endif()
function(shoal_install_torch)
  if(SKBUILD)
    return()
  endif()
  function(install_libraries component)
    foreach(library ${ARGN})
      set(folder torch/lib)
      string(REGEX MATCH "nvidia/[^/]+/lib" nvidia ${library})
      if(nvidia)
        set(folder ${nvidia})
      endif()
      install(FILES ${library} DESTINATION lib/shoal/${folder} COMPONENT ${component})
    endforeach()
  endfunction()
  set(lib ${SHOAL_TORCH_ROOT}/lib)
  set(nvidia ${SHOAL_TORCH_ROOT}/../nvidia)
  # libtorch_cpu.so needs the CUDA runtime and CUPTI, unless torch was built without CUDA.
  file(GLOB needed ${lib}/libc10.so ${lib}/libtorch_cpu.so ${lib}/libgomp*.so* ${nvidia}/cu13/lib/libcudart.so.*
       ${nvidia}/cu13/lib/libcupti.so.*)
  install_libraries(shoal ${needed})
  if(SHOAL_HAVE_CUDA)
    file(GLOB cuda ${lib}/libc10_cuda.so ${lib}/libtorch_cuda.so ${lib}/libtorch_cuda_linalg.so ${lib}/libtorch_nvshmem.so
         ${nvidia}/*/lib/lib*.so.*)
    list(REMOVE_ITEM cuda ${needed})
    install_libraries(cuda ${cuda})
  endif()
endfunction()
