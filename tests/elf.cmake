# The resolver: ELF images, dynamic segments in memory, loaded modules.
ljm_test(test_elf ARGS --stride=5)
ljm_test(test_elf_dynamic ARGS --stride=5)
ljm_test(test_elf_modules)
ljm_test(test_resolver)
ljm_test(test_resolver_off)
# Libraries cannot be loaded by what is linked statically.
if(NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-static")
  set(ljt_libs "${CMAKE_CURRENT_BINARY_DIR}/libs")
  # ljt_lib(NAME TAG SEED [LINK OPTIONS...]): a library of elflib.c.
  function(ljt_lib name tag seed)
    string(LENGTH ${tag} length)
    add_library(ljt_${name} MODULE elflib.c)
    target_compile_definitions(ljt_${name} PRIVATE LJT_TAG=${tag}
                               LJT_SEED=${seed} LJT_LEN=${length})
    target_compile_options(ljt_${name} PRIVATE ${LJM_WARNINGS} -Wno-pedantic
                           -fvisibility=hidden -fno-sanitize=all)
    set_target_properties(ljt_${name} PROPERTIES PREFIX lib
                          LIBRARY_OUTPUT_DIRECTORY "${ljt_libs}")
    target_link_libraries(ljt_${name} PRIVATE -fno-sanitize=all
                          -Wl,--build-id=sha1 -Wl,-Bsymbolic ${ARGN})
  endfunction()
  # ljt_stripped_lib(NAME): the same without .symtab.
  function(ljt_stripped_lib name)
    add_custom_command(TARGET ljt_${name} POST_BUILD
      COMMAND ${CMAKE_STRIP} -s -o "${ljt_libs}/libljt_${name}_stripped.so"
              $<TARGET_FILE:ljt_${name}>)
  endfunction()
  ljt_lib(alpha alpha 3)
  ljt_lib(beta beta 5)
  ljt_lib(noid noid 7 -Wl,--build-id=none)
  ljt_lib(onid onid 11 -Wl,--build-id=none)
  ljt_lib(slow slow 19)
  target_compile_definitions(ljt_slow PRIVATE LJT_HOOK)
  ljt_lib(odd odd 13 -Wl,-Ttext-segment=0x123000)
  foreach(style sysv gnu both)
    ljt_lib(${style} ${style} 17 -Wl,--hash-style=${style})
    ljt_stripped_lib(${style})
  endforeach()
  ljt_stripped_lib(odd)
  ljm_test(test_resolver_libs LIBS ${CMAKE_DL_LIBS} ARGS "--libs=${ljt_libs}")
  add_dependencies(test_resolver_libs ljt_alpha ljt_beta ljt_noid ljt_onid
                   ljt_odd ljt_sysv ljt_gnu ljt_both)
  # The calls of the system that ljmemprof.h makes, each by way of the test.
  ljm_test(test_syscalls LIBS ${CMAKE_DL_LIBS})
  target_compile_options(test_syscalls PRIVATE -U_FORTIFY_SOURCE)
  foreach(call open fstat read write lseek pipe2 syscall ftruncate close
          sigpending sigprocmask sigtimedwait clock_gettime getpid readlink
          getauxval dl_iterate_phdr)
    target_link_libraries(test_syscalls PRIVATE -Wl,--wrap=${call})
  endforeach()
  # Threads, also under the thread sanitizer if this build has no other one.
  find_package(Threads REQUIRED)
  ljm_test(test_resolver_threads LIBS Threads::Threads ${CMAKE_DL_LIBS}
           ARGS "--libs=${ljt_libs}")
  add_dependencies(test_resolver_threads test_resolver_libs ljt_slow)
  set_target_properties(test_resolver_threads PROPERTIES ENABLE_EXPORTS ON)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
  check_c_source_compiles("int main(void) { return 0; }" LJM_HAS_TSAN)
  unset(CMAKE_REQUIRED_FLAGS)
  if(NOT LJM_HAS_TSAN)
    message(WARNING "no thread sanitizer: test_resolver_tsan is left out")
  elseif(NOT CMAKE_BUILD_TYPE STREQUAL "None" AND NOT CMAKE_CROSSCOMPILING)
    add_executable(test_resolver_tsan test_resolver_threads.c)
    target_link_libraries(test_resolver_tsan PRIVATE ljmemprof
                          -fsanitize=thread Threads::Threads ${CMAKE_DL_LIBS})
    target_compile_options(test_resolver_tsan PRIVATE -fsanitize=thread)
    set_target_properties(test_resolver_tsan PROPERTIES ENABLE_EXPORTS ON)
    add_test(NAME test_resolver_tsan
             COMMAND test_resolver_tsan "--libs=${ljt_libs}")
  endif()
  # Run by hand.
  if(LJM_BENCH)
    add_executable(bench_resolver bench/bench_resolver.c)
    target_link_libraries(bench_resolver PRIVATE ljmemprof ${CMAKE_DL_LIBS})
    add_dependencies(bench_resolver ljt_alpha)
    target_include_directories(bench_resolver PRIVATE
                               "${CMAKE_CURRENT_SOURCE_DIR}")
    target_compile_options(bench_resolver PRIVATE ${LJM_WARNINGS})
    target_compile_definitions(bench_resolver PRIVATE
                               LJT_LIB="${ljt_libs}/libljt_alpha.so")
  endif()
endif()

if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME elfsym_cli COMMAND
           bash "${CMAKE_CURRENT_SOURCE_DIR}/elfsym_cli.sh"
           $<TARGET_FILE:ljelfsym>)
endif()

# Other opinions on the ELF files of this machine, and of other ones.
if(NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-static"
   AND NOT CMAKE_C_FLAGS MATCHES "sanitize=memory")
  find_library(LJM_LIBELF elf)
  set(ljt_dirs /usr/lib /usr/bin)
  if(LJM_LIBELF)
    ljm_test(test_elf_libelf LIBS ${LJM_LIBELF} ARGS all_files ${ljt_dirs})
  else()
    add_test(NAME test_elf_libelf COMMAND sh -c
             "echo libelf-dev is missing, see tests/packages.txt; exit 1")
  endif()
  add_test(NAME elf_readelf COMMAND
           python3 "${CMAKE_CURRENT_SOURCE_DIR}/elf_readelf.py"
           $<TARGET_FILE:ljelfsym> --stride=100 ${ljt_dirs})
  set_tests_properties(elf_readelf PROPERTIES LABELS plain)
  if(LJM_FULL)
    foreach(triple aarch64-linux-gnu i686-linux-gnu s390x-linux-gnu
            powerpc64le-linux-gnu arm-linux-gnueabihf powerpc-linux-gnu
            riscv64-linux-gnu)
      list(APPEND foreign "/usr/${triple}/lib")
    endforeach()
    add_test(NAME elf_foreign_libelf COMMAND test_elf_libelf all_files
             ${foreign})
    add_test(NAME elf_foreign_readelf COMMAND
             python3 "${CMAKE_CURRENT_SOURCE_DIR}/elf_readelf.py"
             $<TARGET_FILE:ljelfsym> ${foreign})
    add_test(NAME elf_readelf_more COMMAND
             python3 "${CMAKE_CURRENT_SOURCE_DIR}/elf_readelf.py"
             $<TARGET_FILE:ljelfsym> --stride=7 ${ljt_dirs})
    set_tests_properties(elf_foreign_libelf elf_foreign_readelf
                         elf_readelf_more PROPERTIES LABELS full)
  endif()
endif()
