# cubinet_install_kernels(<prefix> [<component>])
# Installs the generic kernels beside the library, which looks for them there, so that a machine without NVRTC and with
# an empty cabinet can serve with them. bin/ and share/ are in the folder <prefix> of the installation; <prefix> is ""
# or a folder's name with a slash at its end. Needs NVRTC on the installing machine; without it they are left out.
function(cubinet_install_kernels prefix)
  set(component "")
  if(ARGC GREATER 1)
    set(component COMPONENT ${ARGV1})
  endif()
  string(CONFIGURE [[
  set(root "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/@prefix@")
  set(kernels "${root}share/cubinet/kernels")
  message(STATUS "Compiling: ${kernels}")
  execute_process(
    COMMAND "${root}bin/cubinet" warmup --generic-only --quiet --cache "${kernels}"
    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(WARNING "The kernels that stand in for others are not installed: ${said}")
  else()
    file(CHMOD_RECURSE "${kernels}"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ
      DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endif()
]] code @ONLY)
  install(CODE "${code}" ${component})
endfunction()
