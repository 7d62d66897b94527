#include <array>
#include <new>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/json.h"

namespace plumbline {
namespace {

constexpr size_t kLongestText = 300;

// How the library says something, and how we do. Keys of ours may stand before it.
struct Phrase {
  std::string_view theirs, ours;
  bool to_the_end;  // what follows goes too: a quotation, or names of its functions
};
constexpr std::array kPhrases = {
    Phrase{"type must be ", "must be ", false},
    Phrase{"' not found", "' is missing", false},
    Phrase{"cannot use ", "is not of the right kind", true},
    Phrase{"incompatible ", "is not of the right kind", true},
    Phrase{"invalid iterator", "is not of the right kind", true},
    Phrase{"array index ", "the list is too short", true},
    Phrase{"number overflow", "a number is too large", true},
    Phrase{"invalid UTF-8", "text that is not UTF-8", true},
    Phrase{"cannot get value", "a value is missing", true},
    Phrase{"excessive ", "it is too large", true},
};

// "parse error at line 2, column 7: syntax error ..." -> "no JSON at line 2, column 7".
void cut_parse_error(std::string& text) {
  constexpr std::string_view kTheirs = "parse error";
  const size_t at = text.find(kTheirs);
  if (at == std::string::npos) return;
  const std::string rest = text.substr(at + kTheirs.size());
  const std::string place = rest.substr(0, rest.find(':'));
  text = text.substr(0, at) + "no JSON" + (place.rfind(" at ", 0) == 0 ? place : "");
}

const char* regex_words(std::regex_constants::error_type code) {
  namespace rx = std::regex_constants;
  if (code == rx::error_brack) return "a '[' or ']' has no other half";
  if (code == rx::error_paren) return "a '(' or ')' has no other half";
  if (code == rx::error_brace || code == rx::error_badbrace) return "a {...} is not a count";
  if (code == rx::error_badrepeat) return "there is nothing to repeat before '*', '+', '?' or '{'";
  if (code == rx::error_escape) return "a backslash stands before something it cannot escape";
  if (code == rx::error_range) return "a range such as [z-a] ends before it begins";
  return "it is not written as one, or too large";
}

}  // namespace

std::string json_trouble(const std::exception& error) {
  if (dynamic_cast<const nlohmann::json::exception*>(&error) == nullptr) {
    return exception_words(error);
  }
  std::string text = json_reason(error);
  cut_parse_error(text);
  for (const Phrase& phrase : kPhrases) {
    const size_t at = text.find(phrase.theirs);
    if (at == std::string::npos) continue;
    text.replace(at, phrase.to_the_end ? std::string::npos : phrase.theirs.size(), phrase.ours);
  }
  if (text.size() > kLongestText) text = text.substr(0, kLongestText) + " ...";
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

std::string exception_words(const std::exception& error) {
  if (dynamic_cast<const nlohmann::json::exception*>(&error) != nullptr) return json_trouble(error);
  if (const auto* bad = dynamic_cast<const std::regex_error*>(&error)) {
    return regex_words(bad->code());
  }
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error)) {
    return refused->code().message();
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      dynamic_cast<const std::length_error*>(&error) != nullptr) {
    return "there is not enough memory";
  }
  if (dynamic_cast<const std::out_of_range*>(&error) != nullptr) {
    return "something was outside of its range";
  }
  return "something unexpected happened";
}

}  // namespace plumbline
