# Helpers that give every target the same language level and warnings. No global flags.

# A broker that is not sanitized loads a plugin that is: there is one runtime, which both share. GCC's is always shared;
# this is where clang has it. Where the plugin is another build's, none is needed.
if(FENCEPOST_SANITIZE AND NOT FENCEPOST_PLUGIN_FILE AND FENCEPOST_BUILD_SUITE AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-runtime-dir OUTPUT_VARIABLE FENCEPOST_SHARED_RUNTIME
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

function(fencepost_configure target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast
    $<$<BOOL:${FENCEPOST_WARNINGS_AS_ERRORS}>:-Werror>)
  # _GLIBCXX_DEBUG would change container layouts, and the test libraries are prebuilt.
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  if(FENCEPOST_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${FENCEPOST_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer)
    # GCC takes the instrumented std::regex for one that reads what nobody has written.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    if(FENCEPOST_SHARED_RUNTIME)
      target_link_options(${target} PUBLIC -shared-libsan LINKER:-rpath,${FENCEPOST_SHARED_RUNTIME})
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${FENCEPOST_SANITIZE})
  endif()
  if(FENCEPOST_COVERAGE)
    target_compile_options(${target} PUBLIC --coverage)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()

# Other people's headers, which take longer to read than most sources of ours, compiled once for all targets of one kind:
# those that are compiled with the same options. With clang, which reads the result in no time, in a way that ccache
# understands; GCC gains little. Each source includes what it uses all the same: the release build does without.
set(FENCEPOST_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <chrono> <charconv> <condition_variable> <cstdint> <deque> <filesystem> <fstream> <functional>
  <iterator> <limits> <map> <memory> <mutex> <optional> <random> <set> <sstream> <string> <string_view> <thread> <tuple>
  <unordered_map> <utility> <variant> <vector>)
# FENCEPOST_PRECOMPILED_CODE: what the headers define, and what cmake/precompiled/ uses of their templates, is compiled once,
# as ${headers}_code, and not by every source again. Where nothing is optimised, that is most of what a source has to compile.
function(fencepost_precompile_code headers kind)
  set(folder ${PROJECT_SOURCE_DIR}/cmake/precompiled)
  target_precompile_headers(${headers} PRIVATE ${folder}/suite.h)
  if(kind MATCHES "test")
    target_precompile_headers(${headers} PRIVATE ${folder}/tests.h)
  endif()
  target_compile_options(${headers} PRIVATE "SHELL:-Xclang -fmodules-codegen")
  set(precompiled ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${headers}.dir/cmake_pch.hxx.pch)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${headers}_code.o)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  if(FENCEPOST_SANITIZE)
    list(APPEND flags -fsanitize=${FENCEPOST_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  endif()
  # In sections of their own the linker leaves out what a program does not use, with what that would need.
  add_custom_command(OUTPUT ${object} DEPENDS ${precompiled} VERBATIM
    COMMAND ${CMAKE_CXX_COMPILER} ${flags} -std=c++20 -g0 -fPIC -ffunction-sections -c ${precompiled} -o ${object})
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(${headers}_code STATIC ${object})
  set_target_properties(${headers}_code PROPERTIES LINKER_LANGUAGE CXX)
  target_link_options(${headers}_code INTERFACE LINKER:--gc-sections)
  target_link_libraries(${headers}_code INTERFACE ${FENCEPOST_FMT})
endfunction()

function(fencepost_precompile target kind)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang OR CMAKE_DISABLE_PRECOMPILE_HEADERS OR NOT FENCEPOST_BUILD_SUITE)
    return()
  endif()
  set(headers fencepost_precompiled_${kind})
  if(NOT TARGET ${headers})
    file(WRITE ${PROJECT_BINARY_DIR}/${headers}.cc "")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/${headers}.cc)
    fencepost_configure(${headers})
    target_link_libraries(${headers} PRIVATE tl::expected nlohmann_json::nlohmann_json ${FENCEPOST_FMT})
    target_precompile_headers(${headers} PRIVATE ${FENCEPOST_PRECOMPILED_HEADERS} <fmt/format.h> <nlohmann/json.hpp>
      <tl/expected.hpp>)
    if(kind MATCHES "test")
      fencepost_configure_test(${headers})
      target_precompile_headers(${headers} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    endif()
    if(FENCEPOST_PRECOMPILED_CODE AND kind MATCHES "large")
      fencepost_precompile_code(${headers} ${kind})
    endif()
    if(kind STREQUAL "cold_libraries")
      target_compile_options(${headers} PRIVATE ${FENCEPOST_COLD_FLAGS})
    endif()
    target_compile_options(${headers} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
  if(TARGET ${headers}_code)
    target_link_libraries(${target} PRIVATE ${headers}_code)
  endif()
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_compile_options(${target} PRIVATE -fPIC)  # as the headers: the compiler refuses those for -fPIE
  endif()
endfunction()

# Where FENCEPOST_UNITY_BATCH is more than 1, that number of sources of a target are compiled as one: all read the same headers.
# Their unnamed namespaces are one then: a name that stands in two of them does not compile. The sources given stay apart.
function(fencepost_compile_together target)
  if(FENCEPOST_UNITY_BATCH GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${FENCEPOST_UNITY_BATCH})
    set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# fencepost_add_library(name [HOT | FOR_TESTS] SOURCES a.cc ... SEPARATE b.cc ... LIBRARIES x ... PRIVATE_LIBRARIES y ...)
# HOT: each request of a workload or of selftest runs through it, or each start. What is not gets FENCEPOST_COLD_FLAGS: a
# newcomer waits for the compiler, and a report that is written once gains nothing from more (docs/decisions/0011).
# FOR_TESTS: as fast, for tests, fuzz targets and benchmarks; no program links it, and it is not there where none of these are.
# Where FENCEPOST_UNITY_BATCH is more than 1, that number of sources are compiled as one: they all read the same headers. Their
# unnamed namespaces are one then: a name that stands in two of them does not compile. Those in SEPARATE stay apart.
function(fencepost_add_library name)
  cmake_parse_arguments(ARG "HOT;FOR_TESTS" "" "SOURCES;SEPARATE;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  if(ARG_FOR_TESTS AND NOT FENCEPOST_BUILD_TESTS AND NOT FENCEPOST_BUILD_FUZZERS AND NOT FENCEPOST_BUILD_BENCHMARKS)
    return()
  endif()
  add_library(fencepost_${name} STATIC ${ARG_SOURCES} ${ARG_SEPARATE})
  fencepost_compile_together(fencepost_${name} ${ARG_SEPARATE})
  fencepost_configure(fencepost_${name})
  if(ARG_HOT)
    set_property(GLOBAL APPEND PROPERTY FENCEPOST_HOT_LIBRARIES fencepost_${name})
  endif()
  if(FENCEPOST_PRECOMPILED_CODE)
    fencepost_precompile(fencepost_${name} ${FENCEPOST_LARGE_MODULE}libraries)
  elseif(ARG_HOT OR ARG_FOR_TESTS OR NOT FENCEPOST_COLD_FLAGS)
    fencepost_precompile(fencepost_${name} libraries)
  else()
    fencepost_precompile(fencepost_${name} cold_libraries)
    target_compile_options(fencepost_${name} PRIVATE ${FENCEPOST_COLD_FLAGS})
  endif()
  target_link_libraries(fencepost_${name} PUBLIC ${ARG_LIBRARIES} PRIVATE ${ARG_PRIVATE_LIBRARIES})
endfunction()

# A test that takes that long hangs. Nothing is measured by it: a busy machine takes many times as long as a quiet one.
set(FENCEPOST_HUNG_SECONDS 3600)

# Tests are built more often than they run.
function(fencepost_configure_test name)
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE -O1 -g1)
  if(FENCEPOST_PRECOMPILED_CODE)
    target_compile_options(${name} PRIVATE -O0 -g0)
  elseif(FENCEPOST_SANITIZE OR FENCEPOST_QUICK_TO_COMPILE)
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

# fencepost_add_test(name LABEL unit SOURCES x_test.cc ... SEPARATE y_test.cc ... LIBRARIES ...)
# Several sources are compiled as one, as those of libraries are; those in SEPARATE stay apart.
function(fencepost_add_test name)
  if(NOT FENCEPOST_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;SEPARATE;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${ARG_SEPARATE})
  fencepost_compile_together(${name} ${ARG_SEPARATE})
  fencepost_configure(${name})
  fencepost_configure_test(${name})
  fencepost_precompile(${name} ${FENCEPOST_LARGE_MODULE}tests)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${FENCEPOST_HUNG_SECONDS})
  if(FENCEPOST_SANITIZE MATCHES "thread")
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "TSAN_OPTIONS=suppressions=\"${PROJECT_SOURCE_DIR}/tests/tsan.supp\"")
  elseif(FENCEPOST_SANITIZE MATCHES "address")
    set_tests_properties(${name} PROPERTIES
      ENVIRONMENT "LSAN_OPTIONS=suppressions=\"${PROJECT_SOURCE_DIR}/tests/lsan.supp\"")
  endif()
  if(ARG_LABEL STREQUAL "broker")
    set_property(GLOBAL APPEND PROPERTY FENCEPOST_THREADED_TESTS ${name})
  endif()
