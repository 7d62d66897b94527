#!/usr/bin/env bash
# Builds the static plumbline that `--push` copies to other hosts: agent, ranks and all the rest in
# one file that needs nothing of the Linux it runs on. Into build-static/plumbline-linux-MACHINE.
#   scripts/static_binary.sh [x86_64|aarch64|all]   default: this machine's own architecture
# This machine's own is one link more of build/ (preset release); another architecture is a whole
# cross build (about a quarter of an hour on 2 cores) with Debian's cross compiler, which
# `scripts/packages.sh static` installs. What Debian has no archive of is fetched with apt-get into
# .cache/static, from this machine's own package sources and without touching its package lists.
# Exit status 77 = cannot be done here, with the reason on standard error.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly root=$PWD
readonly cache=$root/.cache/static
readonly out=$root/build-static

# uname -m  Debian's name  GNU triplet
architectures() {
  cat <<'END'
x86_64  amd64 x86_64-linux-gnu
aarch64 arm64 aarch64-linux-gnu
END
}

say() { printf 'static_binary: %s\n' "$*" >&2; }
skip() {
  say "skipped: $*"
  exit 77
}

own=$(uname -m)
wanted=${1-$own}
case $wanted in
  -h | --help)
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    exit
    ;;
  all) wanted=$(architectures | awk '{ print $1 }') ;;
  *)
    if ! architectures | awk -v name="$wanted" '$1 == name { found = 1 } END { exit !found }'; then
      say "no architecture '$wanted'; there are: $(architectures | awk '{ printf "%s ", $1 }')all"
      exit 1
    fi
    ;;
esac

[ "$(uname -s)" = Linux ] || skip "a static Linux binary is built on Linux"
for tool in apt-get dpkg-query dpkg-deb tar; do
  command -v "$tool" >/dev/null || skip "no $tool: what is linked comes from Debian's packages"
done
scripts/packages.sh build || skip "the packages of a build are missing (see above)"

# private_apt ARCHITECTURE WORDS...  apt-get with lists of its own, and with the sources of programs.
private_apt() {
  local architecture=$1 state=$cache/apt-$1 list
  shift
  if [ ! -e "$state/apt.conf" ]; then
    mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial" "$state/sources"
    for list in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources; do
      if [ -e "$list" ]; then
        sed 's/^Types:.*/Types: deb deb-src/' "$list" >"$state/sources/${list##*/}"
      fi
    done
    if [ -e /etc/apt/sources.list ]; then
      sed -n 's/^deb \(.*\)/deb \1\ndeb-src \1/p' /etc/apt/sources.list >"$state/sources/one-line.list"
    fi
    cat >"$state/apt.conf" <<END
Dir::State "$state/state";
Dir::State::status "/dev/null";
Dir::Cache "$state/cache";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$state/sources";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "$(id -un)";
END
  fi
  if [ ! -e "$state/updated" ]; then
    say "fetching package lists ($architecture)"
    APT_CONFIG=$state/apt.conf apt-get -qq update >&2 || return 1
    touch "$state/updated"
  fi
  if ! APT_CONFIG=$state/apt.conf apt-get -qq "$@" >&2; then
    rm -f "$state/updated" # lists that have become old: the next call fetches them anew
    return 1
  fi
}

# Prints the folder with Highway's source, of the very version whose headers are installed.
highway_source() {
  local package version folder
  package=$(dpkg-query -W -f '${source:Package}' libhwy-dev)
  version=$(dpkg-query -W -f '${source:Version}' libhwy-dev)
  folder=$cache/highway-$version
  if [ ! -e "$folder/hwy/targets.cc" ]; then
    mkdir -p "$folder/fetched"
    (cd "$folder/fetched" && private_apt "$(dpkg --print-architecture)" source --download-only "$package=$version") ||
      skip "apt-get cannot fetch the source of $package $version (see above)"
    tar -xf "$folder"/fetched/*.orig.tar.* -C "$folder" --strip-components=1
  fi
  echo "$folder"
}

# Unpacks the packages of another architecture and links to the headers that all of them share.
prepare_sysroot() {
  local architecture=$1 sysroot=$2 name package
  if [ ! -e "$sysroot/complete" ]; then
    rm -rf "$sysroot"
    mkdir -p "$sysroot/fetched"
    (cd "$sysroot/fetched" && private_apt "$architecture" download libssl-dev libpcap0.8-dev) ||
      skip "apt-get cannot fetch the packages of $architecture (see above)"
    for package in "$sysroot"/fetched/*.deb; do dpkg-deb -x "$package" "$sysroot"; done
    touch "$sysroot/complete"
  fi
  for name in nlohmann fmt spdlog tl hwy CLI; do
    [ -e "/usr/include/$name" ] || skip "no $name under /usr/include; run scripts/packages.sh build"
    ln -sfn "/usr/include/$name" "$sysroot/usr/include/$name"
  done
}

# One link more of the release build.
build_own() {
  local source=$1
  [ -e build/build.ninja ] || cmake --preset release --log-level=NOTICE
  if ! grep -qxF "PLUMBLINE_HIGHWAY_SOURCE:PATH=$source" build/CMakeCache.txt; then
    cmake build --log-level=NOTICE "-DPLUMBLINE_HIGHWAY_SOURCE=$source" >&2
  fi
  cmake --build build --target plumbline plumbline_static >&2
}

build_other() {
  local machine=$1 architecture=$2 triplet=$3 source=$4 folder=$root/build-static/$1
  command -v "$triplet-g++" >/dev/null ||
    skip "no cross compiler $triplet-g++; run scripts/packages.sh static"
  prepare_sysroot "$architecture" "$cache/sysroot-$architecture"
  cmake -S . -B "$folder" -G Ninja -Wno-dev --log-level=WARNING \
    -DCMAKE_TOOLCHAIN_FILE="$root/cmake/toolchain-linux-static.cmake" \
    -DCMAKE_PROJECT_TOP_LEVEL_INCLUDES="$root/cmake/static_packages.cmake" \
    -DPLUMBLINE_CROSS_MACHINE="$machine" -DPLUMBLINE_CROSS_TRIPLET="$triplet" \
    -DPLUMBLINE_CROSS_SYSROOT="$cache/sysroot-$architecture" -DPLUMBLINE_HIGHWAY_SOURCE="$source" \
    -DPLUMBLINE_TESTS=OFF -DPLUMBLINE_BENCHMARKS=OFF -DCMAKE_BUILD_TYPE=Release >&2
  cmake --build "$folder" --target plumbline_static >&2
}

source=$(highway_source)
mkdir -p "$out"
architectures | while read -r machine architecture triplet; do
  grep -qxF "$machine" <<<"$wanted" || continue
  if [ "$machine" = "$own" ]; then
    build_own "$source"
    built=build/static/plumbline-linux-$machine
    "$built" version >/dev/null || exit 1
  else
    build_other "$machine" "$architecture" "$triplet" "$source"
    built=$out/$machine/static/plumbline-linux-$machine
  fi
  # Whoever copies it in this moment gets the old one or the new one, never a half.
  cp "$built" "$out/.plumbline-linux-$machine"
  mv -f "$out/.plumbline-linux-$machine" "$out/plumbline-linux-$machine"
  say "build-static/plumbline-linux-$machine, $(($(wc -c <"$built") / 1000)) kB"
done
