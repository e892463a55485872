#include "tools/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace cubinet::tools {
namespace {

// The message for a refused command line.
std::string complaint_of(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_name() != "RequiredError") return error.what();
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty()) return "'" + unknown.front() + "' is not a command; see cubinet --help";
  return std::string(error.what()) + "; see cubinet --help";
}

}  // namespace

Option Option::required() const { return Option(option_->required()); }

Option Option::described(const std::string& help) const { return Option(option_->description(help)); }

Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }

Option Option::shown_default(const std::string& text) const { return Option(option_->default_str(text)); }

Option Option::takes(int least, int most) const { return Option(option_->expected(least, most)); }

Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }

Option Option::excludes(const char* other) const { return Option(option_->excludes(other)); }

Option Option::needs(Option other) const { return Option(option_->needs(other.option_)); }

Option Option::checked(const Complaint& complaint) const { return Option(option_->check(complaint, "")); }

Option Option::not_empty(const std::string& words) const {
  return checked([words](const std::string& text) { return text.empty() ? words : std::string(); });
}

std::string Option::name() const { return option_->get_name(); }

bool Option::is(const char* name) const { return option_->check_name(name); }

bool Option::given() const { return option_->count() > 0; }

Command Command::subcommand(const std::string& name, const std::string& help) const {
  return {app_->add_subcommand(name, help), exit_code_};
}

void Command::requires_subcommand() const { app_->require_subcommand(1); }

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::action(std::function<int()> run) const {
  app_->callback([run = std::move(run), exit_code = exit_code_] { *exit_code = run(); });
}

Option Command::flag(const std::string& name, bool& target, const std::string& help) const {
  return Option(app_->add_flag(name, target, help));
}

Option Command::option(const std::string& name, std::string& target, const std::string& help) const {
  return Option(app_->add_option(name, target, help));
}

Option Command::option(const std::string& name, std::vector<std::string>& target, const std::string& help) const {
  return Option(app_->add_option(name, target, help));
}

Option Command::file(const std::string& name, std::string& target, const std::string& help) const {
  return option(name, target, help).type_name("FILE").not_empty("the name of the file is empty");
}

Option Command::parsed(const std::string& name, const Complaint& store, const std::string& help) const {
  const auto store_or_throw = [name, store](const std::string& text) {
    const std::string complaint = store(text);
    if (!complaint.empty()) throw CLI::ValidationError(name, complaint);
  };
  return Option(app_->add_option_function<std::string>(name, store_or_throw, help));
}

std::vector<Option> Command::options() const {
  std::vector<Option> options;
  for (CLI::Option* option : app_->get_options()) options.emplace_back(option);
  return options;
}

CommandLine::CommandLine(const std::string& name, const std::string& description, const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::root() { return {app_.get(), &exit_code_}; }

Expected<int> CommandLine::parse(std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // CLI11 takes them in reverse order
  try {
    app_->parse(std::move(words));
  } catch (const CLI::Success& help_or_version) {
    return app_->exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return fail(ErrorCode::invalid_argument, complaint_of(*app_, error));
  }
  return exit_code_;
}

bool CommandLine::names(const std::string& command) const { return app_->got_subcommand(command); }

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Option add_number(Command command, const std::string& name, std::int64_t& target, std::int64_t lowest,
                  std::int64_t highest, const std::string& help) {
  const auto parse = [lowest, highest](const std::string& text) -> Expected<std::int64_t> {
    const auto value = parse_number(text);
    if (value && *value >= lowest && *value <= highest) return *value;
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a whole number from {} to {}", text, lowest, highest));
  };
  return add_parsed(command, name, target, parse, help).type_name("N").shown_default(std::to_string(target));
}

}  // namespace cubinet::tools
