#include "util/background.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace cubinet;
using util::BackgroundThread;

namespace {

constexpr std::chrono::seconds patience{30};

// Holds the thread in a task until it is let go.
class Barrier {
 public:
  // The task: tells that it has begun, and waits.
  [[nodiscard]] std::function<void()> task() {
    return [this] {
      begun_.set_value();
      go_.get_future().wait();
    };
  }
  [[nodiscard]] bool has_begun() { return begun_.get_future().wait_for(patience) == std::future_status::ready; }
  void let_go() { go_.set_value(); }

 private:
  std::promise<void> begun_;
  std::promise<void> go_;
};

// Waits until every task that was posted before has run; false when they have not in time.
bool drained(BackgroundThread& thread) {
  auto done = std::make_shared<std::promise<void>>();
  auto waits = done->get_future();
  return thread.post([done] { done->set_value(); }) && waits.wait_for(patience) == std::future_status::ready;
}

}  // namespace

TEST_CASE("Tasks run in the order in which they were posted, on one thread that is not the caller's") {
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

TEST_CASE("Tasks that several threads post run once each, and those of one thread in their order") {
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

TEST_CASE("A thread that waits for tasks ends with its owner, and one that never had any does") {
  { BackgroundThread idle; }
  BackgroundThread thread;
  CHECK(drained(thread));
}

TEST_CASE("Its end waits for the task in work and drops those behind it") {
  Barrier barrier;
  bool finished = false;
  bool ran = false;
  auto thread = std::make_unique<BackgroundThread>();
  REQUIRE(thread->post([&, work = barrier.task()] {
    work();
    finished = true;
  }));
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  REQUIRE(thread->post([&ran, kept = std::move(held)] { ran = true; }));
  REQUIRE(barrier.has_begun());
  CHECK_FALSE(watched.expired());
  std::jthread ends([&] { thread.reset(); });
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!watched.expired() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  CHECK(watched.expired());  // dropped while the first one is still in work
  CHECK_FALSE(finished);
  barrier.let_go();
  ends.join();
  CHECK(finished);
  CHECK_FALSE(ran);
}

TEST_CASE("What is posted while it ends is refused, by the task in work and by what a dropped task holds") {
  Barrier barrier;
  std::atomic<int> taken{0}, refused{0};
  auto thread = std::make_unique<BackgroundThread>();
  BackgroundThread& ending = *thread;
  const auto post = [&] { ++(ending.post([] {}) ? taken : refused); };
  REQUIRE(thread->post([&, work = barrier.task()] {
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
  REQUIRE(barrier.has_begun());
  std::jthread ends([&] { thread.reset(); });
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (refused == 0 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  CHECK(refused == 1);
  barrier.let_go();
  ends.join();
  CHECK(refused == 2);
  CHECK(taken == 0);
}
