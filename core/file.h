// Whole files: those that somebody names for us to read, those that decide what is started or who
// is trusted, and those that we write, with their errors seen. Of what is read only regular files
// are: a FIFO would make us wait for whoever writes it, a device may do anything when it is opened.
// Where the standard input is allowed ("-"), that is the caller's to know. Never blocks.
// Thread-safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

// kConfig, with the path and what lies there.
Expected<Fd> open_input_file(const std::string& path);
// The whole of it; a file of more than `most_bytes` is an error, found before it is read.
Expected<std::string> read_input_file(const std::string& path, size_t most_bytes);
// What the system says of itself and of processes (/proc, /sys); empty where it does not, for
// example of a process that ended a moment ago: reading that fails after opening, for which streams
// of the standard library throw.
std::string read_system_file(const std::string& path);
// The same of a file that is open; `path` is for the error.
Expected<std::string> read_whole(const Fd& file, const std::string& path, size_t most_bytes);

// ---- text that we write ----

// All of it; the Error says that this could not be done: "append to x".
Status write_whole(const Fd& file, std::string_view text, const std::string& what,
                   std::string hint = {});

// What was there before is lost, also where writing fails.
Status write_text_file(const std::string& path, const std::string& text);
// The file is the old one or the new one, never half of one: written beside it, then renamed.
// `hint` goes into the Error.
Status replace_text_file(const std::string& path, const std::string& text, std::string hint = {});

// ---- a secret that others can read is none, and a folder that others may write holds whatever
// they put there; the errors name what is wrong and the command that mends it ----

// What stands in a file that is this user's (or root's), which nobody else may read, write or
// replace.
Expected<std::string> read_secret_file(const std::string& path, size_t most_bytes);
// The same, but that others may read it: what decides how something is done, and is no secret.
Expected<std::string> read_trusted_file(const std::string& path, size_t most_bytes);
// Every folder from / down to `folder`, itself included, is this user's or root's, and others may
// not write it; or it is sticky, like /tmp, so that nobody can replace what belongs to us. Links on
// the way are followed.
Status check_folders_above(const std::string& folder);

// ---- names from elsewhere as parts of file names: nothing in them leads out of a folder, and no
// two share a file, also where capital and small letters are the same to the file system ----

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

// A folder of our own, with a fresh name and for this user only, under the system's place for
// temporary files or another one, removed with everything in it at the end of its owner's life.

class TemporaryFolder {
 public:
  // path() is empty when none could be made, and errno says why.
  TemporaryFolder();
  explicit TemporaryFolder(const std::filesystem::path& base);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace plumbline
