# Targets of the house: one library per folder, one test program per test file.

include(GNUInstallDirs)
# Headers of src/ are installed for programs that gneiss synth writes; only gneiss::kernels shows them to a compiler.
set(GNEISS_LIBRARY_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/gneiss/library)

add_library(gneiss_flags INTERFACE)
install(TARGETS gneiss_flags gneiss_quick_flags EXPORT gneissTargets)
target_compile_options(gneiss_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(gneiss_flags INTERFACE -Wno-restrict)  # warns of std::string's own operator+ (GCC bug 105651)
endif()
if(GNEISS_WERROR)
  target_compile_options(gneiss_flags INTERFACE -Werror)
endif()
if(GNEISS_SANITIZE)
  target_compile_options(gneiss_flags INTERFACE -fsanitize=${GNEISS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(gneiss_flags INTERFACE -fsanitize=${GNEISS_SANITIZE})
endif()

# gneiss_library(NAME [QUICK | OWN_FLAGS] SOURCES … DEPENDS …): the library of one folder under src/, known as
# gneiss::NAME. QUICK: it is compiled under gneiss_quick_flags; OWN_FLAGS: it gets definitions or options of its own.
function(gneiss_library name)
  cmake_parse_arguments(ARG "QUICK;OWN_FLAGS" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(gneiss_${name} STATIC ${ARG_SOURCES})
  add_library(gneiss::${name} ALIAS gneiss_${name})
  target_include_directories(gneiss_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${GNEISS_LIBRARY_HEADERS}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(gneiss_${name} PUBLIC cxx_std_20)
  target_link_libraries(gneiss_${name} PUBLIC ${ARG_DEPENDS} PRIVATE gneiss_flags)
  set(precompiled base)
  if(ARG_QUICK)
    target_link_libraries(gneiss_${name} PRIVATE gneiss_quick_flags)
    set(precompiled ir)
  endif()
  if(ARG_OWN_FLAGS OR name STREQUAL precompiled)
    target_precompile_headers(gneiss_${name} PRIVATE ${GNEISS_PRECOMPILED_HEADERS})
  else()
    target_precompile_headers(gneiss_${name} REUSE_FROM gneiss_${precompiled})
  endif()
  # Other projects see two targets of ours; the libraries behind them keep a name of their own.
  set_target_properties(gneiss_${name} PROPERTIES EXPORT_NAME part_${name})
  install(TARGETS gneiss_${name} EXPORT gneissTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/gneiss)
endfunction()

# gneiss_test(LABEL NAME SOURCES … DEPENDS …): a GoogleTest program tests/LABEL/NAME, with CTest label LABEL.
function(gneiss_test label name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)
  endif()
  if(GNEISS_SANITIZE)
    math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")  # sanitized kernels take ten times as long, most of a test does not
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} gneiss_flags GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE -O1)  # the time goes into compiling tests, not into running them
  target_compile_definitions(${name} PRIVATE GNEISS_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(TARGET gneiss)
    target_compile_definitions(${name} PRIVATE GNEISS_BINARY="$<TARGET_FILE:gneiss>")
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${label}.${name} COMMAND ${name})
  # Tests run side by side: threads that wait must not keep a processor busy.
  set_tests_properties(${label}.${name} PROPERTIES LABELS ${label} TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()
