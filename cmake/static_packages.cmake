# Answers find_package() in the cross build of plumbline_static: the headers in
# PLUMBLINE_CROSS_SYSROOT, and no libraries, because that target links the archives itself
# (cmake/static.cmake). Loaded through CMAKE_PROJECT_TOP_LEVEL_INCLUDES; normal builds never see it.
set(PLUMBLINE_STATIC_INCLUDES
    ${PLUMBLINE_CROSS_SYSROOT}/usr/include ${PLUMBLINE_CROSS_SYSROOT}/usr/include/${PLUMBLINE_CROSS_TRIPLET})

# package  target  definitions...
set(plumbline_static_packages
    "OpenSSL|OpenSSL::Crypto" "nlohmann_json|nlohmann_json::nlohmann_json" "fmt|fmt::fmt"
    "spdlog|spdlog::spdlog|SPDLOG_COMPILED_LIB|SPDLOG_FMT_EXTERNAL" "tl-expected|tl::expected" "hwy|hwy::hwy"
    "CLI11|CLI11::CLI11")

macro(plumbline_provide method name)
  set(plumbline_provided FALSE)
  foreach(row IN LISTS plumbline_static_packages)
    string(REPLACE "|" ";" row "${row}")
    list(POP_FRONT row package target)
    if(package STREQUAL "${name}")
      set(plumbline_provided TRUE)
      if(NOT TARGET ${target})
        add_library(${target} INTERFACE IMPORTED GLOBAL)
        set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${PLUMBLINE_STATIC_INCLUDES}"
                              INTERFACE_COMPILE_DEFINITIONS "${row}")
      endif()
    endif()
  endforeach()
  # Any other package (Boost) counts as not found; CMake's own module answers for Threads.
  if(plumbline_provided)
    set(${name}_FOUND TRUE)
  elseif(NOT "${name}" MATCHES "^(Threads|Git)$")
    set(${name}_FOUND FALSE)
    if("${ARGN}" MATCHES "REQUIRED")
      message(FATAL_ERROR "no row for package ${name} in cmake/static_packages.cmake")
    endif()
  endif()
endmacro()

cmake_language(SET_DEPENDENCY_PROVIDER plumbline_provide SUPPORTED_METHODS FIND_PACKAGE)
