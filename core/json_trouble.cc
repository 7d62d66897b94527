#include "core/json_trouble.h"

#include "core/json.h"

namespace plumbline {
namespace {

constexpr size_t kLongest = 300;

// The library's words behind which it quotes what it read: a token, the digits of a number.
constexpr const char* kQuotes[] = {"; last read: '", " parsing '"};

}  // namespace

std::string json_trouble(const std::exception& error) {
  std::string text = json_reason(error);
  for (const char* quote : kQuotes) {
    if (const size_t at = text.find(quote); at != std::string::npos) text.resize(at);
  }
  if (text.size() > kLongest) text = text.substr(0, kLongest) + " ...";
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

}  // namespace plumbline
