#include "warmup/planning/config_json.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cubinet::warmup {
namespace {

using Json = nlohmann::json;
using MemberNames = std::set<std::string, std::less<>>;

// The first 160 bytes of a text, for an error message: the file may have megabytes. Cuts no UTF-8 sequence.
std::string clipped(std::string_view text) {
  constexpr std::size_t longest = 160;
  if (text.size() <= longest) return std::string(text);
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

// The position of a byte as "line:column". `offset` counts from 1, as the parser does.
std::string position(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset == 0 ? 0 : offset - 1, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("{}:{}", line, before.size() - line_start + 1);
}

// The parser's message without its own prefix, "[json.exception...] parse error at line 1, column 2: ".
std::string reason(const Json::exception& error) {
  std::string_view what = error.what();
  for (const std::string_view end : {"] ", ": "}) {
    const std::size_t start = what.find(end);
    if (start != std::string_view::npos) what.remove_prefix(start + end.size());
  }
  return clipped(what);
}

// A text in which NaN, Infinity and -Infinity are replaced by null, and the places where it became longer.
struct Plain {
  std::string text;
  std::vector<std::size_t> grown;  // offsets in `text` behind each "null" that is one byte longer than the word
};

bool belongs_to_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// The word NaN, Infinity or -Infinity that begins at `at`; empty if there is none.
std::string_view word_at(std::string_view text, std::size_t at) {
  if (at > 0 && belongs_to_a_word(text[at - 1])) return {};
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    const std::size_t end = at + word.size();
    if (text.substr(at, word.size()) == word && (end >= text.size() || !belongs_to_a_word(text[end]))) return word;
  }
  return {};
}

// Replaces each such word outside of strings by "null", and pads it with blanks to the length of the word.
Plain without_words_of_python(std::string_view text) {
  Plain plain;
  plain.text.reserve(text.size());
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const std::string_view word =
        !quoted && (c == 'N' || c == 'I' || c == '-') ? word_at(text, at) : std::string_view();
    if (!word.empty()) {
      plain.text += "null";
      if (word.size() < 4) plain.grown.push_back(plain.text.size());
      if (word.size() > 4) plain.text.append(word.size() - 4, ' ');
      at += word.size() - 1;
      continue;
    }
    plain.text += c;
    if (quoted && c == '\\' && at + 1 < text.size()) plain.text += text[++at];
    if (c == '"') quoted = !quoted;
  }
  return plain;
}

// Checks a text without building a value, and keeps the first error. The parser's callback could see keys too, but with
// a callback the parser searches the enclosing array at the end of each object in it.
class Examiner final : public Json::json_sax_t {
 public:
  // `text` is the original text, for positions; the parser reads plain.text.
  Examiner(std::string_view text, const Plain& plain, const std::string& origin, const MemberNames& once)
      : text_(text), plain_(plain), origin_(origin), once_(once) {}

  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(Json::number_integer_t /*value*/) override { return true; }
  bool number_unsigned(Json::number_unsigned_t /*value*/) override { return true; }
  bool number_float(Json::number_float_t /*value*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*value*/) override { return true; }
  bool binary(Json::binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*members*/) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t /*items*/) override { return enter(); }
  bool end_array() override { return leave(); }

  bool key(std::string& name) override {
    if (depth_ > path_.size()) return true;
    // A path with an empty key matches no member of `once_`. A key that contains a dot, which would read as two keys,
    // and the level of an array have the empty key.
    path_[depth_ - 1] = name.find('.') == std::string::npos ? name : std::string();
    std::fill(path_.begin() + static_cast<std::ptrdiff_t>(depth_), path_.end(), std::string());
    std::string member = path_[0];
    for (std::size_t level = 1; level < depth_; ++level) member += "." + path_[level];
    if (once_.count(member) == 0 || seen_.insert(member).second) return true;
    complaint_ = fmt::format("{}: {} is given twice", origin_, member);
    return false;
  }

  bool parse_error(std::size_t offset, const std::string& token, const Json::exception& error) override {
    if (dynamic_cast<const Json::out_of_range*>(&error) != nullptr) {
      const std::size_t start = offset >= token.size() ? offset - token.size() + 1 : offset;
      complaint_ = fmt::format("{}:{}: the number {} is out of range", origin_, place(start), clipped(token));
    } else {
      complaint_ = fmt::format("{}:{}: not JSON: {}", origin_, place(offset), reason(error));
    }
    return false;
  }

 private:
  [[nodiscard]] std::string place(std::size_t offset) const {
    const auto grown = std::lower_bound(plain_.grown.begin(), plain_.grown.end(), offset) - plain_.grown.begin();
    return position(text_, offset - static_cast<std::size_t>(grown));
  }
  bool enter() {
    ++depth_;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  std::string_view text_;
  const Plain& plain_;
  const std::string& origin_;
  const MemberNames& once_;
  MemberNames seen_;
  std::array<std::string, 5> path_;  // the keys on the path to the current value; `once_` has at most five levels
  std::size_t depth_ = 0;            // number of objects and arrays that enclose the current value
  std::string complaint_;
};

}  // namespace

Expected<Json> parse_config(std::string_view text, const std::string& origin, const MemberNames& once) {
  const Plain plain = without_words_of_python(text);
  Examiner examiner(text, plain, origin, once);
  if (!Json::sax_parse(plain.text, &examiner)) return fail(ErrorCode::invalid_argument, examiner.complaint());
  // A NUL byte is an error here, because the parser would take it for the end of its input. Valid JSON contains none.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}:{}: not JSON: a NUL byte, expected end of input", origin, position(text, nul + 1)));
  }
  Json parsed = Json::parse(plain.text);
  if (parsed.is_object()) return parsed;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{}: expected a JSON object, found {}", origin, parsed.type_name()));
}

}  // namespace cubinet::warmup
