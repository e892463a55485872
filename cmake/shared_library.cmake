# libcubinet.so: the layers that an engine needs, in one file, with only the public interface visible.
# It links the layers' objects, not their archives, because --exclude-libs hides the symbols of archives: those of the
# third-party libraries and of the C++ run-time library. The C++ run-time library is linked in because a process can
# have another one: PyTorch exports its own symbols of std::filesystem and std::regex, which would be used otherwise.
function(cubinet_shared_library)
  set(map ${PROJECT_SOURCE_DIR}/cmake/libcubinet.map)
  add_library(cubinet SHARED)
  foreach(layer ${ARGN})
    target_sources(cubinet PRIVATE $<TARGET_OBJECTS:cubinet_${layer}>)
  endforeach()
  target_include_directories(cubinet PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(cubinet PRIVATE $<BUILD_INTERFACE:cubinet::fmt> $<BUILD_INTERFACE:cubinet::sqlite> $<BUILD_INTERFACE:cubinet::crypto>
                                        $<BUILD_INTERFACE:cubinet::zstd> $<BUILD_INTERFACE:cubinet::system>)
  target_link_options(cubinet PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${map})
  cubinet_portable(cubinet)
  if(NOT CUBINET_SANITIZE)
    target_link_options(cubinet PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(cubinet PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                           LINK_DEPENDS ${map} LINKER_LANGUAGE CXX)
  add_dependencies(cubinet cubinet_compile_worker)
  add_library(cubinet::cubinet ALIAS cubinet)
  cubinet_install_library()
endfunction()

# The library, its headers, the worker in which it compiles (tools/CMakeLists.txt), and what find_package(cubinet) and
# pkg-config read; the prefix may be moved afterwards. They can be installed alone: `cmake --install build --component library`.
function(cubinet_install_library)
  include(GNUInstallDirs)
  include(CMakePackageConfigHelpers)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/cubinet)
  install(TARGETS cubinet EXPORT cubinet LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
                                        NAMELINK_COMPONENT library)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cubinet
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
  install(EXPORT cubinet FILE cubinet-config.cmake NAMESPACE cubinet:: DESTINATION ${package} COMPONENT library)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/cubinet-config-version.cmake COMPATIBILITY SameMajorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/cubinet-config-version.cmake DESTINATION ${package} COMPONENT library)
  file(RELATIVE_PATH CUBINET_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/cubinet.pc.in ${PROJECT_BINARY_DIR}/cubinet.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cubinet.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
endfunction()
