// Hostile bundles: each is refused with the reason before it takes memory or time, and changes nothing.
#include "cache/bundle_transfer.hpp"
#include "catch.hpp"
#include "fuzz/bundle_probe.hpp"
#include "util/clock.hpp"
#include "util/machine.hpp"

using namespace cubinet;
using test::raw_bundle;
using test::RawBundle;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t huge = std::uint64_t{1} << 63;

struct Hostile {
  std::string name;
  std::function<void(RawBundle&)> spoil;  // a sound bundle of three entries
  std::string said;                       // in the error message
};

// Replaces the last object by another one, or by something that is not an object; the digests are valid. An import that
// did not check all entries first would have stored the others.
void replace_last(RawBundle& bundle, const std::string& blob, std::uint64_t object_bytes) {
  RawBundle changed;
  for (std::size_t i = 0; i < bundle.rows.size(); ++i) {
    const test::RawRow& row = bundle.rows[i];
    const std::string same = bundle.blobs.substr(row.offset, row.blob_bytes);
    changed.add(row.key, i == 2 ? blob : same, i == 2 ? object_bytes : row.object_bytes, row.arch);
  }
  bundle = changed;
}

void replace_last(RawBundle& bundle, const std::string& file) {
  replace_last(bundle, cache::compress(file).value(), file.size());
}

// The file of the bundle's last object.
std::string last_file(const RawBundle& bundle) {
  const test::RawRow& row = bundle.rows[2];
  return cache::decompress(bundle.blobs.substr(row.offset, row.blob_bytes), row.object_bytes).value();
}

// A compressed frame of `bytes` zeros: 64 MiB or more in a few kilobytes.
std::string bomb(std::uint64_t bytes) { return cache::compress(std::string(bytes, '\0')).value(); }

// The frame without the size of its content: the single-segment and size flags are cleared, and a window size is added.
std::string undeclared(const std::string& frame) {
  std::string out = frame.substr(0, 4);
  out.push_back('\0');
  out.push_back('\x58');  // a window of 2 MiB
  const auto descriptor = static_cast<std::uint8_t>(frame[4]);
  const std::size_t size_field = std::size_t{1} << (descriptor >> 6U);
  const bool single = (descriptor & 0x20U) != 0;
  out += frame.substr(5 + (single ? 0 : 1) + (descriptor >> 6U == 0 && !single ? 0 : size_field));
  return out;
}

