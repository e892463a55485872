#include "warmup/planning/engines/shell_words.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cubinet::warmup::engines {
namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view ends_of_command = ";&|";
constexpr std::string_view redirections = "<>";

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

class Splitter {
 public:
  explicit Splitter(std::string_view text) : text_(text) {}

  Expected<std::vector<std::vector<std::string>>> split() {
    while (at_ < text_.size()) {
      if (auto step = take(); !step) return propagate(step);
    }
    end_command();
    return std::move(commands_);
  }

 private:
  Expected<void> take() {
    const char c = text_[at_];
    if (is_one_of(c, blanks)) {
      end_word();
      ++at_;
      return {};
    }
    const bool redirects_both = c == '&' && at_ + 1 < text_.size() && text_[at_ + 1] == '>';  // &>log
    if (is_one_of(c, redirections) || redirects_both) {
      take_redirection();
      return {};
    }
    if (is_one_of(c, ends_of_command)) {
      end_command();
      ++at_;
      return {};
    }
    if (c == '#' && !in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return {};
    }
    if (c == '\\') {
      take_escaped();
      return {};
    }
    if (c == '\'' || c == '"') return take_quoted(c);
    append(c);
    ++at_;
    return {};
  }

  // The next word is the target of the redirection. In "2>log" the digit belongs to the redirection.
  void take_redirection() {
    if (!quoted_ && word_.find_first_not_of("0123456789") == std::string::npos) in_word_ = false;
    end_word();
    at_ = std::min(text_.find_first_not_of("<>&|", at_), text_.size());
    redirected_ = true;
  }

  // A backslash outside of quotes. With a line end it is removed; any other next character is taken literally.
  void take_escaped() {
    ++at_;
    if (text_.substr(at_, 2) == "\r\n") {
      at_ += 2;
      return;
    }
    if (at_ < text_.size() && text_[at_] != '\n') append(text_[at_]);
    ++at_;
  }

  Expected<void> take_quoted(char quote) {
    const std::size_t start = at_++;
    in_word_ = quoted_ = true;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const bool escapes =
          quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() && is_one_of(text_[at_ + 1], "\"\\$`\n");
      if (escapes && text_[++at_] == '\n') continue;
      append(text_[at_]);
    }
    if (at_++ < text_.size()) return {};
    return fail(ErrorCode::invalid_argument,
                fmt::format("the quote before '{}' is not closed", text_.substr(start + 1, 20)));
  }

  void append(char c) {
    in_word_ = true;
    word_ += c;
  }

  void end_word() {
    if (in_word_ && !redirected_) words_.push_back(std::move(word_));
    redirected_ = redirected_ && !in_word_;
    word_.clear();
    in_word_ = quoted_ = false;
  }

  void end_command() {
    end_word();
    redirected_ = false;
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::vector<std::string>> commands_;
  std::vector<std::string> words_;
  std::string word_;
  bool in_word_ = false;  // also for an empty word in quotes
  bool quoted_ = false;
  bool redirected_ = false;  // the next word is a file
};

}  // namespace

Expected<std::vector<std::vector<std::string>>> shell_commands(std::string_view text) { return Splitter(text).split(); }

}  // namespace cubinet::warmup::engines
