# Finds what compiling against CUDA needs: cuda.h, nvrtc.h, and the folder of libnvrtc. The libraries
# themselves are opened at run time and never linked. Places, in this order:
#   1. a toolkit: CUDA_HOME, CUDAToolkit_ROOT, the folder above an nvcc on PATH, /usr/local/cuda
#      (skipped with CUBINET_NO_TOOLKIT, an option and an environment variable that sets its default)
#   2. CUBINET_WHEELS: NVIDIA's wheels, unpacked, as scripts/setup makes that folder
# Results: the target cubinet::cuda_headers, and the cache variables
#   CUBINET_NVRTC_DIR      folder that holds libnvrtc.so.*; built into the library as a place to look
#   CUBINET_NVRTC_VERSION  "13.0"-like
set(CUBINET_WHEELS ${CMAKE_BINARY_DIR}/wheels CACHE PATH "Folder with NVIDIA's wheels unpacked")
set(no_toolkit OFF)
if("$ENV{CUBINET_NO_TOOLKIT}")
  set(no_toolkit ON)
endif()
option(CUBINET_NO_TOOLKIT "Ignore an installed CUDA toolkit and use the wheels" ${no_toolkit})

# The roots to search, best first.
function(cubinet_cuda_roots result)
  set(roots "")
  if(NOT CUBINET_NO_TOOLKIT)
    foreach(root "$ENV{CUDA_HOME}" "${CUDAToolkit_ROOT}")
      if(root)
        list(APPEND roots ${root})
      endif()
    endforeach()
    find_program(nvcc nvcc NO_CACHE)
    if(nvcc)
      get_filename_component(nvcc ${nvcc} REALPATH)
      get_filename_component(bin ${nvcc} DIRECTORY)
      get_filename_component(root ${bin} DIRECTORY)
      list(APPEND roots ${root})
    endif()
    list(APPEND roots /usr/local/cuda)
  endif()
  list(APPEND roots ${CUBINET_WHEELS}/nvidia/cu13)
  set(${result} ${roots} PARENT_SCOPE)
endfunction()

# "13.0" from the name of libnvrtc-builtins in `folder`, else from CUDA_VERSION in cuda.h.
function(cubinet_nvrtc_version folder header result)
  file(GLOB builtins ${folder}/libnvrtc-builtins.so.*)
  if(builtins MATCHES "libnvrtc-builtins\\.so\\.([0-9]+\\.[0-9]+)")
    set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
    return()
  endif()
  file(STRINGS ${header} line REGEX "#define CUDA_VERSION +[0-9]+")
  string(REGEX MATCH "[0-9]+" number "${line}")
  math(EXPR major "${number} / 1000")
  math(EXPR minor "${number} % 1000 / 10")
  set(${result} ${major}.${minor} PARENT_SCOPE)
endfunction()

function(cubinet_find_cuda)
  cubinet_cuda_roots(roots)
  set(suffixes include targets/x86_64-linux/include targets/sbsa-linux/include)
  find_path(cuda_include cuda.h PATHS ${roots} PATH_SUFFIXES ${suffixes} NO_DEFAULT_PATH NO_CACHE)
  find_path(nvrtc_include nvrtc.h PATHS ${roots} PATH_SUFFIXES ${suffixes} NO_DEFAULT_PATH NO_CACHE)
  if(NOT cuda_include OR NOT nvrtc_include)
    message(FATAL_ERROR "cuda.h or nvrtc.h not found (looked in: ${roots}). Run scripts/setup "
                        "${CUBINET_WHEELS}, or set CUDA_HOME to a CUDA 13 toolkit.")
  endif()
  add_library(cubinet_cuda_headers INTERFACE)
  add_library(cubinet::cuda_headers ALIAS cubinet_cuda_headers)
  target_include_directories(cubinet_cuda_headers SYSTEM INTERFACE ${cuda_include} ${nvrtc_include})

  set(folder "")
  foreach(root ${roots})
    file(GLOB libraries ${root}/lib64/libnvrtc.so.* ${root}/lib/libnvrtc.so.*
                        ${root}/targets/x86_64-linux/lib/libnvrtc.so.*)
    if(libraries AND NOT folder)
      list(GET libraries 0 library)
      get_filename_component(folder ${library} DIRECTORY)
    endif()
  endforeach()
  cubinet_nvrtc_version("${folder}" ${cuda_include}/cuda.h version)
  set(CUBINET_NVRTC_DIR "${folder}" CACHE PATH "Folder of libnvrtc, a built-in place to look" FORCE)
  set(CUBINET_NVRTC_VERSION "${version}" CACHE STRING "Version of that NVRTC" FORCE)
  message(STATUS "CUDA headers: ${cuda_include}; NVRTC ${version} in '${folder}'")
endfunction()

cubinet_find_cuda()
