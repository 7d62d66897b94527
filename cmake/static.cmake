# plumbline_static: the same program out of the same objects, linked without shared libraries, so
# that it runs on any Linux of its architecture, also where nothing is installed. Not part of a
# normal build: scripts/static_binary.sh fetches what Debian has no archive of (Highway's source, in
# PLUMBLINE_HIGHWAY_SOURCE) and builds it; see docs/clusters.md.
set(PLUMBLINE_HIGHWAY_SOURCE "" CACHE PATH "Highway's source, of the version of its headers; for plumbline_static")
if(APPLE OR NOT EXISTS "${PLUMBLINE_HIGHWAY_SOURCE}/hwy/targets.cc" OR NOT TARGET plumbline_cli)
  return()
endif()

add_executable(plumbline_static EXCLUDE_FROM_ALL
  cli/main.cc
  cmake/static/fmt.cc
  cmake/static/spdlog.cc
  cmake/static/modules.cc
  cmake/static/names.cc
  cmake/static/pcap_without_dbus.cc
  reports/charts/gnuplot_popen.cc  # Boost's pipes call functions of threads that a static link leaves out
  ${PLUMBLINE_HIGHWAY_SOURCE}/hwy/targets.cc)
target_include_directories(plumbline_static PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_include_directories(plumbline_static SYSTEM PRIVATE ${PLUMBLINE_STATIC_INCLUDES})
target_compile_definitions(plumbline_static PRIVATE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)

# The archives by their files: as targets they would bring the shared libraries with them.
get_property(libraries GLOBAL PROPERTY PLUMBLINE_LIBRARIES)
set(modules)
foreach(library IN LISTS libraries)
  list(APPEND modules $<TARGET_FILE:${library}>)
  add_dependencies(plumbline_static ${library})
endforeach()
set(archives -l:libpcap.a)
if(PLUMBLINE_OPENSSL)
  list(APPEND archives -l:libcrypto.a)
endif()
target_link_libraries(plumbline_static PRIVATE -Wl,--start-group ${modules} ${archives} -Wl,--end-group)
# The linker warns of every function that could load glibc's modules; cmake/static/names.cc is the answer.
# Optimised across files, most of its commands end with a segmentation fault; why is not known.
target_link_options(plumbline_static PRIVATE -static -s -Wl,--no-warnings $<$<CXX_COMPILER_ID:GNU>:-fno-lto>)
set_target_properties(plumbline_static PROPERTIES
  OUTPUT_NAME plumbline-linux-${CMAKE_SYSTEM_PROCESSOR}
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/static
  EXPORT_COMPILE_COMMANDS OFF)  # what is fetched is not ours to lint
