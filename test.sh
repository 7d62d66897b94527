#!/usr/bin/env bash
# Sets everything up and runs all tests: installs missing packages, builds everything, ends with
# ctest's summary and its exit status. A test that this machine cannot run is skipped, with the
# reason, and counted.
#   ./test.sh                  every test but those labelled exhaustive
#   ./test.sh --labs           also the tests that build networks of their own (namespaces; root)
#   ./test.sh -R tcp -j1       further arguments go to ctest
#   ./test.sh -L exhaustive    the full cross of the collectives instead of its covering array, 20 000 attacks on plans, arrays of 4 GiB
set -euo pipefail
cd "$(dirname "$0")"

groups=(build run test)
arguments=()
labels=(-LE exhaustive)
unset TEST_LABS
for argument in "$@"; do
  case $argument in
    -h | --help)
      sed -n '2,8s/^# \{0,1\}//p' "$0"
      exit
      ;;
    --labs)
      groups+=(labs peers)
      # axe-core, which judges the page, comes from npm; where there is one it is not replaced.
      command -v npm >/dev/null || groups+=(cross)
      export TEST_LABS=1 # the lab tests ask for it
      ;;
    -L | -LE | --label-regex | --label-exclude)
      labels=()
      arguments+=("$argument")
      ;;
    *) arguments+=("$argument") ;;
  esac
done

scripts/packages.sh "${groups[@]}"
[ -e build/build.ninja ] || cmake --preset release --log-level=NOTICE
cmake --build --preset release
if [ -n "${TEST_LABS-}" ] && [ "$(uname -s)" = Linux ]; then
  # One link more; without it the tests that need it say so and are skipped.
  scripts/static_binary.sh || [ $? -eq 77 ]
fi
# Runs of the tests have no place in the user's own list of runs.
export XDG_STATE_HOME="$PWD/build/test_state"
# Half of the tests' time is waiting (for a watchdog, a namespace, a lost peer): four of them fill two cores.
scripts/run_ctest.py build -j4 ${labels[@]+"${labels[@]}"} ${arguments[@]+"${arguments[@]}"}
