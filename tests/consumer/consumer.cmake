# cmake -DBUILD=<build folder> -DWORK=<folder of its own> -DPROJECT=<the consumer> -P consumer.cmake
# Installs the library, moves what was installed to another place, and builds and runs a consumer there: by
# find_package(cubinet), and by pkg-config.
cmake_minimum_required(VERSION 3.22)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(FATAL_ERROR "${ARGN}\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component library --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/prefix)

run(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/engine_c ${WORK}/cabinet)
message(STATUS "${said}")
run(${WORK}/build/engine_cpp ${WORK}/cabinet)
message(STATUS "${said}")

file(GLOB_RECURSE pc ${WORK}/prefix/cubinet.pc)
get_filename_component(folder ${pc} DIRECTORY)
get_filename_component(libraries ${folder} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
run(pkg-config --cflags --libs cubinet)
separate_arguments(flags UNIX_COMMAND "${said}")
run(cc -std=c99 -Wall -Werror ${PROJECT}/engine.c -o ${WORK}/engine_pc ${flags} -Wl,-rpath,${libraries})
run(${WORK}/engine_pc ${WORK}/cabinet)
message(STATUS "${said}")
