// Names from elsewhere as parts of file names: nothing in them leads out of a folder, and two names
// never share a file, also where the file system takes capital and small letters for the same.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace plumbline {

// Small letters, digits, '.', '_' and '-' stay as they are ("mini1.local"). A name with anything
// else, with a dot in front, with a long tail, or that looks like the outcome of this very rule
// gets "_" in the place of such characters, and behind a "-" sixteen hex digits of its SHA-256.
std::string file_word(std::string_view name);

// Gives each file its own name, with a number behind a word that is taken ("x", "x_2").
class FileNames {
 public:
  std::string take(const std::string& word);

 private:
  std::set<std::string> taken_;  // in small letters
};

}  // namespace plumbline
