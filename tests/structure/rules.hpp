// Checks the rules for includes between folders (docs/design.md, "Folders"), as a function over texts.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cubinet::structure {

// A source file: its path from the root of the tree with forward slashes, and its text.
struct File {
  std::string path;
  std::string text;
};

// One #include line.
struct Include {
  std::string name;  // the text between the quotes or angle brackets
  bool angled = false;
  int line = 0;  // from 1
};

// The #include lines of a text, outside comments. Conditions are not evaluated.
std::vector<Include> includes_of(const std::string& text);

// Every violation of the rules, as "path:line: what is wrong"; empty if there is none.
std::vector<std::string> breaches(const std::vector<File>& files);

// The files of the tree that the rules apply to, sorted by path. Throws std::runtime_error if one cannot be read.
std::vector<File> read_tree(const std::filesystem::path& root);

}  // namespace cubinet::structure
