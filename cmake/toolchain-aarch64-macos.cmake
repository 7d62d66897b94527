# Cross-compiles for Apple silicon from Linux: to prove that the macOS siblings of the platform files
# compile and that nothing else calls what only Linux has, and to make the one file for Macs.
# scripts/cross_macos.sh prepares the compiler (zig's clang with its libc++, and Apple's list of what
# libSystem has) and hands its wrappers over in PLUMBLINE_CROSS_TOOLS; the packages come from
# cmake/macos_packages.cmake. The program cannot run here.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)

# try_compile() reads this file again without the caller's variables.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PLUMBLINE_CROSS_TOOLS
     PLUMBLINE_CROSS_SYSROOT)
set(CMAKE_CXX_COMPILER ${PLUMBLINE_CROSS_TOOLS}/c++)
set(CMAKE_AR ${PLUMBLINE_CROSS_TOOLS}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${PLUMBLINE_CROSS_TOOLS}/ranlib CACHE FILEPATH "")
# CMake insists on finding this one for Darwin; it is called at installation only, never here.
set(CMAKE_INSTALL_NAME_TOOL ${PLUMBLINE_CROSS_TOOLS}/install_name_tool CACHE FILEPATH "")

# Look into the folder of linked headers, never into this machine's own.
set(CMAKE_FIND_ROOT_PATH ${PLUMBLINE_CROSS_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
