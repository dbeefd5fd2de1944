# cpack makes a .deb and a .tar.gz with the programs and LibTorch's libraries:
#
#   SHOAL_CUDA=OFF scripts/build && (cd build/release && cpack)
#
# In a build with the CUDA plug-in, they also contain its libraries. The programs find LibTorch
# relative to their own folder (CMAKE_INSTALL_RPATH). The .deb depends on Debian's packages for the
# other libraries; with the .tar.gz, install them as docs/training.md says.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # cpack packs what is built, and builds no tests
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME shoal)
set(CPACK_PACKAGE_VENDOR shoal)
set(CPACK_PACKAGE_CONTACT "shoal's maintainers <shoal@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Trains image classifiers (EfficientNet, ResNet)")
set(CPACK_PACKAGE_FILE_NAME shoal-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Keep equal to the lists in the Dockerfile and docs/training.md, except for what every Debian has.
set(CPACK_DEBIAN_PACKAGE_DEPENDS
  "ca-certificates, libc6, libcpp-httplib0.11, libcurl4, libgcc-s1, libjpeg62-turbo, libopencv-imgcodecs406, libopencv-imgproc406, libspdlog1.10, libssl3, libstdc++6, zlib1g")
include(CPack)
