#include "tools/progress_counts.hpp"

#include "catch.hpp"

namespace {

using namespace cubinet::tools;

ProgressCounts counts(std::int64_t done, std::int64_t total, std::int64_t worked, double seconds) {
  ProgressCounts result;
  result.done = done;
  result.total = total;
  result.worked = worked;
  result.seconds = seconds;
  return result;
}

}  // namespace

TEST_CASE("The rate counts the kernels that took work, and is unknown before the first of them") {
  CHECK(rate(counts(4, 8, 4, 2)) == 2.0);
  CHECK(rate(counts(400, 800, 4, 2)) == 2.0);
  CHECK_FALSE(rate(counts(0, 8, 0, 2)).has_value());
  CHECK_FALSE(rate(counts(4, 8, 0, 2)).has_value());
  CHECK_FALSE(rate(counts(4, 8, 4, 0)).has_value());
}

TEST_CASE("Time spent waiting for another process does not count for the rate and the time left") {
  ProgressCounts waited = counts(4, 10, 4, 22);
  waited.waited_seconds = 20;
  CHECK(rate(waited) == 2.0);
  CHECK(seconds_left(waited) == 3.0);
  waited.seconds = 20;
  CHECK_FALSE(rate(waited).has_value());
}

TEST_CASE("The last line has no time left, even if kernels were not finished") {
  CHECK(last_line_text(counts(4, 10, 4, 2)) == "compiling: 4/10 kernels, 2.0/s, 2.0 s elapsed");
}

TEST_CASE("The time left is the rest divided by the rate, zero at the end, and unknown without a rate") {
  CHECK(seconds_left(counts(4, 10, 4, 2)) == 3.0);
  CHECK(seconds_left(counts(6, 10, 4, 2)) == 2.0);
  CHECK(seconds_left(counts(10, 10, 10, 2)) == 0.0);
  CHECK(seconds_left(counts(10, 10, 0, 2)) == 0.0);
  CHECK_FALSE(seconds_left(counts(0, 10, 0, 2)).has_value());
}

TEST_CASE("A line names the phase, done and total, the rate, the elapsed and the remaining time") {
  CHECK(line_text(counts(4, 10, 4, 2)) == "compiling: 4/10 kernels, 2.0/s, 2.0 s elapsed, about 3.0 s left");
  CHECK(line_text(counts(0, 10, 0, 5)) == "compiling: 0/10 kernels, 5.0 s elapsed");
  CHECK(line_text(counts(10, 10, 4, 200)) == "compiling: 10/10 kernels, 0.0/s, 3 min 20 s elapsed");
  ProgressCounts executing = counts(1, 2, 1, 1);
  executing.phase = Phase::executing;
  CHECK(line_text(executing) == "executing: 1/2 kernels executed, 1.0/s, 1.0 s elapsed, about 1.0 s left");
}

TEST_CASE("A line names work only if it takes long") {
  ProgressCounts slow = counts(0, 10, 0, 65);
  slow.current = "gemm";
  slow.current_seconds = 62;
  CHECK(line_text(slow) == "compiling: 0/10 kernels, 1 min 5 s elapsed; gemm for 1 min 2 s");
  slow.current_seconds = 0.4;
  CHECK(line_text(slow).find("gemm") == std::string::npos);
}

TEST_CASE("The bar shows the finished part and every figure, and is shortened on a narrow terminal") {
  const ProgressCounts half = counts(5, 10, 5, 1);
  const std::string figures = "5/10 kernels, 5.0/s, 1.0 s elapsed, about 1.0 s left";
  CHECK(bar_text(half, 200) == "[###############---------------]  " + figures);
  for (std::size_t columns = 0; columns < 120; ++columns) {
    INFO(columns);
    const std::string text = bar_text(half, columns);
    CHECK(text.size() <= (columns == 0 ? 0 : columns - 1));
    if (columns > figures.size()) CHECK(text.find(figures) != std::string::npos);
  }
  CHECK(bar_text(counts(0, 0, 0, 0), 200).find("[##############################]  0/0 kernels") == 0);
  CHECK(bar_text(counts(0, 10, 0, 0), 200).find("[------------------------------]") == 0);
}
