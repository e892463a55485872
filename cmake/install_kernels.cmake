# cubinet_install_kernels(<prefix> [<component>])
# installs the kernels that stand in for others beside the library, where it looks for them: a machine without NVRTC and
# with an empty cabinet serves with these. <prefix>, "" or a folder's name with a slash behind it, is where bin/ and
# share/ lie below the installation's. Needs NVRTC on the machine that installs; without it they are left out.
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
