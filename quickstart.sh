#!/usr/bin/env bash
# Sets everything up and does the main job on this machine: installs missing packages, builds the
# program, probes the machine and runs a small matrix of collectives between real processes over TCP,
# then says where the page, the table, the plots and the records are.
#   ./quickstart.sh            results go to plumbline-out/quickstart-<time>
#   ./quickstart.sh --out DIR  results go to DIR
# The build comes first and takes minutes; run again, it is quick.
set -euo pipefail
here=$PWD
cd "$(dirname "$0")"

out=plumbline-out/quickstart-$(date +%Y%m%d-%H%M%S)
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      sed -n '2,7s/^# \{0,1\}//p' "$0"
      exit
      ;;
    --out)
      [ -n "${2-}" ] || { echo "quickstart: --out wants a folder" >&2 && exit 1; }
      case $2 in /*) out=$2 ;; *) out=$here/$2 ;; esac
      shift 2
      ;;
    *)
      echo "quickstart: unknown argument '$1'; see ./quickstart.sh --help" >&2
      exit 1
      ;;
  esac
done

if [ -e build ] && [ ! -w build ]; then
  echo "quickstart: you may not write to build/, which somebody else made; clone the project into a folder of your own" >&2
  exit 1
fi
step() { printf '\n== %s\n' "$*"; }

[ -e build/plumbline ] || echo "The first time this installs packages, then builds for 5 to 20 minutes."
step "packages"
scripts/packages.sh build run
echo "all there"

step "build"
[ -e build/build.ninja ] || cmake --preset release --log-level=NOTICE
cmake --build --preset release --target plumbline

step "run: scenarios/quickstart.json"
status=0
build/plumbline run scenarios/quickstart.json --out "$out" || status=$?

step "results"
show() { if [ -e "$out/$2" ]; then printf '%-9s%s\n' "$1" "$out/$2"; fi; }
show page report.html
show table report.md
show plots plots
show records records.jsonl
if [ "$status" -ne 0 ]; then
  echo "the run ended with exit status $status; what was measured until then is above" >&2
fi
exit "$status"
