# Finds OpenCV's core and imgproc as imported targets (opencv_core, opencv_imgproc). OpenCV's own
# CMake files come only with libopencv-dev, which installs hundreds of packages. We need only the
# headers and libraries of two modules.

find_path(OpenCV_INCLUDE_DIR opencv2/core.hpp PATH_SUFFIXES opencv4)
find_path(OpenCV_CONFIG_DIR opencv2/cvconfig.h PATH_SUFFIXES opencv4 ${CMAKE_LIBRARY_ARCHITECTURE}/opencv4)
set(OpenCV_LIBS "")
foreach(module ${OpenCV_FIND_COMPONENTS})
  find_library(OpenCV_${module}_LIBRARY opencv_${module})
  find_path(OpenCV_${module}_HEADER opencv2/${module}.hpp HINTS ${OpenCV_INCLUDE_DIR})
  if(OpenCV_${module}_LIBRARY AND OpenCV_${module}_HEADER)
    set(OpenCV_${module}_FOUND TRUE)
  endif()
endforeach()
if(OpenCV_INCLUDE_DIR)
  file(STRINGS ${OpenCV_INCLUDE_DIR}/opencv2/core/version.hpp lines REGEX "define CV_VERSION_(MAJOR|MINOR|REVISION) ")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  string(REPLACE ";" "." OpenCV_VERSION "${numbers}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenCV REQUIRED_VARS OpenCV_INCLUDE_DIR OpenCV_CONFIG_DIR
                                  VERSION_VAR OpenCV_VERSION HANDLE_COMPONENTS)
if(OpenCV_FOUND)
  foreach(module ${OpenCV_FIND_COMPONENTS})
    if(NOT TARGET opencv_${module})
      add_library(opencv_${module} SHARED IMPORTED GLOBAL)
      set_target_properties(opencv_${module} PROPERTIES IMPORTED_LOCATION ${OpenCV_${module}_LIBRARY})
      target_include_directories(opencv_${module} SYSTEM INTERFACE ${OpenCV_INCLUDE_DIR} ${OpenCV_CONFIG_DIR})
    endif()
    list(APPEND OpenCV_LIBS opencv_${module})
  endforeach()
  set(OpenCV_INCLUDE_DIRS ${OpenCV_INCLUDE_DIR} ${OpenCV_CONFIG_DIR})
endif()
