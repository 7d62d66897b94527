#!/usr/bin/env bash
# Lets libFuzzer attack every parser of foreign bytes: builds tests/fuzz with the preset asan (clang 14, the address and
# undefined sanitizers), then runs each target for some seconds on its corpus.
#   scripts/fuzz.sh               60 seconds for each target
#   scripts/fuzz.sh 10            10 seconds for each
#   scripts/fuzz.sh 10 trace      only fuzz_trace
# New inputs are kept in build-asan/corpus/NAME. One that crashes a target is left in build-asan/crash-NAME-*: mend
# the code, then move the file into tests/fuzz/corpus/NAME, where every build replays it.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1-} in
  -h | --help)
    sed -n '2,8s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || {
  echo "fuzz: '$seconds' is no number of seconds; see scripts/fuzz.sh --help" >&2
  exit 1
}

folder=build-asan
cmake --preset asan --log-level=NOTICE >&2

names=()
for source in tests/fuzz/*_fuzz.cc; do
  name=$(basename "$source" _fuzz.cc)
  [ -z "${2-}" ] || [ "$2" = "$name" ] || continue
  names+=("$name")
done
[ ${#names[@]} -ne 0 ] || {
  echo "fuzz: there is no target '$2'; tests/fuzz has one *_fuzz.cc for each" >&2
  exit 1
}
cmake --build "$folder" --target "${names[@]/#/fuzz_}"

# One target: what it says comes out whole when it ends, as others run beside it.
attack() {
  local name=$1 log=$folder/fuzz-$1.log status=0
  mkdir -p "$folder/corpus/$name"
  "$folder/tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=65536 -print_final_stats=1 -verbosity=0 -artifact_prefix="$folder/crash-$name-" \
    "$folder/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 || status=1
  echo "fuzz: $name for $seconds s" && cat "$log"
  return $status
}
export -f attack
export folder seconds
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I NAME bash -c 'attack NAME'
