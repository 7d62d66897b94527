// The keys of a scenario file, as one table. From it come the checks of unknown keys and wrong
// types, the published JSON Schema, and the reference section of docs/scenario_format.md; so a key
// exists in all of them or in none. Paths are written as in "matrix[].bytes.from"; a last part "*"
// stands for any name. Pure, thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.h"

namespace plumbline {

// What a value may look like; several may be joined with |.
enum KeyShape : unsigned {
  kText = 1,       // a string; one of `words` when the row has any
  kBool = 2,       // true or false
  kInt = 4,        // a whole number within [min, max]
  kReal = 8,       // any number within [min, max]
  kSize = 16,      // bytes: a whole number within [min, max], or text such as "64Ki"
  kDuration = 32,  // text such as "2s"
  kObject = 64,    // an object whose keys are the rows below this one
  kScalar = 128,   // text, number or boolean: checked by whoever owns the names
  kNull = 256,     // null
  kTexts = 512,    // as an element of a list: a list of texts itself, with at least one
};

struct KeyRow {
  const char* path;
  unsigned one;   // shapes of a single value; 0 = always a list
  unsigned each;  // shapes of the elements of a list; 0 = never a list
  bool required;  // within the object that holds it
  // Words that text may be: "a|b", or a class of names such as "@op"; nullptr = free text.
  const char* words;
  const char* fallback;  // what holds when the key is absent, as a reader would write it
  double min, max;       // of numbers; sizes in bytes
  const char* help;      // one or two sentences; Markdown; none: as cell_kind.h says
};

// May a list of this row be empty? Only where that is what its absence means too.
inline bool may_be_empty(const KeyRow& row) { return std::string_view(row.fallback) == "[]"; }

// A key that people know from elsewhere, or that belongs to a part which is not there.
struct RefusedKeyRow {
  const char* path;
  const char* reason;
};

std::span<const KeyRow> key_table();
std::span<const RefusedKeyRow> refused_key_table();

// The row of a path, the "*" row of its object, or nullptr.
const KeyRow* find_key(const std::string& path);
// Rows directly within the object `prefix` ("" = the file, "matrix[]."), "*" included.
std::vector<const KeyRow*> keys_within(const std::string& prefix);
// The words that this row accepts, class names replaced; empty = free text (no words, or a class of
// which the vocabulary lists no names).
std::vector<std::string> accepted_words(const KeyRow& row, const Vocabulary& vocabulary);
// What is wrong with `word` where one of `words` should stand; of an algorithm the part behind the
// colon is judged by itself. Nothing = it is right.
struct WrongWord {
  std::string reason;  // empty = it is unknown
  std::string hint;
};
std::optional<WrongWord> wrong_word(const KeyRow& row, const std::vector<std::string>& words,
                                    const std::string& word, const Vocabulary& vocabulary);

}  // namespace plumbline
