#!/usr/bin/env bash
# Format and clang-tidy, both with version 14, so that every machine gives the same answer.
#   scripts/lint.sh format          fails when clang-format would change a file; shows the places
#   scripts/lint.sh fix             lets clang-format change them
#   scripts/lint.sh tidy            clang-tidy over what changed since the base (the merge base with
#                                   origin/main, or the previous commit) and a share of the rest,
#                                   which moves on with the date and the commit; after 150 seconds
#                                   (LINT_SECONDS) the rest is left, and counted
#   scripts/lint.sh tidy --all      over everything
#   scripts/lint.sh tidy FILE...    over these .cc files
# tidy compiles each file by itself as the preset `lint` says (which builds nothing), so a file that does not include
# what it uses is found too; what the build writes has to be there: build the preset `release` first.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly share=6 # each run takes one of so many parts of the unchanged files

sources() {
  find . -path './.*' -prune -o -path './build*' -prune -o -path './plumbline-out' -prune -o \
    \( -name '*.cc' -o -name '*.h' \) -print | sed 's|^\./||' | LC_ALL=C sort
}

format() {
  sources | xargs -n 40 clang-format-14 "$@" --style=file
}

# The .cc files that this machine's build compiles; the other platform's siblings are not among them.
compiled() {
  sed -n 's|^  "file": "\(.*\)",\{0,1\}$|\1|p' build-lint/compile_commands.json |
    grep -v '/build-lint/' | sed "s|^$PWD/||" | LC_ALL=C sort -u
}

# Changed files since the base; a changed header stands for the first file that includes it.
changed() {
  local base file
  base=$(git merge-base HEAD origin/main 2>/dev/null) || base=
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(git rev-parse -q --verify 'HEAD~1') || return 0
  fi
  git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h' | while IFS= read -r file; do
    case $file in
      *.cc) echo "$file" ;;
      *.h) sources | grep '\.cc$' | xargs grep -lF "\"$file\"" | head -n 1 ;;
    esac
  done
}

rotating_share() {
  local turn
  turn=$(($(date +%j | sed 's/^0*//') + 16#$(git rev-parse -q --verify --short=4 HEAD 2>/dev/null || echo 0)))
  compiled | awk -v share="$share" -v turn="$turn" 'NR % share == turn % share'
}

tidy() {
  local files until
  cmake --preset lint --log-level=NOTICE >/dev/null
  until=$(($(date +%s) + 86400))
  case ${1-} in
    --all) files=$(compiled) ;;
    '')
      # In an order of its own each day, so that what is left one day is reached another day.
      files=$({ changed && rotating_share; } | LC_ALL=C sort -u | grep -xFf <(compiled) |
        shuf --random-source=<(yes "$(date +%j)")) || true
      until=$(($(date +%s) + ${LINT_SECONDS:-150}))
      ;;
    *) files=$(printf '%s\n' "$@") ;;
  esac
  [ -n "$files" ] || return 0
  echo "lint: clang-tidy over $(wc -l <<<"$files") of $(compiled | wc -l) files"
  local left
  left=$(mktemp)
  # shellcheck disable=SC2064  # the name is fixed now
  trap "rm -f '$left'" EXIT
  # The commands are GCC's: clang does not know all of its warning flags.
  # shellcheck disable=SC2016  # the inner shell expands these
  xargs -n 1 -P "$(nproc)" sh -c '
    if [ "$(date +%s)" -ge "$1" ]; then echo "$3" >>"$2"; exit 0; fi
    exec clang-tidy-14 -quiet -p build-lint --extra-arg=-Wno-unknown-warning-option "$3"' \
    tidy "$until" "$left" <<<"$files" 2> >(grep -v 'warnings\? generated\.$' >&2)
  if [ -s "$left" ]; then echo "lint: $(wc -l <"$left") files were left for want of time"; fi
}

case ${1-} in
  format) format --dry-run -Werror ;;
  fix) format -i ;;
  tidy) shift && tidy "$@" ;;
  *) sed -n '2,12s/^# \{0,1\}//p' "$0" ;;
esac
