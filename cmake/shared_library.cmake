# libcubinet.so: the layers that an engine needs, in one file, with only the public interface visible.
# It takes the layers' objects, not their archives, because --exclude-libs hides what comes from
# archives: the third-party libraries. Run-time libraries stay shared, as an engine already has them.
function(cubinet_shared_library)
  set(map ${PROJECT_SOURCE_DIR}/cmake/libcubinet.map)
  add_library(cubinet SHARED)
  foreach(layer ${ARGN})
    target_sources(cubinet PRIVATE $<TARGET_OBJECTS:cubinet_${layer}>)
  endforeach()
  target_include_directories(cubinet PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(cubinet PRIVATE cubinet::sqlite cubinet::crypto cubinet::zstd cubinet::system)
  target_link_options(cubinet PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${map})
  if(NOT CUBINET_SANITIZE)
    target_link_options(cubinet PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(cubinet PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                           LINK_DEPENDS ${map})
  include(GNUInstallDirs)
  install(TARGETS cubinet LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cubinet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()
