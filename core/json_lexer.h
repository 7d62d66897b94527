// Inner part of json_scan: the tokens of a JSON text, and what is told of one that is none. Every
// step returns false after a fault.
#pragma once

#include <string>
#include <string_view>

#include "core/json_scan.h"

namespace plumbline {

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
