#!/bin/sh
# Runs the small device tests under compute-sanitizer's memcheck and racecheck.
#   tests/gpu/sanitizer.sh <path of cubinet_gpu_tests>
# Exit code 0: both clean. 77: no compute-sanitizer here.
set -eu

tests=${1:?usage: sanitizer.sh <path of cubinet_gpu_tests>}
sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
if [ ! -x "$sanitizer" ]; then
  echo "SKIPPED: no compute-sanitizer on PATH or in ${CUDA_HOME:-/usr/local/cuda}/bin"
  exit 77
fi

# Compiles the kernels first, at full speed, and shows that the tests run here at all.
output=$("$tests" "[small]") || { echo "$output"; exit 1; }
case $output in
  *CUBINET_SKIPPED*) echo "SKIPPED: ${output#*CUBINET_SKIPPED: }"; exit 77 ;;
esac

export CUBINET_TEST_DEADLINE_S=300
status=0
for tool in memcheck racecheck; do
  echo "== $tool"
  "$sanitizer" --tool "$tool" --error-exitcode 9 "$tests" "[small]" || status=1
done
exit $status
