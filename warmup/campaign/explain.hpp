// Explains why a look-up for a kernel hits or misses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/maintenance.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/record.hpp"

namespace cubinet::warmup {

enum class Presence {
  hit,
  unusable,    // present, but the driver does not load cubins of its compiler
  damaged,     // present, but damaged: a look-up would move it to quarantine
  unreadable,  // present, but cannot be read
  set_aside,   // was damaged and is in quarantine; it has not been compiled again, or was removed later
  evicted,     // was present, and was evicted
  stale,       // the same family, N, K and configuration is present, but of other templates or an earlier build
  absent,      // never compiled, or removed
};

// "hit", "unusable" and so on; "set aside" has a space.
const char* name(Presence presence);

// The entry that is most like the kernel asked for. In each difference, `first` is the entry's value and `second` the
// value asked for.
struct Neighbour {
  cache::Entry entry;
  std::vector<jit::Difference> differences;
};

struct Explanation {
  cache::Key key;
  Presence presence = Presence::absent;
  std::string where;                 // the root or layer that has the entry; empty if none has
  std::string compiler;              // of the entry, "NVRTC 13.0.88"; empty if there is no entry or it is unknown
  bool accepted = false;             // the compiler is one of jit::accepted_compilers()
  std::string why;                   // one line for the user; empty for a hit
  std::optional<Neighbour> nearest;  // for stale and absent, from the first root that has an entry of the family
};

// Searches cabinets as a look-up does, without changing them.
class Explainer {
 public:
  // Reads the lists of entries and of evicted keys, as far as they can be read; damaged files are not entries.
  // `driver`: the version that cuDriverGetVersion reports; 0 means no limit.
  explicit Explainer(std::vector<cache::Maintenance> cabinets, int driver = 0);

  [[nodiscard]] Explanation explain(const jit::KernelSpec& spec) const;

 private:
  [[nodiscard]] std::optional<Neighbour> nearest(const jit::KernelSpec& spec, const std::string& record) const;

  std::vector<cache::Maintenance> cabinets_;
  int driver_;
  // One element per cabinet.
  std::vector<std::vector<cache::Entry>> entries_;
  std::vector<std::vector<cache::Key>> evicted_;
};

// The differences in one line: "kN 4096, not 8192; templates differ: ptx/wgmma.cuh".
std::string describe(const std::vector<jit::Difference>& differences);

}  // namespace cubinet::warmup
