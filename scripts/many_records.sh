#!/usr/bin/env bash
# How long reports and a comparison of very many launches take, and how much memory: writes the file
# (scripts/many_records.py, 1.7 GB for a million records), then prints for each its seconds and the
# largest resident memory of its process. The comparison is of half as many records on each side.
#   scripts/many_records.sh [RECORDS [PLUMBLINE]]   default: 1000000 build/plumbline
# The file lies in MANY_RECORDS_FOLDER (default: a temporary folder, removed at the end).
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1-} in
  -h | --help)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit
    ;;
esac
readonly records=${1:-1000000} plumbline=${2:-build/plumbline}
[[ $records =~ ^[0-9]+$ ]] || {
  echo "many_records: '$records' is no number of records; see scripts/many_records.sh --help" >&2
  exit 1
}
folder=${MANY_RECORDS_FOLDER-}
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
readonly folder file=$folder/many-$records.jsonl

[ -s "$file" ] || scripts/many_records.py "$records" >"$file"
echo "$records records, $(du -m "$file" | cut -f1) MiB"

# measure NAME COMMAND...: its output goes into the folder.
measure() {
  local name=$1
  shift
  python3 - "$name" "$folder" "$@" <<'PY'
import os, resource, subprocess, sys, time
name, folder, *command = sys.argv[1:]
start = time.monotonic()
with open(os.path.join(folder, "out-" + name), "wb") as out, \
        open(os.path.join(folder, "err-" + name), "wb") as err:
    code = subprocess.call(command, stdout=out, stderr=err)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%-10s %6.1f s (%5.1f s of CPU), %5d MiB, %9d bytes of output, exit %d" % (
    name, time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024,
    os.path.getsize(out.name), code))
sys.exit(code not in (0, 5))  # 5: compare found what is slower
PY
}

for report in markdown console csv html; do
  measure "$report" "$plumbline" report "$report" "$file"
done

half=$((records / 2))
for side in a b; do
  [ "$side" = a ] && slower=0 || slower=5
  [ -s "$folder/$side-$half.jsonl" ] ||
    scripts/many_records.py "$half" --seed "${#side}$slower" --slower "$slower" >"$folder/$side-$half.jsonl"
done
measure compare "$plumbline" compare "$folder/a-$half.jsonl" "$folder/b-$half.jsonl"
tail -n 2 "$folder/out-compare"
