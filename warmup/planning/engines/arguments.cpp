#include "warmup/planning/engines/arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "util/text.hpp"
#include "warmup/planning/model_fields.hpp"

namespace cubinet::warmup::engines {
namespace {

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message)); }

// vLLM accepts --disable-x as --no-enable-x, and --enable-x as --no-disable-x.
constexpr std::array<std::pair<std::string_view, const char*>, 2> inverse_prefixes{
    {{"enable-", "disable-"}, {"disable-", "enable-"}}};

std::string with_dashes(const std::string& name) { return name.starts_with('-') ? name : "--" + name; }

// The option's name with underscores replaced by dashes, up to the first dot. The keys of a JSON value stay unchanged.
std::string dashed(std::string_view written) {
  std::string text(written);
  std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(text.find('.'), text.size())), '_',
               '-');
  return text;
}

// Whether a word is a value and not an option. argparse treats negative numbers and words with a blank as values.
bool is_value(const std::string& word) {
  if (!word.starts_with('-') || word == "-" || word.find(' ') != std::string::npos) return true;
  return word.find_first_not_of("0123456789.", 1) == std::string::npos;
}

// Whether the word begins with a dash that an editor put in place of a hyphen: hyphen, en dash, em dash, minus.
bool begins_with_a_dash(std::string_view word) {
  constexpr std::array<std::string_view, 5> dashes{"\u2010", "\u2011", "\u2013", "\u2014", "\u2212"};
  return std::any_of(dashes.begin(), dashes.end(), [&](std::string_view dash) { return word.starts_with(dash); });
}

std::optional<std::int64_t> plain_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

FlagTable::FlagTable(Spelling spelling, std::initializer_list<Flags> flags) : spelling_(spelling) {
  for (const Flags& list : flags) {
    std::string word;
    for (const char c : std::string(list.names) + ' ') {
      if (c != ' ' && c != '\n') {
        word += c;
      } else if (!word.empty()) {
        add(std::exchange(word, {}), list.kind);
      }
    }
  }
}

void FlagTable::add(const std::string& names, FlagKind kind) {
  const std::vector<std::string> all = util::split(names, '|');
  const std::string& own = all.front();
  for (const std::string& name : all) {
    options_.insert_or_assign(with_dashes(name), Option{own, kind, false});
    if (kind != FlagKind::toggle || name.starts_with('-')) continue;
    options_.insert_or_assign("--no-" + name, Option{own, kind, true});
    if (spelling_ != Spelling::flexible) continue;
    for (const auto& [prefix, inverse] : inverse_prefixes) {
      if (!name.starts_with(prefix)) continue;
      options_.insert_or_assign(std::string("--") + inverse + name.substr(prefix.size()), Option{own, kind, true});
    }
  }
}

bool FlagTable::has(std::string_view name) const {
  return std::any_of(options_.begin(), options_.end(), [&](const auto& one) { return one.second.name == name; });
}

Expected<std::optional<FlagTable::Option>> FlagTable::find(std::string_view written) const {
  const std::string text = spelling_ == Spelling::flexible ? dashed(written) : std::string(written);
  if (const auto exact = options_.find(text); exact != options_.end()) return exact->second;
  if (!text.starts_with("--")) return std::nullopt;
  std::set<std::string> names;
  std::optional<Option> found;
  for (auto one = options_.lower_bound(text); one != options_.end() && one->first.starts_with(text); ++one) {
    names.insert(with_dashes(one->second.name));
    found = one->second;
  }
  if (names.size() > 1) return refuse(fmt::format("{} is short for {}", written, fmt::join(names, " and ")));
  if (!found && spelling_ == Spelling::exact && options_.count(dashed(text)) != 0) {
    return refuse(fmt::format("there is no {}; it is written {}", written, dashed(text)));
  }
  return found;
}

const Arguments::Given* Arguments::find(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? nullptr : &found->second;
}

bool Arguments::on(std::string_view name) const {
  const Given* given = find(name);
  return given != nullptr && given->on;
}

const std::string* Arguments::text(std::string_view name) const {
  const Given* given = find(name);
  return given == nullptr || given->values.empty() ? nullptr : &given->values.back();
}

