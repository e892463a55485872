#include "cache/counters.hpp"

#include <unistd.h>

namespace cubinet::cache {

void PendingCounters::forget_parent() {
  const pid_t self = ::getpid();
  pid_t owner = owner_;
  if (owner == self || !owner_.compare_exchange_strong(owner, self) || owner == 0) return;
  for (auto& value : values_) value = 0;
}

void PendingCounters::add(const Counters& counted) {
  forget_parent();
  for (std::size_t i = 0; i < counter_fields.size(); ++i) values_[i] += counted.*counter_fields[i].value;
}

Counters PendingCounters::take() {
  forget_parent();
  Counters taken;
  for (std::size_t i = 0; i < counter_fields.size(); ++i) taken.*counter_fields[i].value = values_[i].exchange(0);
  return taken;
}

}  // namespace cubinet::cache
