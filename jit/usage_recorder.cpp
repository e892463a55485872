#include "jit/usage_recorder.hpp"

#include <exception>
#include <utility>

namespace cubinet::jit {
namespace {

// If memory runs out, `work` throws and the records are lost, so that the call of the user succeeds.
template <class Work>
void drop_exceptions(const Work& work) noexcept {
  try {
    work();
  } catch (const std::exception&) {
  }
}

}  // namespace

void UsageRecorder::note(const Uses& uses) noexcept {
  if (cabinet_ == nullptr || (uses.found.empty() && uses.compiled.empty() && uses.refused.empty())) return;
  drop_exceptions([&] {
    {
      const std::lock_guard lock(mutex_);
      if (!lease_) lease_ = cabinet_->lease();
      if (lease_) {
        lease_->add(uses.found);
        lease_->add(uses.compiled);
      }
      unwritten_.found.insert(unwritten_.found.end(), uses.found.begin(), uses.found.end());
      unwritten_.refused.insert(unwritten_.refused.end(), uses.refused.begin(), uses.refused.end());
    }
    static_cast<void>(background_.post([this] { drop_exceptions([this] { write_uses(); }); }));
  });
}

void UsageRecorder::note(const cache::Key& key, bool compiled) noexcept {
  drop_exceptions([&] {
    Uses uses;
    (compiled ? uses.compiled : uses.found).push_back(key);
    note(uses);
  });
}

void UsageRecorder::note_asked(const std::vector<ProblemRange>& problems, const std::string& architecture) noexcept {
  if (cabinet_ == nullptr || cabinet_->persistence() != cache::Persistence::on) return;
  drop_exceptions([&] {
    bool news = false;
    for (const ProblemRange& one : problems) news |= asked_.note(one.problem, one.range, architecture);
    if (news) static_cast<void>(background_.post([this] { drop_exceptions([this] { write_asked(); }); }));
  });
}

void UsageRecorder::flush() noexcept {
  if (cabinet_ == nullptr) return;
  drop_exceptions([this] { write_uses(); });
  drop_exceptions([this] { write_asked(); });
}

void UsageRecorder::write_uses() {
  Uses uses;
  {
    const std::lock_guard lock(mutex_);
    std::swap(uses, unwritten_);
  }
  cabinet_->record_hits(uses.found);
  cabinet_->record_misses(uses.refused);
}

void UsageRecorder::write_asked() {
  const auto asked = asked_.take();
  if (!asked.empty()) static_cast<void>(cabinet_->record_problems(asked));
}

}  // namespace cubinet::jit
