// Tests of parsing an engine's options.
#include "warmup/planning/engines/arguments.hpp"
#include "catch.hpp"

namespace {

using namespace cubinet::warmup::engines;

const FlagTable& exact() {
  static const FlagTable table(Spelling::exact,
                               {{FlagKind::switch_on, "enable-eplb trust-remote-code"},
                                {FlagKind::toggle, "enable-tf32"},
                                {FlagKind::value, "tp-size|tensor-parallel-size ep-size|ep ep-algorithm"},
                                {FlagKind::values, "names"},
                                {FlagKind::optional, "checksum"}});
  return table;
}

const FlagTable& flexible() {
  static const FlagTable table(Spelling::flexible,
                               {{FlagKind::toggle, "enable-expert-parallel|-ep"},
                                {FlagKind::value, "tensor-parallel-size|-tp eplb-config level|-O"}});
  return table;
}

Arguments parse(const FlagTable& table, const std::vector<std::string>& words) {
  return parse_arguments(words, table).value();
}

std::string refusal(const FlagTable& table, const std::vector<std::string>& words) {
  return parse_arguments(words, table).error().message;
}

}  // namespace

TEST_CASE("An option's value is the next word or follows an equals sign") {
  CHECK(*parse(exact(), {"--tp-size", "8"}).text("tp-size") == "8");
  CHECK(*parse(exact(), {"--tp-size=8"}).text("tp-size") == "8");
  CHECK(*parse(exact(), {"--tp-size=a=b"}).text("tp-size") == "a=b");
  CHECK(*parse(flexible(), {"-tp=8"}).text("tensor-parallel-size") == "8");
  CHECK(*parse(exact(), {"--ep-algorithm", "-1"}).text("ep-algorithm") == "-1");
}

TEST_CASE("An option is recognized by each of its names and by any unique prefix") {
  for (const char* name : {"--tp-size", "--tensor-parallel-size", "--tp", "--tensor"}) {
    CHECK(*parse(exact(), {name, "8"}).text("tp-size") == "8");
  }
  CHECK(*parse(exact(), {"--ep", "8"}).text("ep-size") == "8");  // a complete name, although other names begin with it
  CHECK(parse(exact(), {"--tp", "8"}).written("tp-size") == "--tp");
}

TEST_CASE("An ambiguous prefix is refused with the names of the options that it matches") {
  CHECK(refusal(exact(), {"--e", "8"}) ==
        "--e is short for --enable-eplb and --enable-tf32 and --ep-algorithm and --ep-size");
}

TEST_CASE("Underscores in place of dashes are accepted only for engines that accept them") {
  CHECK(*parse(flexible(), {"--tensor_parallel_size", "8"}).text("tensor-parallel-size") == "8");
  CHECK(refusal(exact(), {"--tp_size", "8"}) == "there is no --tp_size; it is written --tp-size");
}

TEST_CASE("Switches take no value, and toggles can be turned off by a later option") {
  const Arguments given = parse(exact(), {"--enable-eplb", "--enable-tf32", "--no-enable-tf32"});
  CHECK(given.on("enable-eplb"));
  CHECK(given.has("enable-tf32"));
  CHECK(!given.on("enable-tf32"));
  CHECK(parse(flexible(), {"-ep"}).on("enable-expert-parallel"));
  CHECK(!parse(flexible(), {"--disable-expert-parallel"}).on("enable-expert-parallel"));
}

TEST_CASE("A key of a JSON value can be given as an option if the engine accepts that") {
  const Arguments given = parse(flexible(), {"--eplb_config.num_redundant_experts", "32", "--eplb-config.x=1"});
  CHECK(*given.text("eplb-config.num_redundant_experts") == "32");
  CHECK(*given.text("eplb-config.x") == "1");
}

TEST_CASE("The value of a one-letter option may follow it without a blank") {
  CHECK(*parse(flexible(), {"-O3"}).text("level") == "3");
  CHECK(*parse(flexible(), {"-O=3"}).text("level") == "3");
}

TEST_CASE("Lists and optional values end at the next option") {
  const Arguments given = parse(exact(), {"--names", "a", "b", "--checksum", "--tp", "8"});
  CHECK(*given.text("names") == "b");
  CHECK(given.has("checksum"));
  CHECK(given.text("checksum") == nullptr);
  CHECK(*given.text("tp-size") == "8");
}

TEST_CASE("If an option is given several times, the last value is used") {
  CHECK(*parse(exact(), {"--tp", "4", "--tp-size", "8"}).text("tp-size") == "8");
}

TEST_CASE("Unknown options are listed by name, and the words after them are not positional arguments") {
  const Arguments given = parse(flexible(), {"model", "--new-option", "x", "--other=1", "-z", "-tp", "8"});
  CHECK(given.unknown == std::vector<std::string>{"--new-option", "--other", "-z"});
  CHECK(given.positionals == std::vector<std::string>{"model"});
  CHECK(*given.text("tensor-parallel-size") == "8");
}

TEST_CASE("An option without its value is refused by name") {
  CHECK(refusal(exact(), {"--tp"}) == "--tp has no value");
  CHECK(refusal(exact(), {"--tp", "--ep", "8"}) == "--tp has no value");
}

TEST_CASE("Numbers are integers with an optional unit") {
  CHECK(human_number("16k") == 16000);
  CHECK(human_number("16K") == 16384);
  CHECK(human_number("-1") == -1);
  CHECK(!human_number("8x"));
  CHECK(!human_number(""));
  CHECK(!human_number("99999999999999999999"));
  CHECK(parse(exact(), {}).number("tp-size", 1, 3).value() == 3);
  CHECK(parse(exact(), {"--tp", "0"}).number("tp-size", 1, 3).error().message ==
        "--tp is '0', expected a whole number from 1 on");
  CHECK(parse(exact(), {"--tp", "$TP"}).number("tp-size", 1, 3).error().message ==
        "--tp is '$TP', expected a whole number from 1 on; variables are not expanded here");
}
