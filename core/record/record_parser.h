// Lines of records.jsonl to records, made for files of a million of them: what the lines of a run
// repeat (the environment, a cell that was measured before) is not parsed again but recognised by
// its text, and lists of numbers are read without a tree of JSON in between. Everything else about
// a record is checked as strictly as if it stood alone. One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/record/json_slices.h"
#include "core/record/record.h"

namespace plumbline {

class RecordParser {
 public:
  // `newer`: records of a later schema are read as far as this version understands them; otherwise
  // they are an error.
  explicit RecordParser(bool newer = false) : newer_(newer) {}

  // The record is good until the next call. The error says what is wrong with the line, in one
  // short line of printable text. `warnings` as in record_from_line().
  Expected<const Record*> parse(std::string_view line, std::vector<std::string>* warnings);
  // The last record; the parser then knows no environment any more.
  Record release() {
    environment_text_.clear();
    return std::move(record_);
  }

 private:
  Expected<const Record*> parse_json(std::string_view line, std::vector<std::string>* warnings);
  void read(std::string_view line, std::vector<std::string>* warnings);
  void read_cell(std::string_view text);
  void read_environment(std::string_view text);

  bool newer_;
  Record record_;
  std::string environment_text_;                    // what record_.environment was read from
  std::map<std::string, Cell, std::less<>> cells_;  // by their text
  std::vector<JsonMember> members_;
  std::string rest_;
  Histogram::Buckets buckets_;
};

}  // namespace plumbline
