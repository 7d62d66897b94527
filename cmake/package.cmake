# What cpack makes of an installation (docs/install.md):
#   cpack --config build/CPackConfig.cmake           a .deb for the Debian or Ubuntu it is built on
#   cpack --config build/CPackConfig.cmake -G TGZ    a tarball with the static binary, for any Linux
# Neither holds tests. What differs between the two is in package_files.cmake.
if(APPLE OR CMAKE_CROSSCOMPILING OR NOT TARGET plumbline)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME plumbline)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "network diagnostics and collective benchmarks for small clusters")
set(CPACK_PACKAGE_DESCRIPTION "Tells whether a small cluster's network is sound, why not when it is not, and how
fast collective operations run on it. For clusters that train and serve models
over Ethernet, Thunderbolt or loopback; reaches other machines over ssh.")
set(CPACK_PACKAGE_FILE_NAME plumbline-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_files.cmake)
set(CPACK_PLUMBLINE_STATIC ${PROJECT_SOURCE_DIR}/build-static/plumbline-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PLUMBLINE_MARK "plumbline-build:${PLUMBLINE_BUILD};")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(PLUMBLINE_MAINTAINER "plumbline contributors <plumbline@localhost>" CACHE STRING "who answers for the .deb")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${PLUMBLINE_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # Depends: what the program is linked with, in the versions of this system
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openssh-client, nftables, tcpdump")
# Recommends: the packages that scripts/packages.sh installs to run it.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/scripts/packages.sh --list run
                OUTPUT_VARIABLE rows OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "run +([^ \n]+)[^\n]*" "\\1" names "${rows}")
string(REPLACE "\n" ", " CPACK_DEBIAN_PACKAGE_RECOMMENDS "${names}")
include(CPack)
