#!/usr/bin/env bash
# The one place where package names stand: which Debian (12) and Homebrew packages each group of
# work needs, and the code that installs what is missing of them and nothing else.
#   scripts/packages.sh build run       install what these groups lack
#   scripts/packages.sh --check build   only say what is missing; exit 1 when something is
#   scripts/packages.sh --list [GROUP]  print the rows of the table
# Works as root and through sudo; costs one dpkg-query when there is nothing to do.
set -euo pipefail

# group  debian                     homebrew
# build holds everything that configuring needs, the test libraries (header-only or small) included,
# so that quickstart.sh and test.sh share one build folder.
# torch (125 packages, 128 MB to fetch, 561 MB on disk) is installed by hand only: its lab cells are
# skipped without it.
# "-" in the homebrew column: macOS brings it along or does without it (gnuplot-iostream has no
# formula; there plots go through a plain pipe; hashes are our own code there, not libssl's).
# HomebrewFormula/plumbline.rb has the same rows of build and run, less what tests need.
table() {
  cat <<'END'
build   g++                        -
build   make                       -
build   cmake                      cmake
build   ninja-build                ninja
build   pkg-config                 pkgconf
build   libssl-dev                 -
build   nlohmann-json3-dev         nlohmann-json
build   libfmt-dev                 fmt
build   libspdlog-dev              spdlog
build   libexpected-dev            tl-expected
build   libhwy-dev                 highway
build   libcli11-dev               cli11
build   libvalijson-dev            valijson
build   libgnuplot-iostream-dev    -
build   libboost-iostreams-dev     -
build   libboost-system-dev        -
build   libboost-filesystem-dev    -
build   libgtest-dev               googletest
build   libgmock-dev               googletest
build   libbenchmark-dev           google-benchmark
build   libpcap-dev                -
run     gnuplot-nox                gnuplot
run     fonts-dejavu-core          -
run     iproute2                   -
test    python3                    python
test    python3-jsonschema         -
test    procps                     -
test    openssh-client             -
test    git                        git
test    ccache                     ccache
test    dpkg-dev                   -
test    libibverbs-dev             -
test    file                       -
test    groff-base                 -
labs    iproute2                   -
labs    nftables                   -
labs    iptables                   -
labs    ebtables                   -
labs    firewalld                  -
labs    ufw                        -
labs    iputils-ping               -
labs    tshark                     -
labs    tcpdump                    -
labs    openssh-server             -
labs    openssh-client             -
labs    rsync                      -
labs    iperf3                     -
labs    libbenchmark-tools         -
labs    python3-scipy              -
labs    openmpi-bin                -
labs    mpich                      -
labs    slurmctld                  -
labs    slurmd                     -
labs    slurm-client               -
labs    munge                      -
labs    qemu-system-x86            -
labs    busybox-static             -
labs    cpio                       -
labs    kmod                       -
labs    ibverbs-providers          -
labs    chromium                   -
labs    chromium-driver            -
labs    python3-selenium           -
labs    mmdebstrap                 -
labs    man-db                     -
peers   libgloo-dev                -
peers   openmpi-bin                -
peers   libopenmpi-dev             -
peers   mpich                      -
peers   libmpich-dev               -
peers   ucx-utils                  -
peers   perftest                   -
torch   python3-torch              -
static  g++-aarch64-linux-gnu      -
static  qemu-user                  -
package dpkg-dev                   -
package file                       -
lint    clang-format-14            llvm@14
lint    clang-tidy-14              llvm@14
lint    clang-14                   llvm@14
lint    shellcheck                 shellcheck
asan    clang-14                   llvm@14
asan    libclang-rt-14-dev         -
asan    lld-14                     -
cross   nodejs                     node
cross   npm                        node
cross   llvm-14                    llvm@14
END
}

