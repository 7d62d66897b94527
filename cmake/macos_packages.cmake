# Answers find_package() in the macOS cross build, where no macOS packages are at hand: the headers
# of this machine's packages do, because all of them are portable, reached through a folder of links
# to exactly those (PLUMBLINE_CROSS_SYSROOT, see scripts/cross_macos.sh). What is not header-only is
# compiled out of them. Loaded through CMAKE_PROJECT_TOP_LEVEL_INCLUDES; normal builds never see this
# file.

# plumbline_stand_in(TARGET [DEFINITIONS name...] [LIBS target...])
function(plumbline_stand_in target)
  cmake_parse_arguments(arg "" "" "DEFINITIONS;LIBS" ${ARGN})
  if(TARGET ${target})
    return()
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES
                        INTERFACE_INCLUDE_DIRECTORIES "${PLUMBLINE_CROSS_SYSROOT}/usr/include"
                        INTERFACE_COMPILE_DEFINITIONS "${arg_DEFINITIONS}"
                        INTERFACE_LINK_LIBRARIES "${arg_LIBS}")
endfunction()

# From its headers alone, fmt would cost a quarter of the compiling.
function(plumbline_compile_fmt)
  if(NOT TARGET plumbline_fmt)
    add_library(plumbline_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/static/fmt.cc)
    target_include_directories(plumbline_fmt SYSTEM PRIVATE "${PLUMBLINE_CROSS_SYSROOT}/usr/include")
  endif()
endfunction()

macro(plumbline_provide method name)
  if("${name}" STREQUAL "nlohmann_json")
    plumbline_stand_in(nlohmann_json::nlohmann_json)
  elseif("${name}" STREQUAL "fmt")
    plumbline_compile_fmt()
    plumbline_stand_in(fmt::fmt LIBS plumbline_fmt)
  elseif("${name}" STREQUAL "spdlog")
    plumbline_stand_in(spdlog::spdlog DEFINITIONS SPDLOG_FMT_EXTERNAL)
  elseif("${name}" STREQUAL "tl-expected")
    plumbline_stand_in(tl::expected)
  elseif("${name}" STREQUAL "hwy")
    plumbline_stand_in(hwy::hwy DEFINITIONS HWY_COMPILE_ONLY_STATIC)
  elseif("${name}" STREQUAL "CLI11")
    plumbline_stand_in(CLI11::CLI11)
  endif()
  # Any other package (Boost) counts as not found; CMake's own module answers for Threads.
  if("${name}" MATCHES "^(nlohmann_json|fmt|spdlog|tl-expected|hwy|CLI11)$")
    set(${name}_FOUND TRUE)
  elseif(NOT "${name}" STREQUAL "Threads")
    set(${name}_FOUND FALSE)
    if("${ARGN}" MATCHES "REQUIRED")
      message(FATAL_ERROR "no row for package ${name} in cmake/macos_packages.cmake")
    endif()
  endif()
endmacro()

cmake_language(SET_DEPENDENCY_PROVIDER plumbline_provide SUPPORTED_METHODS FIND_PACKAGE)
