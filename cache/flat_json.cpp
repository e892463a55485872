#include "cache/flat_json.hpp"

#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace cubinet::cache {
namespace {

using Json = nlohmann::json;

// Receives the values in order. Keeps the members of the outermost object, or the outermost value if that is not an
// object.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return take({}); }
  bool boolean(bool) override { return take({}); }
  bool number_integer(std::int64_t number) override { return take(number); }
  bool number_unsigned(std::uint64_t number) override {
    const bool fits = number <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    return take(fits ? FlatValue(static_cast<std::int64_t>(number)) : FlatValue());
  }
  bool number_float(double number, const std::string&) override { return take(number); }
  bool string(std::string& text) override { return take(std::move(text)); }
  bool binary(Json::binary_t&) override { return take({}); }
  bool key(std::string& name) override {
    if (depth_ == 1) name_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == 0) is_object_ = true;
    return enter({});
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(Texts()); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  [[nodiscard]] bool is_object() const { return is_object_; }
  std::map<std::string, FlatValue> members;  // of the outermost object
  FlatValue outermost;                       // if the outermost value is not an object

 private:
  // Where a value at this depth is stored.
  [[nodiscard]] bool is_member() const { return is_object_ && depth_ == 1; }
  FlatValue& place() { return is_object_ ? members[name_] : outermost; }

  bool take(FlatValue value) {
    if (depth_ == 0 || is_member()) {
      place() = std::move(value);
      return true;
    }
    const bool in_list = depth_ == (is_object_ ? 2 : 1);
    auto* const list = std::get_if<Texts>(&place());
    auto* const text = std::get_if<std::string>(&value);
    if (list == nullptr) return true;
    if (in_list && text != nullptr) {
      list->push_back(std::move(*text));
    } else {
      place() = {};  // the list holds something other than texts
    }
    return true;
  }

  bool enter(FlatValue begun) {
    if (depth_ > 0 || !is_object_) static_cast<void>(take(depth_ == 0 || is_member() ? std::move(begun) : FlatValue()));
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  bool is_object_ = false;
  int depth_ = 0;
  std::string name_;
};

std::optional<Reader> read(std::string_view json) {
  Reader reader;
  if (!Json::sax_parse(json.begin(), json.end(), &reader)) return std::nullopt;
  return reader;
}

}  // namespace

std::optional<std::map<std::string, FlatValue>> read_flat_object(std::string_view json) {
  auto reader = read(json);
  if (!reader || !reader->is_object()) return std::nullopt;
  return std::move(reader->members);
}

std::optional<Texts> read_texts(std::string_view json) {
  auto reader = read(json);
  auto* const list = reader && !reader->is_object() ? std::get_if<Texts>(&reader->outermost) : nullptr;
  if (list == nullptr) return std::nullopt;
  return std::move(*list);
}

}  // namespace cubinet::cache
