# The everyday commands; CMake does the work. The cabinet that `make warmup` fills is the user's own
# (~/.cache/cubinet) unless CUBINET_CACHE_DIR says otherwise.
BUILD ?= build
WHEELS ?= $(BUILD)/wheels
JOBS ?= $(shell nproc)
# Number of tests that run at once: twice JOBS, because some tests only wait.
TEST_JOBS ?= $(shell expr 2 \* $(JOBS))
CMAKE_FLAGS ?=
MODEL ?= examples/models/qwen3.5-35b-a3b/config.json
EP ?= 8
ARCH ?= sm_90a
M_MAX ?=
# bf16, fp8 or bf16,fp8; empty: the type of the model's weights.
DTYPE ?=
# How long `make fuzz` runs, in seconds.
FUZZ_SECONDS ?= 60
# The Python for which `make wheel` builds. It must have pip.
PYTHON ?= python3

CUBINET = $(BUILD)/bin/cubinet
CCACHE = $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
# All checkouts can share one compiler cache.
export CCACHE_BASEDIR = $(CURDIR)
export CCACHE_NOHASHDIR = 1
CTEST = ctest --test-dir $(BUILD) --output-on-failure

.PHONY: warmup test test-gpu bench wheel sanitize sanitize-thread fuzz build configure clean

# Compiles every kernel that the model can need, without a GPU. A second run finds them all in the cabinet.
warmup: configure
	@cmake --build $(BUILD) -j $(JOBS) --target bin/cubinet
	$(CUBINET) warmup --model $(MODEL) --ep $(EP) --arch $(ARCH) $(if $(M_MAX),--m-max $(M_MAX)) \
	  $(if $(DTYPE),--dtype $(DTYPE)) --layout contiguous,masked
	$(CUBINET) cache ls
	$(CUBINET) cache stats

# Builds everything and runs every test; those that need a GPU are skipped if there is none.
test: build
	$(CTEST) -j $(TEST_JOBS)

# Runs only the tests that need a GPU, with all of their output, such as the reason why a test was skipped.
test-gpu: build
	$(CTEST) -L gpu --verbose

# Measures how fast kernels are found and compiled (without a GPU), and how fast they run (on a GPU).
bench: build
	$(BUILD)/bin/cubinet_bench_cache
	$(BUILD)/bin/cubinet_bench_compile
	$(BUILD)/bin/cubinet_bench_gemm

# Builds the Python package in $(BUILD)/dist.
wheel:
	@scripts/setup "$(WHEELS)"
	$(PYTHON) -m pip wheel . --no-deps -w $(BUILD)/dist -C build-dir=$(BUILD)/wheel \
	  -C cmake.define.CUBINET_WHEELS="$$(realpath -m "$(WHEELS)")" $(patsubst -D%,-C cmake.define.%,$(CCACHE))

# The sanitizer and fuzz builds use clang, which compiles instrumented code in half of GCC's time.
CLANG_FLAGS = -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCUBINET_BENCH=OFF -DCUBINET_EXAMPLES=OFF

# Runs the tests of host code under the address and undefined-behavior sanitizers, in a build folder of their own. Needs
# clang. Leaks are not checked, because libnvrtc keeps its memory until the process ends.
sanitize:
	CUBINET_CLANG=1 ASAN_OPTIONS=detect_leaks=0:$$ASAN_OPTIONS UBSAN_OPTIONS=print_stacktrace=1 \
	  $(MAKE) test BUILD=$(BUILD)-sanitize WHEELS=$(WHEELS) \
	  CMAKE_FLAGS="$(CLANG_FLAGS) -DCUBINET_SANITIZE=ON $(CMAKE_FLAGS)"

# Runs the tests of multi-threaded code under the thread sanitizer. Needs clang. Some of them fork while threads run,
# and the child starts threads of its own, which die_after_fork=0 permits.
THREADED = util cache jit warmup_campaign warmup_execution
sanitize-thread:
	@CUBINET_CLANG=1 $(MAKE) configure BUILD=$(BUILD)-sanitize-thread WHEELS=$(WHEELS) \
	  CMAKE_FLAGS="$(CLANG_FLAGS) -DCUBINET_SANITIZE=thread $(CMAKE_FLAGS)"
	@cmake --build $(BUILD)-sanitize-thread -j $(JOBS) --target $(THREADED:%=%_test)
	TSAN_OPTIONS=die_after_fork=0:$$TSAN_OPTIONS ctest --test-dir $(BUILD)-sanitize-thread --output-on-failure -j $(TEST_JOBS) \
	  -R '^($(shell echo $(THREADED) | tr ' ' '|'))_test:'

# Fuzzes the parser of bundles, in a build folder of its own. Needs clang. Inputs that fail are written to the corpus's
# folder as crash-*.
fuzz:
	CUBINET_CLANG=1 $(MAKE) configure BUILD=$(BUILD)-fuzz WHEELS=$(WHEELS) \
	  CMAKE_FLAGS="$(CLANG_FLAGS) -DCUBINET_FUZZ=ON $(CMAKE_FLAGS)"
	@cmake --build $(BUILD)-fuzz -j $(JOBS) --target bundle_fuzzer bundle_seeds
	$(BUILD)-fuzz/bin/bundle_seeds $(BUILD)-fuzz/corpus
	$(BUILD)-fuzz/bin/bundle_fuzzer -max_total_time=$(FUZZ_SECONDS) -max_len=16384 -timeout=10 -rss_limit_mb=1024 \
	  -print_final_stats=1 -artifact_prefix=$(BUILD)-fuzz/corpus/ $(BUILD)-fuzz/corpus

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

configure:
	@scripts/setup "$(WHEELS)"
	@mkdir -p $(BUILD)
	@cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCUBINET_WHEELS="$$(realpath -m "$(WHEELS)")" $(CCACHE) \
	  $(CMAKE_FLAGS) >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }

clean:
	rm -rf $(BUILD) $(BUILD)-sanitize $(BUILD)-sanitize-thread $(BUILD)-fuzz