say() { printf 'packages: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# wanted COLUMN GROUP...  prints the package names of the groups, each once
wanted() {
  local column=$1 group
  shift
  for group in "$@"; do
    table | awk -v group="$group" -v column="$column" \
      '$1 == group && $column != "-" { print $column }'
  done | awk '!seen[$0]++'
}

check_groups() {
  local group
  for group in "$@"; do
    table | awk -v group="$group" '$1 == group { found = 1 } END { exit !found }' ||
      die "no group '$group'; there are: $(table | awk '!seen[$1]++ { printf "%s%s", sep, $1; sep = " " }')"
  done
}

# missing_of MANAGER NAME...  prints the names that are not installed
missing_of() {
  local manager=$1 installed
  shift
  case $manager in
    # dpkg-query answers 1 as soon as one name is unknown to it: expected, the output counts.
    apt) installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
      awk '$1 == "installed" { print $2 }') || true ;;
    brew) installed=$(brew list --formula -1) ;;
  esac
  local name
  for name in "$@"; do
    grep -qxF -- "$name" <<<"$installed" || printf '%s\n' "$name"
  done
}

# Prints the words that make a command run as root: nothing, or sudo.
become_root() {
  if [ "$(id -u)" -eq 0 ]; then
    return 0
  elif ! command -v sudo >/dev/null; then
    die "not root and no sudo here; as root run: apt-get install --no-install-recommends $*"
  elif sudo -n true 2>/dev/null || [ -t 0 ]; then
    echo sudo
  else
    die "sudo wants a password and there is no terminal to ask on; first run: sudo apt-get install --no-install-recommends $*"
  fi
}

readonly policy=/usr/sbin/policy-rc.d

# Lab packages can bring daemons; Debian starts them on installation unless policy-rc.d says no.
# An own policy of the machine is left alone.
forbid_services() {
  if [ -e "$policy" ]; then return 0; fi
  printf '#!/bin/sh\n# of plumbline, for the time of one installation\nexit 101\n' |
    "$@" tee "$policy" >/dev/null
  "$@" chmod 755 "$policy"
  # shellcheck disable=SC2064  # the words of root are fixed now
  trap "$* rm -f $policy" EXIT
}

install_apt() {
  local root=()
  local word
  word=$(become_root "$@") || exit 1
  if [ -n "$word" ]; then root=("$word"); fi
  say "apt-get update"
  ${root[@]+"${root[@]}"} apt-get -qq update ||
    die "apt-get update failed (see above): is the network up, are the sources right?"
  say "installing with apt-get: $*"
  if [ "$labs" = yes ]; then forbid_services ${root[@]+"${root[@]}"} env; fi
  ${root[@]+"${root[@]}"} env DEBIAN_FRONTEND=noninteractive \
    apt-get -y -qq -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" ||
    die "apt-get could not install: $*"
}

install_brew() {
  say "installing with brew: $*"
  brew install "$@" || die "brew could not install: $*"
}

main() {
  local action=install manager column
  case ${1-} in
    --list)
      shift
      check_groups "$@"
      if [ $# -eq 0 ]; then table; fi
      local group
      for group in "$@"; do table | awk -v group="$group" '$1 == group'; done
      return
      ;;
    --check) action=check && shift ;;
    -h | --help | '')
      sed -n '2,7s/^# \{0,1\}//p' "$0"
      return
      ;;
    -*) die "unknown option '$1'; see --help" ;;
  esac
  check_groups "$@"

  if command -v apt-get >/dev/null; then
    manager=apt column=2
  elif command -v brew >/dev/null; then
    manager=brew column=3
  else
    die "neither apt-get nor brew here; install by hand: $(wanted 2 "$@" | xargs)"
  fi
  labs=no
  case " $* " in *' labs '*) labs=yes ;; esac

  local names=() missing=() name
  while IFS= read -r name; do names+=("$name"); done < <(wanted "$column" "$@")
  if [ ${#names[@]} -eq 0 ]; then return 0; fi
  while IFS= read -r name; do missing+=("$name"); done < <(missing_of "$manager" "${names[@]}")
  if [ ${#missing[@]} -eq 0 ]; then return 0; fi
  if [ "$action" = check ]; then
    die "missing: ${missing[*]}"
  fi
  "install_$manager" "${missing[@]}"
}

main "$@"
