#include "transport/http/events.h"

#include <utility>

namespace plumbline {
namespace {

constexpr size_t kMostEventBytes = 1 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

Status EventReader::feed(std::string_view bytes, std::vector<ServerEvent>& events) {
  for (const char c : bytes) {
    if (broken_ || c == '\0') {
      broken_ = true;
      return fail(ErrorCode::kProtocol, "the stream of events has a zero byte or too long a line");
    }
    const bool rest_of_end = std::exchange(after_cr_, c == '\r') && c == '\n';
    if (rest_of_end) continue;
    if (c == '\r' || c == '\n') {
      take_line(events);
      continue;
    }
    line_ += c;
    broken_ = line_.size() + event_.data.size() + event_.name.size() > kMostEventBytes;
  }
  if (!broken_) return {};
  return fail(ErrorCode::kProtocol, "an event of the stream has more than 1 MiB");
}

void EventReader::take_line(std::vector<ServerEvent>& events) {
  const std::string whole = std::exchange(line_, {});
  std::string_view line = whole;
  if (std::exchange(first_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) {
    ServerEvent event = std::exchange(event_, {});
    if (std::exchange(has_data_, false)) events.push_back(std::move(event));
    return;
  }
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  } else if (field == "event") {
    event_.name = value;
  }  // comments (no field), "id" and "retry" are of no use here
}

}  // namespace plumbline
