# Helpers of the test folders.

# Warnings of every C target of ours; -Werror only where CI asks for it.
option(LJM_WERROR "Treat warnings as errors (CI)" OFF)
set(LJM_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla
    -Wcast-align)
if(LJM_WERROR)
  list(APPEND LJM_WARNINGS -Werror)
endif()

# The functions of each header, compiled once: for programs that do not ask
# for them in a file of their own.
function(ljm_impl header)
  add_library(impl_${header} STATIC "${CMAKE_SOURCE_DIR}/tests/impl_${header}.c")
  target_link_libraries(impl_${header} PRIVATE ljmemprof)
  target_compile_options(impl_${header} PRIVATE ${LJM_WARNINGS} -Wc++-compat)
endfunction()

# ljm_test(NAME [ARGS ...]): builds NAME.c of this folder, adds it to ctest.
# Has the functions of ljparse.h; those of ljmemprof.h are in impl_ljmemprof or
# in LuaJIT.
function(ljm_test name)
  cmake_parse_arguments(T "" "" "ARGS;LIBS;DEFS;LABELS" ${ARGN})
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE ljmemprof ${T_LIBS} impl_ljparse)
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_compile_options(${name} PRIVATE ${LJM_WARNINGS} -Wc++-compat)
  target_compile_definitions(${name} PRIVATE ${T_DEFS})
  add_test(NAME ${name} COMMAND ${name} ${T_ARGS})
  if(T_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}")
  endif()
endfunction()
