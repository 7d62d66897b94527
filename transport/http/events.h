// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), the form in
// which servers stream their answers: lines "data: ...", an event ends with an empty line. Bytes
// may come in any pieces; lines end with LF, CR LF or CR. Pure; one thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace plumbline {

struct ServerEvent {
  std::string name;  // of its last "event:" line; empty = there was none
  std::string data;  // of all its "data:" lines, a newline between them
};

class EventReader {
 public:
  // Appends the events that these bytes complete. kProtocol for an event of more than 1 MiB or a
  // zero byte; after that it stays broken.
  Status feed(std::string_view bytes, std::vector<ServerEvent>& events);
  // Something has come of an event that is not complete.
  bool inside() const { return !line_.empty() || has_data_; }

 private:
  void take_line(std::vector<ServerEvent>& events);

  std::string line_;
  ServerEvent event_;
  bool has_data_ = false, after_cr_ = false, first_ = true, broken_ = false;
};

}  // namespace plumbline
