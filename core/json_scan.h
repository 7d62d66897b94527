// JSON that a person wrote, looked at before it is read: what is wrong with it in the words of
// whoever has to mend it (a missing comma is said to be one), and where each value stands, so that
// what is wrong with a value is told with its line too. Comments (// and /* */) are allowed, keys
// that stand twice are not. What passes here without a fault can be parsed. Pure, never throws for
// what a text holds.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumbline {

// Both from 1; columns count bytes. `file` is for whoever keeps the places of several texts.
struct JsonSpot {
  size_t line = 1, column = 1;
  size_t file = 0;
};

// "12:5".
std::string spot_text(const JsonSpot& spot);

// Where the values of a text stand, by path: "$.matrix[0].op". A member is where its key is.
class JsonPlaces {
 public:
  void add(const std::string& path, JsonSpot spot);
  // Everything of `top`, in the file of this number, or in the files in which it is.
  void add_all(const JsonPlaces& top, std::optional<size_t> file = std::nullopt);
  // Forgets the value at this path and all within it.
  void erase_under(const std::string& path);
  // Of the value at this path, or of the nearest one around it that is in the text.
  JsonSpot find(std::string_view path) const;

 private:
  std::map<std::string, JsonSpot, std::less<>> spots_;
};

struct JsonFault {
  JsonSpot spot;
  std::string path;  // of a key that stands twice; empty = the text is no JSON from there on
  std::string what, hint;
};

struct JsonScan {
  std::vector<JsonFault> faults;
  JsonPlaces places;  // up to the fault where the text is no JSON
  bool broken = false;
};

JsonScan scan_json(std::string_view text);

// "$.a" + "b" -> "$.a.b"; a key that is no plain word is put into brackets and quotes.
std::string json_member_path(const std::string& parent, const std::string& key);
std::string json_element_path(const std::string& parent, size_t index);

// ---- inner part: the tokens of a JSON text, and what is told of one that is none; every step
// returns false after a fault ----

constexpr const char* kJsonNumbers =
    "numbers are written as 5, -0.5 or 1e6; one with a unit is a text: \"64Ki\"";

class JsonLexer {
 public:
  explicit JsonLexer(std::string_view text) : text_(text) {}

 protected:
  struct Token {
    size_t begin = 0, end = 0;
  };

  bool fault(size_t at, std::string what, std::string hint);
  size_t line_of(size_t at) const;
  // Positions asked for must only ever grow: the lines are counted once.
  JsonSpot spot_here(size_t at);
  std::string last_shown() const;

  char here() const { return text_[at_]; }
  bool at_end() const { return at_ >= text_.size(); }
  void take(size_t begin, size_t end) {
    last_ = {begin, end};
    at_ = end;
  }

  bool space();  // and comments
  std::string_view word(size_t at) const;
  bool string(std::string& content);
  // A number, or a word that should be one of three.
  bool scalar();
  // Something that begins neither a value nor a key.
  bool odd();

  std::string_view text_;
  JsonScan out_;
  size_t at_ = 0;
  Token last_;  // the last value, bracket, comma or colon

 private:
  bool comment();
  bool four_digits(size_t at, unsigned& value) const;
  bool escape(size_t& at);
  bool number(std::string_view token);

  size_t counted_ = 0;
  JsonSpot spot_;
};

// A letter of a word or number, and a word as messages show it.
bool is_json_word(char c);
std::string json_word_shown(std::string_view word);

}  // namespace plumbline