std::string Arguments::text_or(std::string_view name, std::string_view otherwise) const {
  const std::string* given = text(name);
  return given == nullptr ? std::string(otherwise) : *given;
}

std::string Arguments::written(std::string_view name) const {
  const Given* given = find(name);
  return given == nullptr ? "--" + std::string(name) : given->written;
}

Expected<std::int64_t> Arguments::number(std::string_view name, std::int64_t least, std::int64_t otherwise) const {
  const std::string* given = text(name);
  if (given == nullptr) return otherwise;
  const auto number = human_number(*given);
  if (number && *number >= least && *number <= largest_number) return *number;
  const char* advice = given->find('$') == std::string::npos ? "" : "; variables are not expanded here";
  return refuse(fmt::format("{} is '{}', expected a whole number from {} on{}", written(name), *given, least, advice));
}

std::optional<std::int64_t> human_number(std::string_view text) {
  constexpr std::array<std::pair<char, std::int64_t>, 4> units{
      {{'k', 1000}, {'K', 1024}, {'m', 1000 * 1000}, {'M', 1024 * 1024}}};
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const auto& one) { return !text.empty() && text.back() == one.first; });
  if (unit == units.end()) return plain_number(text);
  const auto count = plain_number(text.substr(0, text.size() - 1));
  if (!count || *count < 0 || *count > largest_number) return std::nullopt;
  return *count * unit->second;
}

namespace {

// The parts of an option's word: "--x.key=1" is --x, .key and 1.
struct Word {
  std::string option;
  std::string key;
  std::optional<std::string> value;
};

Word word_of(const std::string& text, const FlagTable& table) {
  Word word;
  const std::size_t equals = text.find('=');
  word.option = text.substr(0, equals);
  if (equals != std::string::npos) word.value = text.substr(equals + 1);
  if (table.spelling() == Spelling::flexible && word.option.starts_with("--")) {
    const std::size_t dot = std::min(word.option.find('.'), word.option.size());
    word.key = word.option.substr(dot);
    word.option.resize(dot);
  }
  return word;
}

// The option that a word stands for. An option of one letter may be followed by its value without a blank: -O3.
Expected<std::optional<FlagTable::Option>> option_of(Word& word, const std::string& text, const FlagTable& table) {
  auto found = table.find(word.option);
  if (!found || *found || text.starts_with("--") || text.size() < 3) return found;
  found = table.find(text.substr(0, 2));
  if (!found || !*found) return found;
  word.value = text.substr(text[2] == '=' ? 3 : 2);
  word.option = text.substr(0, 2);
  return found;
}

}  // namespace

Expected<Arguments> parse_arguments(std::span<const std::string> words, const FlagTable& table) {
  Arguments all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i];
    if (begins_with_a_dash(text)) return refuse(fmt::format("{} begins with a dash that is not a hyphen", text));
    if (is_value(text)) {
      if (all.positionals.size() == i) ++all.leading;
      all.positionals.push_back(text);
      continue;
    }
    if (text == "--") continue;
    Word word = word_of(text, table);
    const auto option = option_of(word, text, table);
    if (!option) return propagate(option);
    const auto value_follows = [&] { return i + 1 < words.size() && is_value(words[i + 1]); };
    if (!*option) {
      all.unknown.push_back(word.option);
      while (value_follows()) ++i;
      continue;
    }
    const FlagKind kind = (*option)->kind;
    Arguments::Given given{word.option, {}, !(*option)->negated};
    if (word.value) given.values.push_back(*word.value);
    const bool takes_value = kind != FlagKind::switch_on && kind != FlagKind::toggle;
    while (takes_value && value_follows() && (given.values.empty() || (kind == FlagKind::values && !word.value))) {
      given.values.push_back(words[++i]);
    }
    if (kind == FlagKind::value && given.values.empty()) return refuse(fmt::format("{} has no value", text));
    all.given_.insert_or_assign((*option)->name + word.key, std::move(given));
  }
  return all;
}

}  // namespace cubinet::warmup::engines
