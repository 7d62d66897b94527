// Lines of a file of records to records: each line is one, or says where and how those below it
// were measured. What was read of such lines is kept by its hash, in bounded memory. One thread.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.h"

namespace plumbline {

class RecordParser {
 public:
  // `newer`: records of a later schema are read as far as this version understands them; otherwise
  // they are an error. `strict`: so is an environment that was altered; otherwise a warning.
  explicit RecordParser(bool newer = false, bool strict = false) : newer_(newer), strict_(strict) {}

  // The record, good until the next call; nullptr for the line of an environment. The error says
  // what is wrong with the line, in one short line of printable text. With a
  // `warnings` pointer, derived values that differ from recomputation by more than 0.1 % are
  // replaced and reported there.
  Expected<const Record*> parse(std::string_view line, std::vector<std::string>* warnings);
  // Was the last error that nothing above tells where the record was measured?
  bool lacks_environment() const { return lacks_environment_; }

 private:
  Expected<const Record*> parse_json(std::string_view line, std::vector<std::string>* warnings);
  void read_record(const nlohmann::json& object, std::vector<std::string>* warnings);
  void read_environment(const nlohmann::json& value);
  void take_environment(const nlohmann::json& object, std::string_view line,
                        std::vector<std::string>* warnings);

  bool newer_, strict_;
  bool lacks_environment_ = false;
  Record record_;
  std::string current_;  // hash of record_.environment, empty when it has none
  // By their hashes; the text, not what was read of it, as there may be thousands.
  std::map<std::string, std::string> known_;
  size_t known_bytes_ = 0;
};

// ---- what writing and reading share ----

// Of the value of `environment` in a line of its own.
std::string hash_of_environment(const nlohmann::json& environment);

// With this every line of an environment begins that plumbline has written: keys are sorted.
inline constexpr std::string_view kEnvironmentStart = "{\"environment\":{";

}  // namespace plumbline
