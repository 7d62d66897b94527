#!/usr/bin/env bash
# How long local ranks take from the start of the program to the end of their first collective, a
# barrier (median of 5 runs of 2, 8 and 64 ranks), and what a cell of 4 ranks costs outside its
# timed part (from 100 cells).
#   scripts/start_times.sh [PLUMBLINE]   default: build/plumbline
# Needs a machine that does nothing else meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1-} in
  -h | --help)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
readonly plumbline=${1:-build/plumbline} runs=5
folder=$(mktemp -d)
readonly folder
trap 'rm -rf "$folder"' EXIT

# scenario RANKS BLOCK: a scenario of one block; prints its path.
scenario() {
  printf '{"plumbline": 1, "hosts": {"local": %d}, "launch": {"port_base": "auto"}, "roofs": false, "matrix": [%s]}\n' \
    "$1" "$2" >"$folder/scenario.json"
  echo "$folder/scenario.json"
}

# measure FILE: runs it into $folder/out; shows what it says only when it fails.
measure() {
  rm -rf "$folder/out"
  "$plumbline" run "$1" --out "$folder/out" --no-probes --quiet >"$folder/said" 2>&1 || {
    cat "$folder/said" >&2
    exit 1
  }
}

for ranks in 2 8 64; do
  file=$(scenario "$ranks" '{"kind": "check", "op": "barrier"}')
  took=()
  for ((i = 0; i < runs; ++i)); do
    begin=$(date +%s%N)
    measure "$file"
    end=$(date -d "$(sed -n 's/.*"time":"\([^"]*\)".*/\1/p' "$folder/out/records.jsonl")" +%s%N)
    took+=($(((end - begin) / 1000000)))
  done
  printf '%s\n' "${took[@]}" | sort -n | awk -v ranks="$ranks" '
    { t[NR] = $1 / 1000 }
    END { printf "%2d ranks to the first collective: median %.2f s of %d (%.2f to %.2f)\n", ranks, t[int((NR + 1) / 2)], NR, t[1], t[NR] }'
done

measure "$(scenario 4 '{"op": "allreduce", "bytes": 8, "repeat": 100, "stop": {"ci": 0, "max_n": 100, "max_time": "10ms"}}')"
grep -o 'Overhead per cell, .*' "$folder/said"
