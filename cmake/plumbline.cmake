# Helpers of the build: the third-party packages, the warning flags, and the two functions with
# which every folder describes itself.

# A Mac has no libcrypto of its own, and one file shall do there.
set(use_openssl ON)
if(APPLE)
  set(use_openssl OFF)
endif()
option(PLUMBLINE_OPENSSL "Hash with OpenSSL's libcrypto, which is faster; OFF = with our own code" ${use_openssl})
set(PLUMBLINE_CRYPTO)
if(PLUMBLINE_OPENSSL)
  find_package(OpenSSL REQUIRED COMPONENTS Crypto)
  set(PLUMBLINE_CRYPTO OpenSSL::Crypto)
endif()
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(tl-expected REQUIRED)

# Which sources this is: the version, and the commit where there is one. The same on all platforms,
# so that agents can be compared by it.
set(PLUMBLINE_BUILD "${PROJECT_VERSION}")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --short=12 HEAD
                  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE PLUMBLINE_COMMIT
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(PLUMBLINE_COMMIT)
    string(APPEND PLUMBLINE_BUILD "-${PLUMBLINE_COMMIT}")
  endif()
endif()

# Where ccache is there, it is used, so that a second checkout finds what the first one compiled. (Not what clang compiled
# with precompiled headers: those hold paths of the checkout, so the preset asan has none.)
option(PLUMBLINE_CCACHE "Compile through ccache where there is one" ON)
find_program(PLUMBLINE_CCACHE_PROGRAM ccache)
if(PLUMBLINE_CCACHE AND PLUMBLINE_CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=include_file_ctime,include_file_mtime,pch_defines,time_macros ${PLUMBLINE_CCACHE_PROGRAM})
endif()

option(PLUMBLINE_FUZZ "Link the fuzz targets with libFuzzer (clang)" OFF)
option(PLUMBLINE_PIC "What plumbline_comm is made of can become part of a shared library; scripts/compare_builds.py --pic compares" ON)
option(PLUMBLINE_UNITY "Compile several files as one; off is better for changing a file again and again" ON)
option(PLUMBLINE_PCH "Compile the headers that most files include once" ON)

add_library(plumbline_flags INTERFACE)
target_include_directories(plumbline_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
                                                     ${PROJECT_BINARY_DIR}/generated)
