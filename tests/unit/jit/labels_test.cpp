#include "jit/labels.hpp"

#include <vector>

#include "catch.hpp"

using namespace cubinet;
using Labels = std::vector<std::int32_t>;

namespace {

// Three blocks of 128 rows: group 0, group 2 with a padded tail, padding.
Labels good_labels() {
  Labels labels(384, -1);
  std::fill(labels.begin(), labels.begin() + 128, 0);
  std::fill(labels.begin() + 128, labels.begin() + 200, 2);
  return labels;
}

std::string complaint(const Labels& labels, std::int32_t groups) {
  const auto checked = jit::check_label_rows(labels, groups);
  return checked ? "" : checked.error().message;
}

}  // namespace

TEST_CASE("Labels that keep the rule are accepted, with padding anywhere") {
  Labels labels = good_labels();
  CHECK(complaint(labels, 3).empty());
  labels[0] = labels[50] = -1;
  CHECK(complaint(labels, 3).empty());
  CHECK(complaint(Labels(384, -1), 1).empty());
  CHECK(complaint({}, 1).empty());
  CHECK(complaint(Labels(100, 0), 1).empty());
}

TEST_CASE("A label that is no group is named with its row") {
  Labels labels = good_labels();
  CHECK(complaint(labels, 2).find("row 128 is labelled 2") != std::string::npos);
  labels[130] = -2;
  CHECK(complaint(labels, 3).find("row 130 is labelled -2") != std::string::npos);
}

TEST_CASE("A segment boundary inside a block is named with its first row") {
  Labels labels = good_labels();
  labels[127] = 1;
  CHECK(complaint(labels, 3).find("row 127 is labelled 1") != std::string::npos);
  labels = good_labels();
  labels[255] = 1;
  const std::string message = complaint(labels, 3);
  CHECK(message.find("row 255") != std::string::npos);
  CHECK(message.find("starts at row 128 and belongs to group 2") != std::string::npos);
}