endfunction()

# The allocator of the program: docs/decisions/0028. Where it is not linked, the C library's.
function(fencepost_use_allocator target)
  if(FENCEPOST_TCMALLOC)
    target_link_libraries(${target} PRIVATE ${FENCEPOST_TCMALLOC})
  endif()
endfunction()

# fencepost_add_benchmark(name SOURCES x_bench.cc ... LIBRARIES ...): built, run by hand and by ci/bench, never a test.
function(fencepost_add_benchmark name)
  if(NOT FENCEPOST_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  fencepost_configure(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} benchmark::benchmark)
endfunction()

# The runtimes of the sanitizers in use, for LD_PRELOAD: the broker is not sanitized, the plugin in it is.
function(fencepost_sanitizer_runtimes variable)
  set(names libasan.so libubsan.so)
  if(FENCEPOST_PLUGIN_FILE)
    set(names "")
  elseif(FENCEPOST_SHARED_RUNTIME)
    set(names libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so)  # with UBSan's in it
  elseif(FENCEPOST_SANITIZE MATCHES "thread")
    set(names libtsan.so)
  endif()
  set(paths "")
  foreach(name ${names})
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE path
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND paths ${path})
  endforeach()
  list(JOIN paths " " paths)
  set(${variable} "${paths}" PARENT_SCOPE)
endfunction()

# fencepost_embed(variable FUNCTION room::f HEADER h FILES a b ...): builds files into the program. `variable` is set to the
# source file that defines `f`, which the header declares; paths are from the root of the repository.
function(fencepost_embed variable)
  cmake_parse_arguments(ARG "" "FUNCTION;HEADER" "FILES" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${variable}.cc)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake)
  list(TRANSFORM ARG_FILES PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} "-DFILES=${ARG_FILES}" -DFUNCTION=${ARG_FUNCTION}
      -DHEADER=${ARG_HEADER} -DOUTPUT=${output} -P ${script}
    DEPENDS ${paths} ${script} VERBATIM)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()
