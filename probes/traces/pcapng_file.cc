// pcapng: blocks of a type, a length, a body, and the length again.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "probes/traces/trace_file.h"

namespace plumbline {
namespace {

constexpr uint32_t kSection = 0x0a0d0d0a, kInterface = 1, kSimplePacket = 3, kEnhancedPacket = 6;
constexpr uint32_t kByteOrder = 0x1a2b3c4d;
constexpr uint32_t kSmallest = 12;            // type and both lengths
constexpr size_t kMaxInterfaces = 4096;       // of one section
constexpr uint32_t kMaxDescription = 65'536;  // bytes of an interface description that are read
constexpr int64_t kLatestSecond = int64_t{1} << 33;  // in the year 2242: later ones are lies
constexpr uint16_t kOptionResolution = 9, kOptionOffset = 14, kOptionFlags = 2;

struct Interface {
  uint32_t link = 0;
  uint32_t snap = 0;  // 0 = no limit
  uint8_t resolution = 6;
  int64_t offset_s = 0;
};

struct Option {
  uint16_t code = 0;
  const uint8_t* value = nullptr;
  size_t size = 0;
};

// Walks a list of options; `at` moves on. False at its end or where it is broken.
bool next_option(const uint8_t* body, size_t size, size_t& at, bool big, Option& option) {
  if (size < 4 || at > size - 4) return false;
  option.code = file_u16(body + at, big);
  option.size = file_u16(body + at + 2, big);
  at += 4;
  if (option.code == 0 || option.size > size - at) return false;
  option.value = body + at;
  at += std::min((option.size + 3) & ~size_t{3}, size - at);
  return true;
}

// Ticks of 10^-r s, or of 2^-r s when the highest bit is set, as nanoseconds since 1970. Clamped,
// never overflowing.
int64_t nanoseconds_of(uint64_t ticks, uint8_t resolution, int64_t offset_s) {
  uint64_t seconds = 0, nanos = 0;
  const unsigned power = resolution & 0x7fU;
  if ((resolution & 0x80U) != 0) {
    seconds = power < 64 ? ticks >> power : 0;
    uint64_t rest = power < 64 ? ticks & ((uint64_t{1} << power) - 1) : 0;
    if (power > 30) rest >>= std::min(power, 63U) - 30;
    nanos = (rest * 1'000'000'000) >> std::min(power, 30U);
  } else if (power <= 19) {
    uint64_t per_second = 1;
    for (unsigned i = 0; i < power; ++i) per_second *= 10;
    seconds = ticks / per_second;
    const uint64_t rest = ticks % per_second;
    nanos = per_second >= 1'000'000'000 ? rest / (per_second / 1'000'000'000)
                                        : rest * (1'000'000'000 / per_second);
  }
  const auto whole = static_cast<int64_t>(std::min<uint64_t>(seconds, kLatestSecond));
  const int64_t offset = std::clamp<int64_t>(offset_s, -kLatestSecond, kLatestSecond);
  return std::clamp<int64_t>(whole + offset, 0, kLatestSecond) * 1'000'000'000 +
         static_cast<int64_t>(std::min<uint64_t>(nanos, 999'999'999));
}

class PcapngFile : public TraceFile {
 public:
  explicit PcapngFile(ByteReader reader) : TraceFile(std::move(reader)) { format = "pcapng"; }

  bool next(RawPacket& packet) override {
    while (!done_) {
      if (step(packet)) return true;
    }
    return false;
  }

 private:
  // Reads one block; true when it was a packet.
  bool step(RawPacket& packet) {
    const uint8_t* head = reader_.peek(8);
    if (head == nullptr) return note_end();
    const uint32_t type = file_u32(head, big_);
    if (type == kSection) return read_section();
    ++blocks_;
    const uint32_t length = file_u32(head + 4, big_);
    if (length < kSmallest || length % 4 != 0) {
      return lies(fmt::format("block {} claims a length of {} bytes", blocks_, length));
    }
    if (type == kInterface) return read_interface(length);
    if (type == kEnhancedPacket) return read_enhanced(length, packet);
    if (type == kSimplePacket) return read_simple(length, packet);
    if (!reader_.skip(length)) return cut();
    return false;
  }

  bool cut() {
    truncated = true;
    return stop();
  }
  bool refuse(std::string problem) {
    problems.push_back(std::move(problem));
    return stop();
  }
  bool packet_lies(uint32_t bytes) {
    return lies(fmt::format("block {} claims a packet of {} captured bytes", blocks_, bytes));
  }

  // A section has its own byte order and its own interfaces.
  bool read_section() {
    const uint8_t* head = reader_.peek(16);
    if (head == nullptr) return cut();
    big_ = file_u32(head + 8, true) == kByteOrder;
    if (!big_ && file_u32(head + 8, false) != kByteOrder) {
      return refuse("a section begins with a byte order that nobody has");
    }
    const uint32_t length = file_u32(head + 4, big_);
    const uint16_t major = file_u16(head + 12, big_);
    interfaces_.clear();
    if (length < 28 || length % 4 != 0) {
      return refuse(fmt::format("a section header claims {} bytes", length));
    }
    if (major != 1) return refuse(fmt::format("version {} of the format is not known", major));
    return reader_.skip(length) ? false : cut();
  }

  bool read_interface(uint32_t length) {
    const uint32_t kept = std::min(length, kMaxDescription);
    const uint8_t* block = reader_.take(kept);
    if (block == nullptr) return cut();
    if (kept < 20) return false;  // an interface without its fields; packets of it are refused
    Interface interface;
    interface.link = file_u16(block + 8, big_);
    interface.snap = file_u32(block + 12, big_);
    size_t at = 0;
    Option option;
    while (next_option(block + 16, kept - 20, at, big_, option)) {
      if (option.code == kOptionResolution && option.size >= 1) {
        interface.resolution = option.value[0];
      } else if (option.code == kOptionOffset && option.size >= 8) {
        const uint64_t low = file_u32(option.value + (big_ ? 4 : 0), big_);
        const uint64_t high = file_u32(option.value + (big_ ? 0 : 4), big_);
        interface.offset_s = static_cast<int64_t>((high << 32) | low);
      }
    }
    if (interfaces_.size() < kMaxInterfaces) {
      interfaces_.push_back(interface);
      several_places = several_places || interfaces_.size() > 1;
    }
    if (std::find(links.begin(), links.end(), interface.link) == links.end() && links.size() < 16) {
      links.push_back(interface.link);
    }
    if (length > kept && !reader_.skip(length - kept)) return cut();
    return false;
  }

  bool read_enhanced(uint32_t length, RawPacket& packet) {
    if (length < 32) return packet_lies(0);
    const uint8_t* head = reader_.peek(28);
    if (head == nullptr) return cut();
    const uint32_t number = file_u32(head + 8, big_);
    const uint64_t ticks = (uint64_t{file_u32(head + 12, big_)} << 32) | file_u32(head + 16, big_);
    const uint32_t captured = file_u32(head + 20, big_);
    const uint32_t wire = file_u32(head + 24, big_);
    if (captured > length - 32 || length > ByteReader::kMaxPiece) return packet_lies(captured);
    const uint8_t* block = reader_.take(length);
    if (block == nullptr) return cut();
    if (number >= interfaces_.size()) return orphan();
    const Interface& interface = interfaces_[number];
    packet = {};
    packet.at_ns = nanoseconds_of(ticks, interface.resolution, interface.offset_s);
    packet.link = interface.link;
    packet.interface = number;
    packet.data = block + 28;
    packet.captured = captured;
    packet.wire_len = std::max(wire, captured);
    last_ns_ = packet.at_ns;
    const size_t padded = (size_t{captured} + 3) & ~size_t{3};
    if (padded <= length - 32) read_flags(block + 28 + padded, length - 32 - padded, packet);
    return true;
  }

  void read_flags(const uint8_t* options, size_t size, RawPacket& packet) const {
    size_t at = 0;
    Option option;
    while (next_option(options, size, at, big_, option)) {
      if (option.code != kOptionFlags || option.size < 4) continue;
      packet.direction = static_cast<uint8_t>(file_u32(option.value, big_) & 3U) % 3;
    }
  }

  // A packet of the section's first interface, without a time: it gets that of the one before.
  bool read_simple(uint32_t length, RawPacket& packet) {
    if (length < 16) return packet_lies(0);
    if (length > ByteReader::kMaxPiece) return packet_lies(length);
    const uint8_t* block = reader_.take(length);
    if (block == nullptr) return cut();
    if (interfaces_.empty()) return orphan();
    const uint32_t wire = file_u32(block + 8, big_);
    const uint32_t snap = interfaces_[0].snap;
    const uint32_t room = length - 16;
    packet = {};
    packet.at_ns = last_ns_;
    packet.link = interfaces_[0].link;
    packet.data = block + 12;
    packet.captured = std::min(snap == 0 ? wire : std::min(wire, snap), room);
    packet.wire_len = wire;
    return true;
  }

  bool orphan() {
    if (!orphans_) problems.push_back("packets name an interface that the file does not describe");
    orphans_ = true;
    return false;
  }

  bool big_ = false, orphans_ = false;
  int64_t blocks_ = 0, last_ns_ = 0;
  std::vector<Interface> interfaces_;
};

}  // namespace

std::unique_ptr<TraceFile> open_pcapng(ByteReader reader) {
  return std::make_unique<PcapngFile>(std::move(reader));
}

}  // namespace plumbline