target_compile_definitions(plumbline_flags INTERFACE PLUMBLINE_VERSION="${PROJECT_VERSION}")
target_compile_options(plumbline_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                                 -Wold-style-cast -Wnull-dereference -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these inside its own standard library when it inlines std::string and std::vector.
  target_compile_options(plumbline_flags INTERFACE -Wno-restrict -Wno-null-dereference
                                                   -Wno-maybe-uninitialized -Wno-stringop-overflow
                                                   -Wno-array-bounds)
  if(PLUMBLINE_UNITY)
    # To GCC every united file is a header, where an unnamed type would be wrong, and the names of one file are not
    # those of another.
    target_compile_options(plumbline_flags INTERFACE -Wno-subobject-linkage -Wno-shadow -Wshadow=local)
  endif()
elseif(PLUMBLINE_UNITY)
  # The same for Clang, which cannot tell local names from others here; GCC does.
  target_compile_options(plumbline_flags INTERFACE -Wno-shadow)
endif()
if(PLUMBLINE_SANITIZE)
  target_compile_options(plumbline_flags INTERFACE -fsanitize=${PLUMBLINE_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(plumbline_flags INTERFACE -fsanitize=${PLUMBLINE_SANITIZE})
  target_compile_definitions(plumbline_flags INTERFACE PLUMBLINE_SANITIZED)
endif()

# Most of the time of a build goes into optimising what need not be fast. Only what moves and reduces data is optimised
# under a sanitizer; a release optimises what is not on the data path a little, and tests never. Four speeds, then:
set(options_data)
if(PLUMBLINE_PIC AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Functions may be inlined as before: nobody puts others in their place.
  set(options_data -fno-semantic-interposition)
endif()
set(options_rest)
set(options_tests -O0)
if(PLUMBLINE_SANITIZE)
  set(options_rest -O0)
  list(APPEND options_tests -g0)  # stacks name the functions of tests without their lines
elseif(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CMAKE_CXX_FLAGS_RELEASE MATCHES "-O0")
  set(options_rest -O1)
endif()

# A small message passes through a dozen files of transport and collectives, so programs that users run are optimised
# across them when they are linked (plumbline_across_files). The objects have machine code beside what that needs: all
# others, above all the tests, are linked as if there were no such thing.
option(PLUMBLINE_LTO "Optimise programs across the files of transport and collectives (a release, by GCC)" ON)
set(options_path ${options_data})
if(PLUMBLINE_LTO AND CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
   AND NOT PLUMBLINE_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(options_across -flto=auto)
  list(APPEND options_path -flto -ffat-lto-objects)
  target_link_options(plumbline_flags INTERFACE
                      $<IF:$<BOOL:$<TARGET_PROPERTY:PLUMBLINE_ACROSS_FILES>>,${options_across},-fno-lto>)
endif()
function(plumbline_across_files target)
  set_target_properties(${target} PROPERTIES PLUMBLINE_ACROSS_FILES ON)
endfunction()

function(plumbline_speed target speed)
  target_compile_options(${target} PRIVATE ${options_${speed}})
  if(speed MATCHES "^(path|data)$")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ${PLUMBLINE_PIC})
  endif()
endfunction()

function(plumbline_quick_compile target folder)
  set(speed rest)
  if(target MATCHES "^tests_")
    set(speed tests)
  elseif(folder MATCHES "^(transport|collectives)$")
    set(speed path)
  elseif(folder MATCHES "^(core|kernels)$")
    set(speed data)
  endif()
  plumbline_speed(${target} ${speed})
  if(PLUMBLINE_PCH)
    plumbline_read_headers_once(${speed})
    target_precompile_headers(${target} REUSE_FROM plumbline_headers_${speed})
  endif()
endfunction()

# What most files include, compiled once for each speed. Nothing may depend on it: without PLUMBLINE_PCH (the presets
# lint, asan and tsan) every file includes what it uses.
set(common_headers <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory> <optional>
                   <set> <span> <sstream> <string> <string_view> <utility> <vector> <fmt/format.h> <tl/expected.hpp>
                   <core/json.h>)  # never the library itself: see there; a path would keep ccache from finding it
function(plumbline_read_headers_once speed)
  set(name plumbline_headers_${speed})
  if(TARGET ${name})
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${name}.cc CONTENT "// No code: see cmake/plumbline.cmake.\n")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/generated/${name}.cc)
  target_link_libraries(${name} PRIVATE plumbline_flags tl::expected fmt::fmt Threads::Threads nlohmann_json::nlohmann_json)
  plumbline_speed(${name} ${speed})
  set(headers ${common_headers})
  if(speed STREQUAL "tests")
    list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
    target_link_libraries(${name} PRIVATE GTest::gmock)
  elseif(PLUMBLINE_FUZZ)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  target_precompile_headers(${name} PRIVATE ${headers})
endfunction()

# Of a template that several files instantiate, a program gets the first one that its linker meets, and the libraries
# under test get it too: that of a test, which is not optimised. So an optimised one stands before all tests. `result`:
# the object; empty for the tests of threads alone, which would spend less in these templates than this takes.
function(plumbline_quick_templates result)
  set(${result} PARENT_SCOPE)
  if(PLUMBLINE_SANITIZE STREQUAL "thread")
    return()
  endif()
  if(NOT TARGET plumbline_quick_templates)
    add_library(plumbline_quick_templates OBJECT ${PROJECT_SOURCE_DIR}/tests/support/quick_templates.cc)
    target_link_libraries(plumbline_quick_templates PRIVATE plumbline_flags nlohmann_json::nlohmann_json)
    target_compile_options(plumbline_quick_templates PRIVATE -O1 -g0)
  endif()
  set(${result} $<TARGET_OBJECTS:plumbline_quick_templates> PARENT_SCOPE)
endfunction()

# The rest goes into reading the same headers again and again, so twelve to two dozen files are compiled as one: what a file
# keeps in its unnamed namespace then needs a name that no other file of the target has (for the rare file that cannot,
# ALONE below). The hash of its name decides which files a file stands with, so that a new one moves no others; when
# their number doubles, each group falls in two. scripts/lint.sh tidy compiles every file by itself, so that each
# includes what it uses.
function(plumbline_unite target)
  if(NOT PLUMBLINE_UNITY)
    return()
  endif()
  list(LENGTH ARGN count)
  set(groups 1)
  while(count GREATER_EQUAL 24)
    math(EXPR groups "${groups} * 2")
    math(EXPR count "${count} / 2")
  endwhile()
  foreach(file IN LISTS ARGN)
    if(file MATCHES "_macos\\.cc$")  # few, and Linux, where most is built, would not see that their names meet others
      set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    string(MD5 hash ${file})
    string(SUBSTRING ${hash} 0 4 hash)
    math(EXPR group "0x${hash} % ${groups}")
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# The .cc files of the current folder and of these folders below it, less those of another platform (x_linux.cc,
# x_macos.cc), so that adding a file is enough to build it.
function(plumbline_own_sources result)
  set(patterns *.cc)
  foreach(folder IN LISTS ARGN)
    list(APPEND patterns ${folder}/*.cc)
  endforeach()
  file(GLOB files RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
  if(APPLE)
    list(FILTER files EXCLUDE REGEX "_linux(_test)?\\.cc$")
  else()
    list(FILTER files EXCLUDE REGEX "_macos(_test)?\\.cc$")
  endif()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# plumbline_module(NAME DEPS folder... [BELOW folder...] [EXCEPT file...] [ALONE file...] [COMM regex] [LIBS target...])
# makes the static library plumbline_NAME of one folder: all its .cc files and those of the folders BELOW it, less EXCEPT.
# DEPS may only name folders below it in the picture of the house. The files that COMM fits belong to the library
# plumbline_comm too (cmake/comm.cmake); where they are not all, they are a library plumbline_NAME_comm of their own.
function(plumbline_module name)
  cmake_parse_arguments(arg "" "COMM" "DEPS;BELOW;EXCEPT;ALONE;LIBS" ${ARGN})
  plumbline_own_sources(sources ${arg_BELOW})
  if(arg_EXCEPT)
    list(REMOVE_ITEM sources ${arg_EXCEPT})
  endif()
  list(TRANSFORM arg_DEPS PREPEND plumbline_)
  if(arg_COMM)
    set(comm ${sources})
    list(FILTER comm INCLUDE REGEX ${arg_COMM})
    list(REMOVE_ITEM sources ${comm})
    set(part plumbline_${name})
    if(sources)
      string(APPEND part _comm)
    endif()
    plumbline_library(${part} ${name} "${comm}" "${arg_ALONE}" "${arg_DEPS}" "${arg_LIBS}")
    set_property(GLOBAL APPEND PROPERTY PLUMBLINE_COMM_PARTS ${part})
    if(NOT sources)
      return()
    endif()
    list(APPEND arg_DEPS ${part})
  endif()
  plumbline_library(plumbline_${name} ${name} "${sources}" "${arg_ALONE}" "${arg_DEPS}" "${arg_LIBS}")
endfunction()

function(plumbline_library target folder sources alone deps libs)
  add_library(${target} STATIC ${sources})
  plumbline_quick_compile(${target} ${folder})
  if(PLUMBLINE_FUZZ)  # libFuzzer sees by it which code an input has reached; the tests need none of it
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  list(REMOVE_ITEM sources ${alone})
  plumbline_unite(${target} ${sources})
  target_link_libraries(${target} PUBLIC plumbline_flags ${deps} tl::expected fmt::fmt Threads::Threads PRIVATE ${libs})
  set_property(GLOBAL APPEND PROPERTY PLUMBLINE_LIBRARIES ${target})
endfunction()

# The paths of this checkout are in one object (tests/support/places.h), and assertions name files as seen from it.
function(plumbline_places target)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/surroundings.cc PROPERTIES COMPILE_DEFINITIONS
      "PLUMBLINE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\";PLUMBLINE_BINARY=\"${PROJECT_BINARY_DIR}/plumbline\"")
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/surroundings.cc)
  target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
endfunction()

# plumbline_test(FOLDER [BELOW folder...] [SOURCES file...] [LIBS target...] [LABEL name] [ALONE tests]) makes the binary tests_FOLDER
# from all .cc files beside it, those of the folders BELOW, and further SOURCES, links the folder's library and registers
# each of its tests with ctest. ctest label = FOLDER, or LABEL (process = starts whole programs). A test that skips
# itself (GTEST_SKIP) is counted as skipped, with its reason. ALONE, a pattern of GoogleTest, run while no others do. Under a sanitizer a binary is a few tests, shards of
# GoogleTest, instead.
function(plumbline_test folder)
  cmake_parse_arguments(arg "" "LABEL;ALONE" "BELOW;SOURCES;LIBS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL ${folder})
  endif()
  plumbline_own_sources(sources ${arg_BELOW})
  plumbline_quick_templates(first)
  add_executable(tests_${folder} ${first} ${sources} ${arg_SOURCES})
  plumbline_quick_compile(tests_${folder} ${folder})
  plumbline_unite(tests_${folder} ${sources} ${arg_SOURCES})
  target_link_libraries(tests_${folder} PRIVATE plumbline_${folder} ${arg_LIBS} GTest::gmock
                                                GTest::gtest_main)
  plumbline_places(tests_${folder})
  if(PLUMBLINE_SANITIZE)
    # A process for each test would spend more time in the sanitizer's start than in the tests.
    set(shards 6)
    set(cost 1)
    if(folder MATCHES "^(collectives|reports|probes)$")
      # The long ones start first: what still runs at the end runs alone. And they are more: GoogleTest deals tests out
      # like cards, so two long ones may come to one shard, which then has few others.
      set(cost 100)
      set(shards 12)
    endif()
    math(EXPR last "${shards} - 1")
    foreach(shard RANGE ${last})
      add_test(NAME ${folder}.shard${shard} COMMAND tests_${folder})
      set_tests_properties(${folder}.shard${shard} PROPERTIES LABELS ${arg_LABEL} TIMEOUT 2700 COST ${cost}
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
    endforeach()
    return()
  endif()
  set(others "*")
  if(arg_ALONE)
    set(others "*-${arg_ALONE}")
    gtest_discover_tests(tests_${folder} TEST_PREFIX ${folder}. DISCOVERY_MODE PRE_TEST TEST_FILTER "${arg_ALONE}"
                         TEST_LIST tests_${folder}_alone PROPERTIES LABELS ${arg_LABEL} TIMEOUT 300 PROCESSORS 4)
  endif()
  gtest_discover_tests(tests_${folder} TEST_PREFIX ${folder}. DISCOVERY_MODE PRE_TEST TEST_FILTER "${others}"
                       PROPERTIES LABELS ${arg_LABEL} TIMEOUT 300)
endfunction()
