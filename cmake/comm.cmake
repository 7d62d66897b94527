# plumbline_comm: the data path as a library for other programs (docs/library.md), out of the same objects as the program.
#   cmake --install build --component comm --prefix DIR
# puts its archive, include/plumbline/ and a CMake package there; nothing else installs them.
get_property(parts GLOBAL PROPERTY PLUMBLINE_COMM_PARTS)
if(NOT TARGET plumbline_collectives)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
if(NOT APPLE)
  find_package(hwy REQUIRED)
  set(highway hwy::hwy)
endif()
set(find_openssl)
if(PLUMBLINE_OPENSSL)
  set(find_openssl "find_dependency(OpenSSL COMPONENTS Crypto)")
endif()

list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
add_library(plumbline_comm STATIC ${parts})
set_target_properties(plumbline_comm PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME comm)
target_compile_features(plumbline_comm PUBLIC cxx_std_20)
target_include_directories(plumbline_comm INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(plumbline_comm PRIVATE ${PLUMBLINE_CRYPTO} fmt::fmt Threads::Threads ${highway})
if(options_across)  # only this version of the compiler could read it
  add_custom_command(TARGET plumbline_comm POST_BUILD VERBATIM COMMAND ${CMAKE_OBJCOPY} -R ".gnu.lto_*"
                     -R ".gnu.debuglto_*" -N __gnu_lto_slim -N __gnu_lto_v1 $<TARGET_FILE:plumbline_comm>)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/plumbline)
file(WRITE ${PROJECT_BINARY_DIR}/generated/plumblineConfig.cmake "\
include(CMakeFindDependencyMacro)
find_dependency(Threads)
${find_openssl}
find_dependency(fmt)
if(NOT APPLE)
  find_dependency(hwy)
endif()
include(\${CMAKE_CURRENT_LIST_DIR}/plumblineTargets.cmake)
")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/plumblineConfigVersion.cmake
                                 VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(TARGETS plumbline_comm EXPORT plumblineTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT comm EXCLUDE_FROM_ALL)
install(EXPORT plumblineTargets NAMESPACE plumbline:: DESTINATION ${package} COMPONENT comm EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_BINARY_DIR}/generated/plumblineConfig.cmake ${PROJECT_BINARY_DIR}/generated/plumblineConfigVersion.cmake
        DESTINATION ${package} COMPONENT comm EXCLUDE_FROM_ALL)
install(DIRECTORY include/plumbline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT comm EXCLUDE_FROM_ALL)
