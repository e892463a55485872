// Why a look-up for a kernel hits or misses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/cabinet.hpp"
#include "jit/kernel_spec.hpp"
#include "jit/record.hpp"

namespace cubinet::warmup {

enum class Presence {
  hit,
  unusable,    // it is there, and the driver does not load what its compiler made
  damaged,     // it is there, and a look-up would set it aside
  unreadable,  // it is there, and cannot be read
  set_aside,   // it was there, damaged, and has not been made again, or was removed since
  evicted,     // it was there, and a collection removed it
  stale,       // there is one of this family, N, K and configuration, made of other templates or by an earlier build
  absent,      // never made, or removed
};

const char* name(Presence presence);

// An entry beside what is asked for: `first` of a difference is the entry's, `second` what is asked for.
struct Neighbour {
  cache::Entry entry;
  std::vector<jit::Difference> differences;
};

struct Explanation {
  cache::Key key;
  Presence presence = Presence::absent;
  std::string where;                 // the root or layer that has it; empty where none has
  std::string compiler;              // what made it, "NVRTC 13.0.88"; empty where it is not there, or not known
  bool accepted = false;             // that compiler is among jit::accepted_compilers()
  std::string why;                   // a line for people, for all but a hit
  std::optional<Neighbour> nearest;  // where it is stale or absent, of the first root that has any of the family
};

// Looks for kernels in cabinets as a look-up does, and changes nothing in them. The cabinets must outlive it.
class Explainer {
 public:
  // Reads the listings and what was evicted, as far as they can be read; `damaged` files are no entries. `driver`: as
  // cuDriverGetVersion answers, 0: no limit.
  explicit Explainer(const std::vector<cache::Cabinet*>& cabinets, int driver = 0);

  [[nodiscard]] Explanation explain(const jit::KernelSpec& spec) const;

 private:
  [[nodiscard]] std::optional<Neighbour> nearest(const jit::KernelSpec& spec, const std::string& record) const;

  std::vector<cache::Cabinet*> cabinets_;
  int driver_;
  // Of each cabinet.
  std::vector<std::vector<cache::Entry>> entries_;
  std::vector<std::vector<cache::Key>> evicted_;
};

// What differs, in a line: "kN 4096, not 8192; templates differ: ptx/wgmma.cuh".
std::string describe(const std::vector<jit::Difference>& differences);

}  // namespace cubinet::warmup
