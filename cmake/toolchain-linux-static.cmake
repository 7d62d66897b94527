# Cross-compiles plumbline_static for another Linux architecture with Debian's cross compiler.
# scripts/static_binary.sh says which (PLUMBLINE_CROSS_MACHINE as `uname -m` says it,
# PLUMBLINE_CROSS_TRIPLET) and unpacks that architecture's packages into PLUMBLINE_CROSS_SYSROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${PLUMBLINE_CROSS_MACHINE})

# try_compile() reads this file again without the caller's variables.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PLUMBLINE_CROSS_MACHINE PLUMBLINE_CROSS_TRIPLET
     PLUMBLINE_CROSS_SYSROOT)
set(CMAKE_CXX_COMPILER ${PLUMBLINE_CROSS_TRIPLET}-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${PLUMBLINE_CROSS_SYSROOT}/usr/lib/${PLUMBLINE_CROSS_TRIPLET}")

# Look into the folder of unpacked packages, never into this machine's own.
set(CMAKE_FIND_ROOT_PATH ${PLUMBLINE_CROSS_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
