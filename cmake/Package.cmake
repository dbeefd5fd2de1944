# cpack makes a .deb and a .tar.gz with the programs and the libraries that they need. The packages
# leave out the C and C++ runtime libraries, so that the programs also run on newer distributions:
#
#   scripts/build && (cd build/release && cpack)
#
# The packages contain the CUDA plug-in and NVIDIA's libraries only if the build has the plug-in and
# NVIDIA's libraries were beside LibTorch when the build was configured. The programs find libraries
# relative to their own folder (CMAKE_INSTALL_RPATH). OpenCV's imgcodecs, which images other than
# JPEG need, is not included, because its 130 libraries take 185 MB. scripts/package_check installs
# the packages on bare systems and trains there.
if(NOT SKBUILD)
  install(RUNTIME_DEPENDENCY_SET programs
    PRE_EXCLUDE_REGEXES "^lib(c|m|dl|rt|pthread|util|resolv|stdc\\+\\+|gcc_s)\\.so" "^ld-linux"
                        "^lib(torch_cpu|c10|gomp|cudart|cupti)[.-]"
    DESTINATION lib/shoal/libraries COMPONENT libraries)
endif()
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # cpack does not build first: that would build the tests
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME shoal)
set(CPACK_PACKAGE_VENDOR shoal)
set(CPACK_PACKAGE_CONTACT "shoal's maintainers <shoal@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Trains image classifiers")
set(CPACK_PACKAGE_FILE_NAME shoal-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "ca-certificates, libc6 (>= 2.36), libgcc-s1 (>= 12), libstdc++6 (>= 12)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libopencv-imgcodecs406)
# Leaves out the CUDA plug-in if the packages would not contain NVIDIA's libraries: another machine
# could not load it.
if(NOT EXISTS ${SHOAL_TORCH_ROOT}/../nvidia/cudnn/lib)
  set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};shoal;shoal;/;${PROJECT_BINARY_DIR};shoal;libraries;/")
  if(TARGET shoal_cuda)
    message(STATUS "cpack leaves out the CUDA plug-in: NVIDIA's libraries are not beside ${SHOAL_TORCH_ROOT}")
  endif()
endif()
include(CPack)
