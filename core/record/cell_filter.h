// Terms that pick cells by their fields: those of --only and --skip ("op=allreduce,broadcast",
// "bytes>=64Ki", "bytes=64Ki..1Mi", "ring") and those of a rule's `where`. A cell's table of fields
// (core/record/cell.cc) says which there are. Pure, thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/record/cell.h"

namespace plumbline {

// How a value stands to the one that is asked for; kWithin: to two, both included.
enum class Relation { kAtLeast, kAtMost, kAbove, kBelow, kEqual, kNotEqual, kWithin };
// Takes one (">=", "=" ...) off the front of a text; nullopt when none stands there.
std::optional<Relation> take_relation(std::string& text);
template <typename T>
bool stands_so(const T& have, Relation relation, const T& asked, const T& upper) {
  switch (relation) {
    case Relation::kAtLeast:
      return have >= asked;
    case Relation::kAtMost:
      return have <= asked;
    case Relation::kAbove:
      return have > asked;
    case Relation::kBelow:
      return have < asked;
    case Relation::kEqual:
      return have == asked;
    case Relation::kNotEqual:
      return have != asked;
    case Relation::kWithin:
      return have >= asked && have <= upper;
  }
  return false;
}

class FilterTerm {
 public:
  // An Error names the term and what would be accepted. Words must occur in one of the `cells`, so
  // that a misspelt one does not silently select nothing.
  static Expected<FilterTerm> parse(const std::string& text, const std::vector<Cell>& cells) {
    return parse_with(text, &cells);
  }
  // The same where the cells are not known yet; a term without a field is refused then.
  static Expected<FilterTerm> parse_unseen(const std::string& text) {
    return parse_with(text, nullptr);
  }

  bool holds(const Cell& cell) const;
  const std::string& text() const { return text_; }    // as it was written
  const std::string& field() const { return field_; }  // "op", "config.chunk_bytes"
  // The words it names (none for a field that is a number), for whoever knows the right ones.
  const std::vector<std::string>& words() const { return words_; }

 private:
  static Expected<FilterTerm> parse_with(const std::string& text, const std::vector<Cell>* cells);
  bool number_holds(int64_t have) const;

  std::string text_;
  std::string field_;  // empty = any of the word fields
  Relation relation_ = Relation::kEqual;
  std::vector<std::string> words_;
  std::vector<std::pair<int64_t, int64_t>> ranges_;  // first and last, for fields that are numbers
};

// Names of the fields that a term can have; "config.NAME" is one too.
std::vector<std::string> filter_field_names();
// Is that field a number? False for unknown ones.
bool filter_field_is_number(const std::string& name);

}  // namespace plumbline