std::vector<Hostile> numbers_out_of_bounds() {
  return {
      {"another mark", [](RawBundle& b) { b.magic = "cubinetF"; }, "the mark of a bundle"},
      {"a later version", [](RawBundle& b) { b.version = 2; }, "format version 2 is not known"},
      {"2^60 entries", [](RawBundle& b) { b.rows_said = std::uint64_t{1} << 60; }, "more entries than are allowed"},
      {"entries that make the length overflow", [](RawBundle& b) { b.rows_said = ~std::uint64_t{0} / 104 + 2; },
       "more entries than are allowed"},
      {"65536 entries that are not there", [](RawBundle& b) { b.rows_said = 65'536; }, "bytes long"},
      {"no entries, and yet rows", [](RawBundle& b) { b.rows_said = 0; }, "bytes long"},
      {"blobs of 2^63 bytes", [](RawBundle& b) { b.blobs_said = huge; }, "more bytes than are allowed"},
      {"a signature of 2^31 bytes", [](RawBundle& b) { b.signature_said = huge >> 32U; }, "signature's length"},
      {"a signature of one byte", [](RawBundle& b) { b.signature_said = 1, b.signature = "x"; }, "signature's length"},
      {"a blob of 2^63 bytes", [](RawBundle& b) { b.rows[0].blob_bytes = huge; }, "blob's length is out of bounds"},
      {"a blob of no bytes", [](RawBundle& b) { b.rows[0].blob_bytes = 0; }, "blob's length is out of bounds"},
      {"an object of 2^63 bytes", [](RawBundle& b) { b.rows[0].object_bytes = huge; }, "object's length"},
      {"an object of no bytes", [](RawBundle& b) { b.rows[0].object_bytes = 0; }, "object's length"},
      {"an object above the bound", [](RawBundle& b) { b.rows[0].object_bytes = cache::max_object_bytes + 1; },
       "object's length"},
      {"an offset of 2^63", [](RawBundle& b) { b.rows[1].offset = huge; }, "does not begin where the one before ends"},
      {"a length that wraps round to the right end",
       [](RawBundle& b) { b.rows[0].blob_bytes += huge, b.rows[1].blob_bytes += huge; }, "out of bounds"},
  };
}

std::vector<Hostile> tables_out_of_order() {
  return {
      {"overlapping ranges", [](RawBundle& b) { b.rows[1].offset -= 1; }, "does not begin where the one before ends"},
      {"the same range twice", [](RawBundle& b) { b.rows[1].offset = 0; }, "does not begin where the one before ends"},
      {"a gap between ranges", [](RawBundle& b) { b.rows[1].offset += 1; }, "does not begin where the one before ends"},
      {"blobs beyond the end", [](RawBundle& b) { b.rows[2].blob_bytes += 1; }, "longer than the head says"},
      {"a blob that ends early", [](RawBundle& b) { b.rows[2].blob_bytes -= 1; }, "shorter than the head says"},
      {"trailing bytes", [](RawBundle& b) { b.blobs += "more"; }, "bytes long"},
      {"trailing bytes that the head counts", [](RawBundle& b) { b.blobs += "more", b.blobs_said += 4; },
       "shorter than the head says"},
      {"a cut end", [](RawBundle& b) { b.blobs.pop_back(); }, "bytes long"},
      {"a key that is there twice", [](RawBundle& b) { b.rows[1].key = b.rows[0].key; }, "occurs twice"},
      {"keys out of order", [](RawBundle& b) { std::swap(b.rows[0].key, b.rows[1].key); }, "out of order"},
      {"a wrong check", [](RawBundle& b) { b.right_check = false; }, "the check of the table of contents is wrong"},
      {"an architecture that is a path", [](RawBundle& b) { b.rows[0].arch = "../x"; },
       "architecture's name is invalid"},
      {"an absolute architecture", [](RawBundle& b) { b.rows[0].arch = "/etc/x"; }, "architecture's name is invalid"},
      {"a NUL within an architecture", [](RawBundle& b) { b.rows[0].arch = std::string("sm\0_90a", 7); },
       "architecture's name is invalid"},
      {"no architecture", [](RawBundle& b) { b.rows[0].arch = ""; }, "architecture's name is invalid"},
      {"another architecture than the object's", [](RawBundle& b) { b.rows[2].arch = "sm_100a"; },
       "the object is for sm_90a, not sm_100a"},
  };
}

std::vector<Hostile> blobs_that_lie() {
  return {
      {"a blob of another digest", [](RawBundle& b) { b.rows[2].digest[5] ^= 1; }, "the blob's digest is wrong"},
      {"noise", [](RawBundle& b) { replace_last(b, std::string(500, 'x'), 900); }, "the frame states another size"},
      {"a bomb that says its size", [](RawBundle& b) { replace_last(b, bomb(80 << 20), 900); },
       "the frame states another size"},
      {"a bomb above the bound", [](RawBundle& b) { replace_last(b, bomb(80 << 20), 80 << 20); }, "object's length"},
      {"a bomb that says no size", [](RawBundle& b) { replace_last(b, undeclared(bomb(8 << 20)), 900); },
       "the frame states another size"},
      {"a frame that says less than it holds",
       [](RawBundle& b) {
         std::string frame = cache::compress(last_file(b)).value();
         frame[5] = static_cast<char>(frame[5] - 10);  // the lowest byte of the size
         replace_last(b, frame, last_file(b).size() - 10);
       },
       "cannot be decompressed"},
      {"two frames",
       [](RawBundle& b) {
         const std::string frame = cache::compress(last_file(b)).value();
         replace_last(b, frame + frame, last_file(b).size());
       },
       "not one whole frame"},
      {"a frame that can be skipped",
       [](RawBundle& b) { replace_last(b, std::string("\x50\x2a\x4d\x18\x04\0\0\0data", 12), 4); },
       "the frame states another size"},
      {"an object of another key", [](RawBundle& b) { replace_last(b, test::object_file(test::object_of(9))); },
       "holds the entry " + test::key_of(9).hex()},
      {"what is no object", [](RawBundle& b) { replace_last(b, std::string(4000, 'x')); }, "mark of an object"},
      {"an object with a changed payload",
       [](RawBundle& b) {
         std::string file = last_file(b);
         file[20] = static_cast<char>(file[20] ^ 1);
         replace_last(b, file);
       },
       "the payload's digest is wrong"},
  };
}

std::vector<Hostile> hostile_bundles() {
  std::vector<Hostile> all;
  for (auto part : {numbers_out_of_bounds(), tables_out_of_order(), blobs_that_lie()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

TEST_CASE("an import refuses each hostile bundle as a whole, and the root is unchanged") {
  const test::Filled root(1);
  const test::TempFolder folder;
  const auto before = test::snapshot(root.layout.root);
  for (const Hostile& hostile : hostile_bundles()) {
    INFO(hostile.name);
    RawBundle bundle = raw_bundle(3);
    hostile.spoil(bundle);
    test::write_file(folder / "bundle", bundle.bytes());
    const auto opened = cache::Bundle::open(folder / "bundle", {});
    const auto imported =
        opened ? cache::import_bundle(*opened, root.layout.root) : Expected<cache::ImportReport>(propagate(opened));
    REQUIRE_FALSE(imported);
    INFO(imported.error().message);
    CHECK(imported.error().code == ErrorCode::invalid_argument);
    CHECK(imported.error().message.find(hostile.said) != std::string::npos);
    CHECK(imported.error().message.find((folder / "bundle").string()) != std::string::npos);
    CHECK(test::snapshot(root.layout.root) == before);
  }
}

TEST_CASE("an import of a hostile bundle does not create a root") {
  const test::TempFolder folder;
  RawBundle bundle = raw_bundle(3);
  replace_last(bundle, test::object_file(test::object_of(9)));
  test::write_file(folder / "bundle", bundle.bytes());
  CHECK_FALSE(cache::import_bundle(cache::Bundle::open(folder / "bundle", {}).value(), folder / "root"));
  CHECK_FALSE(fs::exists(folder / "root"));
}

TEST_CASE("hostile bundles are refused in little time and memory") {
  std::vector<std::string> files;
  for (const Hostile& hostile : hostile_bundles()) {
    RawBundle bundle = raw_bundle(3);
    hostile.spoil(bundle);
    files.push_back(bundle.bytes());
  }
  // In a child process, so that the peak memory of other tests does not count.
  const int status = test::in_child([&] {
    const auto start = util::now();
    const std::int64_t before = util::resident_bytes();
    for (const std::string& bytes : files) {
      if (test::read_bundle(bytes)) return 1;
    }
    if (util::seconds_since(start) > 10) return 2;
    return util::peak_resident_bytes() - before > (std::int64_t{48} << 20) ? 3 : 0;
  });
  CHECK(status == 0);
}

TEST_CASE("objects that exceed the total size are refused before any of them is read") {
  RawBundle bundle;
  const std::string blob = "x";
  for (int i = 0; i < 70; ++i) {  // 70 of 64 MiB each: above 4 GiB
    bundle.add(std::string(31, '\0') + static_cast<char>(i), blob, cache::max_payload_bytes);
  }
  const auto read = test::read_bundle(bundle.bytes());
  REQUIRE_FALSE(read);
  CHECK(read.error().message.find("together larger than allowed") != std::string::npos);
}

TEST_CASE("texts in an object that look like paths are never used as paths") {
  auto object = test::object_of(0);
  object.record = "../../../escaped";
  object.facts.details.set("family", "/etc/escaped");
  object.facts.details.set("config", "../../escaped");
  object.facts.details.set("kernel_names", cache::Details::Texts{std::string("..\0/escaped", 11), "../escaped"});
  cache::BundleWriter writer;
  REQUIRE(writer.add(test::key_of(object.record), object));
  const test::TempFolder folder;
  std::string bytes;
  for (const std::string& piece : std::move(writer).finish({})) bytes += piece;
  test::write_file(folder / "bundle", bytes);
  fs::create_directories(folder / "a/b");
  const auto imported = cache::import_bundle(cache::Bundle::open(folder / "bundle", {}).value(), folder / "a/b/root");
  REQUIRE(imported);
  CHECK(imported->imported == 1);
  for (const auto& item : fs::recursive_directory_iterator(folder.path())) {
    CHECK(item.path().native().find("escaped") == std::string::npos);
  }
  CHECK(fs::exists(cache::Layout{folder / "a/b/root"}.object(test::key_of(object.record))));
}

TEST_CASE("randomly changed bytes with corrected digests are refused or read as sound entries") {
  const std::string sound = test::written_bundle({0, 1, 2});
  std::uint32_t state = 20'261'130;
  const auto draw = [&](std::size_t below) {
    state = state * 1'664'525 + 1'013'904'223;
    return (state >> 8U) % below;
  };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = sound;
    for (std::size_t i = 0; i <= draw(3); ++i) {
      const std::size_t at = draw(3) == 0 ? draw(bytes.size()) : draw(32 + 3 * 104);  // the table more often
      bytes[at] = static_cast<char>(draw(256));
    }
    INFO("round " << round);
    refused += test::probe_bundle(test::resealed(bytes)) ? 0 : 1;
  }
  CHECK(test::probe_bundle(test::resealed(sound)));
  CHECK(refused > 2000);
}
