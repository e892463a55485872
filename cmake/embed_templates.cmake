# cubinet_embed_templates(<target>)
# Adds to <target> one generated source that holds every *.cuh file under templates/, sorted by name, as the table that
# jit/templates.hpp declares. A text ends with a NUL that its size does not count. The source is generated again
# when a template is changed, added or removed.
set(CUBINET_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake)

function(cubinet_embed_templates target)
  set(root ${PROJECT_SOURCE_DIR}/templates)
  set(list_file ${CMAKE_BINARY_DIR}/generated/templates.txt)
  set(output ${CMAKE_BINARY_DIR}/generated/embedded_templates.cpp)
  file(GLOB_RECURSE names CONFIGURE_DEPENDS RELATIVE ${root} ${root}/*.cuh)
  list(SORT names)
  # The list of names is a file that is rewritten only if it differs, so that a removed template also causes a rebuild.
  string(REPLACE ";" "\n" lines "${names}")
  file(CONFIGURE OUTPUT ${list_file} CONTENT "${lines}\n" @ONLY)
  list(TRANSFORM names PREPEND ${root}/ OUTPUT_VARIABLE files)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${root} -DLIST=${list_file} -DOUTPUT=${output} -P ${CUBINET_EMBED_SCRIPT}
    DEPENDS ${files} ${list_file} ${CUBINET_EMBED_SCRIPT}
    COMMENT "Embedding the device templates"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
