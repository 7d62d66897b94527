// From a frame to the IP or ARP packet in it, for the link types that captures of such networks
// have (tcpdump.org/linktypes.html).
#pragma once

#include <cstdint>

#include "probes/traces/packet.h"

namespace plumbline {

struct Frame {
  enum class Content { kUnknown, kIp, kArp };
  Content content = Content::kUnknown;
  Bytes bytes;        // from the IP or ARP header on
  size_t length = 0;  // of the same on the wire, trailers included
  Place place;
};

struct LinkType {
  uint32_t number;
  const char* name;
  Frame (*parse)(const RawPacket& raw);
  bool places;  // says for each packet where it was seen
};

// nullptr for a type that is not understood.
const LinkType* find_link_type(uint32_t number);

}  // namespace plumbline
