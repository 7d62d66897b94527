#!/usr/bin/env bash
# How long doctor takes in labs of network namespaces: median of 5 runs each of a healthy star of 4,
# the same with a firewall that drops, a healthy mesh of 8 (28 pairs), and this machine alone.
#   sudo scripts/doctor_times.sh [PLUMBLINE...]   default: build/plumbline; several take turns
#   sudo RUNS=9 scripts/doctor_times.sh NEW OLD
# Needs root for the labs, and a machine that does nothing else meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1-} in
  -h | --help)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
[ $# -gt 0 ] || set -- build/plumbline
readonly programs=("$@") plumbline=$1 runs=${RUNS:-5} lab=times-$$
[ "$(id -u)" = 0 ] || {
  echo "doctor_times: labs need root; run it with sudo" >&2
  exit 1
}
folder=$(mktemp -d)
readonly folder
trap '"$plumbline" lab down --lab "$lab" >/dev/null 2>&1; rm -rf "$folder"' EXIT

# quietly COMMAND...: its standard error is shown only when it fails.
quietly() {
  "$@" 2>"$folder/errors" || {
    cat "$folder/errors" >&2
    exit 1
  }
}

# up SHAPE HOSTS: a lab; prints the path of its host file.
up() {
  local topology=$folder/topology.json
  printf '{"plumbline_lab": 1, "name": "%s", "shape": "%s", "hosts": %d}\n' "$lab" "$1" "$2" >"$topology"
  quietly "$plumbline" lab up "$topology" --seed 1 | tail -n 1
}

# times NAME DOCTOR-ARGUMENT...
times() {
  local name=$1 program begin status
  shift
  : >"$folder/took"
  for ((i = 0; i < runs; ++i)); do
    for program in "${programs[@]}"; do
      begin=$(date +%s%N) status=0
      "$program" doctor "$@" >/dev/null 2>&1 || status=$?
      echo "$program $((($(date +%s%N) - begin) / 10000000)) $status" >>"$folder/took"
    done
  done
  for program in "${programs[@]}"; do
    awk -v program="$program" '$1 == program { print $2, $3 }' "$folder/took" | sort -n | awk -v name="$name" '
      { t[NR] = $1 / 100; status[$2] }
      END {
        for (each in status) all = all " " each
        printf "%-28s median %.2f s of %d (%.2f to %.2f), exit status%s", name, t[int((NR + 1) / 2)], NR, t[1], t[NR], all
      }'
    if [ ${#programs[@]} -gt 1 ]; then echo ": $program"; else echo; fi
  done
}

hosts=$(up star 4)
times "healthy star of 4" "$hosts"
quietly "$plumbline" lab inject drop_inbound --lab "$lab" --seed 1 >/dev/null
times "star of 4, a host drops" "$hosts"
"$plumbline" lab down --lab "$lab" >/dev/null
hosts=$(up mesh 8)
times "healthy mesh of 8 (28 pairs)" "$hosts"
times "this machine alone"
