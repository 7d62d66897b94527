// What counters around a burst of connection attempts say about the place where packets are lost,
// for hosts on which nothing could be captured. Pure, thread-safe.
#pragma once

#include <optional>
#include <string>

#include "probes/rules/pair_filters.h"

namespace plumbline {

class BurstView {
 public:
  // The burst of this pair, as far as it was made for a port of the same fate as this attempt's.
  BurstView(const PairView& view, const PortTry& attempt);

  // Did the requests come as far as the TCP of the other end?
  bool reached_peer_tcp() const { return reached_tcp_; }
  // The first place on the way of the requests (or of the answers) behind which a counter did not
  // rise; nullopt = cannot be told.
  std::optional<StopPlace> place(bool request) const;
  // "40 attempts: 0 packets left through eth1 ..."
  const std::string& text() const { return text_; }

 private:
  struct Count {
    bool known = false, rose = false;
  };
  Count count(const std::map<std::string, int64_t>& counters, const std::string& name);

  int attempts_ = 0;
  Count request_left_, request_came_, answer_left_, answer_came_, in_segments_;
  bool unaddressed_there_ = false, unaddressed_back_ = false;
  bool reached_tcp_ = false, xdp_at_receiver_ = false, xdp_at_sender_ = false;
  std::string text_;
};

}  // namespace plumbline
