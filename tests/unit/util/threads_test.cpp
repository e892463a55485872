#include "util/threads.hpp"

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace cubinet;
using namespace std::chrono_literals;
using util::BackgroundThread;

namespace {

constexpr std::chrono::seconds patience{30};

// Blocks the thread in a task until it is released.
class Blocker {
 public:
  // The task: signals that it has begun, and waits.
  [[nodiscard]] std::function<void()> task() {
    return [this] {
      begun_.set_value();
      go_.get_future().wait();
    };
  }
  [[nodiscard]] bool has_begun() { return begun_.get_future().wait_for(patience) == std::future_status::ready; }
  void release() { go_.set_value(); }

 private:
  std::promise<void> begun_;
  std::promise<void> go_;
};

// Waits until all tasks posted before have run; false on timeout.
bool drained(BackgroundThread& thread) {
  auto done = std::make_shared<std::promise<void>>();
  auto waits = done->get_future();
  return thread.post([done] { done->set_value(); }) && waits.wait_for(patience) == std::future_status::ready;
}

// Uses `bytes` bytes of the stack.
[[gnu::noinline]] int deep(std::size_t bytes) {
  volatile char page[4096];
  page[0] = static_cast<char>(bytes);
  return bytes < sizeof page ? page[0] : deep(bytes - sizeof page) + page[0];
}

// Whether `count` reaches `wanted` within 10 seconds.
bool reaches(const std::atomic<int>& count, int wanted) {
  for (int i = 0; i < 10'000 && count < wanted; ++i) std::this_thread::sleep_for(1ms);
  return count >= wanted;
}

}  // namespace

TEST_CASE("run_with_stack provides the requested stack, however small the process's limit is") {
  rlimit before{};
  getrlimit(RLIMIT_STACK, &before);
  const rlimit small{std::size_t{1} << 20, before.rlim_max};
  setrlimit(RLIMIT_STACK, &small);
  bool done = false;
  util::run_with_stack(std::size_t{8} << 20, [&] { done = deep(std::size_t{6} << 20) < 1 << 30; });
  setrlimit(RLIMIT_STACK, &before);
  CHECK(done);
}

TEST_CASE("run_with_stack runs the work on the calling thread if no thread with that stack can be started") {
  bool done = false;
  util::run_with_stack(std::size_t{1} << 60, [&] { done = true; });
  CHECK(done);
}

TEST_CASE("parallel_for visits each index once, whatever the number of threads") {
  for (const int jobs : {-1, 0, 1, 2, 7, 200}) {
    std::array<std::atomic<int>, 50> visits{};
    util::parallel_for(visits.size(), jobs, [&](std::size_t i) { ++visits[i]; });
    for (const auto& count : visits) CHECK(count == 1);
  }
}

TEST_CASE("parallel_for calls nothing for an empty loop") {
  int calls = 0;
  util::parallel_for(0, 4, [&](std::size_t) { ++calls; });
  CHECK(calls == 0);
}

TEST_CASE("BackgroundThread runs tasks in the order of posting, on one thread that is not the caller's") {
  BackgroundThread thread;
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 100; ++i) {
    REQUIRE(thread.post([&, i] {
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
    }));
  }
  REQUIRE(drained(thread));
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  for (const auto id : threads) CHECK(id == threads.front());
  CHECK(threads.front() != std::this_thread::get_id());
}

TEST_CASE("Tasks that several threads post run once each, and those of one thread in order") {
  constexpr int posters = 4, each = 200;
  BackgroundThread thread;
  std::vector<std::vector<int>> ran(posters);
  std::atomic<int> refused{0};
  {
    std::vector<std::jthread> threads;
    for (int p = 0; p < posters; ++p) {
      threads.emplace_back([&, p] {
        for (int i = 0; i < each; ++i) {
          if (!thread.post([&, p, i] { ran[static_cast<std::size_t>(p)].push_back(i); })) ++refused;
        }
      });
    }
  }
  REQUIRE(drained(thread));
  CHECK(refused == 0);
  for (const auto& numbers : ran) {
    REQUIRE(numbers.size() == each);
    for (int i = 0; i < each; ++i) CHECK(numbers[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("A task that throws is dropped, and the next ones run") {
  BackgroundThread thread;
  REQUIRE(thread.post([] { throw std::runtime_error("the task's own trouble"); }));
  REQUIRE(thread.post([] { throw 1; }));
  CHECK(drained(thread));
}

TEST_CASE("A BackgroundThread can be destroyed while it waits for tasks, and without ever having had one") {
  { BackgroundThread idle; }
  BackgroundThread thread;
  CHECK(drained(thread));
}

TEST_CASE("Destroying a BackgroundThread waits for the running task and drops the queued ones") {
  Blocker blocker;
  bool finished = false;
  bool ran = false;
  auto thread = std::make_unique<BackgroundThread>();
  REQUIRE(thread->post([&, work = blocker.task()] {
    work();
    finished = true;
  }));
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  REQUIRE(thread->post([&ran, kept = std::move(held)] { ran = true; }));
  REQUIRE(blocker.has_begun());
  CHECK_FALSE(watched.expired());
  std::jthread ends([&] { thread.reset(); });
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!watched.expired() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  CHECK(watched.expired());  // dropped while the first one is still in work
  CHECK_FALSE(finished);
  blocker.release();
  ends.join();
  CHECK(finished);
  CHECK_FALSE(ran);
}

TEST_CASE("post is refused during destruction, from the running task and from destructors of dropped tasks") {
  Blocker blocker;
  std::atomic<int> taken{0}, refused{0};
  auto thread = std::make_unique<BackgroundThread>();
  BackgroundThread& ending = *thread;
  const auto post = [&] { ++(ending.post([] {}) ? taken : refused); };
  REQUIRE(thread->post([&, work = blocker.task()] {
    work();
    post();
  }));
  struct Poster {
    explicit Poster(std::function<void()> task) : post(std::move(task)) {}
    ~Poster() { post(); }
    Poster(const Poster&) = delete;
    Poster& operator=(const Poster&) = delete;
    std::function<void()> post;
  };
  REQUIRE(thread->post([poster = std::make_shared<Poster>(post)] {}));
  REQUIRE(blocker.has_begun());
  std::jthread ends([&] { thread.reset(); });
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (refused == 0 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  CHECK(refused == 1);
  blocker.release();
  ends.join();
  CHECK(refused == 2);
  CHECK(taken == 0);
}

TEST_CASE("A Ticker calls repeatedly, also after a call that threw, and never after its destruction") {
  std::atomic<int> calls{0};
  {
    const util::Ticker ticker(1ms, [&] {
      if (++calls == 2) throw std::runtime_error("trouble");
    });
    CHECK(reaches(calls, 5));
  }
  const int at_end = calls;
  std::this_thread::sleep_for(20ms);
  CHECK(calls == at_end);
}

TEST_CASE("A Ticker can be destroyed in the middle of a long period without a further call") {
  std::atomic<int> calls{0};
  const auto begin = std::chrono::steady_clock::now();
  {
    const util::Ticker ticker(1h, [&] { ++calls; });
  }
  CHECK(std::chrono::steady_clock::now() - begin < 60s);
  CHECK(calls == 0);
}
