#include "transport/channel/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "core/clock.h"
#include "core/number.h"
#include "transport/channel/buffer_cut.h"

namespace plumbline {
namespace {

using std::string_view;

// Passes everything through and counts what was sent; each kind of fault overrides what it spoils.
class FaultStream : public ByteStream {
 public:
  FaultStream(const FaultSpec& spec, std::unique_ptr<ByteStream> inner)
      : spec_(spec), inner_(std::move(inner)) {}

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    return count(inner_->write_some(buffers));
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    return inner_->read_some(buffers);
  }
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    return inner_->add_to(poll, reads, writes);
  }
  bool arm(bool reads, bool writes) override { return inner_->arm(reads, writes); }
  Expected<bool> ready() override { return inner_->ready(); }
  void keep_up() override { inner_->keep_up(); }
  StreamStats stats() const override { return inner_->stats(); }
  void close() override { inner_->close(); }

 protected:
  Expected<size_t> count(Expected<size_t> written) {
    if (written) sent_ += *written;
    return written;
  }
  // Writes no further than the striking point.
  Expected<size_t> write_before_strike(std::span<const iovec> buffers) {
    return count(inner_->write_some(BufferCut(buffers, 0, spec_.after - sent_).span()));
  }
  bool struck() const { return sent_ >= spec_.after; }

  const FaultSpec spec_;
  const std::unique_ptr<ByteStream> inner_;
  uint64_t sent_ = 0;
};

class FlipStream : public FaultStream {
 public:
  using FaultStream::FaultStream;
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (sent_ < spec_.after) return write_before_strike(buffers);
    if (sent_ > spec_.after) return FaultStream::write_some(buffers);
    const auto first = std::find_if(buffers.begin(), buffers.end(),
                                    [](const iovec& buffer) { return buffer.iov_len > 0; });
    if (first == buffers.end()) return 0;
    std::byte spoiled = *static_cast<const std::byte*>(first->iov_base) ^ std::byte{0x10};
    const iovec one{&spoiled, 1};
    return count(inner_->write_some({&one, 1}));
  }
};

class DelayStream : public FaultStream {
 public:
  using FaultStream::FaultStream;
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    const int64_t now = monotonic_ns();
    if (due_ns_ == 0) due_ns_ = now + spec_.us * 1000 + spec_.ns;
    if (now < due_ns_) return 0;
    Expected<size_t> written = FaultStream::write_some(buffers);
    if (written && *written > 0) due_ns_ = 0;
    return written;
  }
  // The descriptor knows nothing of the delay.
  bool add_to(std::vector<pollfd>&, bool, bool) const override { return false; }

 private:
  int64_t due_ns_ = 0;  // of the write that is being held back, 0 = none
};

class ShortStream : public FaultStream {
 public:
  using FaultStream::FaultStream;
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    return FaultStream::write_some(BufferCut(buffers, 0, spec_.bytes).span());
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    return FaultStream::read_some(BufferCut(buffers, 0, spec_.bytes).span());
  }
};

class StallStream : public FaultStream {
 public:
  using FaultStream::FaultStream;
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (struck()) return 0;
    return write_before_strike(buffers);
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    if (struck()) return 0;
    return FaultStream::read_some(buffers);
  }
  // The descriptor may be ready and nothing moves.
  bool add_to(std::vector<pollfd>&, bool, bool) const override { return false; }
};

class CloseStream : public FaultStream {
 public:
  using FaultStream::FaultStream;
  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    if (struck()) return end();
    return write_before_strike(buffers);
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    if (struck()) return end();
    return FaultStream::read_some(buffers);
  }

 private:
  tl::unexpected<Error> end() {
    inner_->close();
    return fail(ErrorCode::kPeerLost,
                fmt::format("fault injection closed the stream after {} bytes", spec_.after));
  }
};

template <typename Stream>
std::unique_ptr<ByteStream> make(const FaultSpec& spec, std::unique_ptr<ByteStream> inner) {
  return std::make_unique<Stream>(spec, std::move(inner));
}

struct KindRow {
  string_view name;
  string_view keys;  // that mean something to it, besides rank and peer; a space between them
  std::unique_ptr<ByteStream> (*make)(const FaultSpec&, std::unique_ptr<ByteStream>);
};
constexpr KindRow kKinds[] = {
    {"flip", "after", make<FlipStream>},   {"delay", "us ns", make<DelayStream>},
    {"short", "bytes", make<ShortStream>}, {"stall", "after", make<StallStream>},
    {"close", "after", make<CloseStream>},
};

const KindRow* find_kind(string_view name) {
  for (const KindRow& row : kKinds) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

tl::unexpected<Error> bad_spec(const std::string& text, const std::string& why) {
  return fail(ErrorCode::kConfig, fmt::format("fault '{}': {}", text, why),
              "KIND[:key=value[,...]] with KIND flip|delay|short|stall|close and keys rank, peer, "
              "after (bytes), bytes, us (microseconds), ns (nanoseconds)");
}

bool takes(const KindRow& kind, string_view key) {
  for (string_view rest = kind.keys; !rest.empty();) {
    const size_t space = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, space) == key) return true;
    rest.remove_prefix(std::min(space + 1, rest.size()));
  }
  return false;
}

// One key=value; empty = accepted, otherwise what is wrong.
std::string set_value(FaultSpec& spec, const KindRow& kind, string_view item) {
  const size_t equals = item.find('=');
  if (equals == string_view::npos) return fmt::format("'{}' is not key=value", item);
  const string_view key = item.substr(0, equals);
  const string_view text = item.substr(equals + 1);
  const uint64_t most = key == "rank" || key == "peer" ? uint64_t{std::numeric_limits<int>::max()}
                                                       : uint64_t{1'000'000'000'000};
  const std::optional<uint64_t> number = parse_whole<uint64_t>(text, 0, most);
  if (!number) {
    return fmt::format("{} must be a whole number from 0 to {}, not '{}'", key, most, text);
  }
  const uint64_t value = *number;
  if (key == "rank") {
    spec.rank = static_cast<int>(value);
  } else if (key == "peer") {
    spec.peer = static_cast<int>(value);
  } else if (!takes(kind, key)) {
    return fmt::format("{} takes rank, peer and {}, not '{}'", kind.name, kind.keys, key);
  } else if (key == "after") {
    spec.after = value;
  } else if (key == "us") {
    spec.us = static_cast<int64_t>(value);
  } else if (key == "ns") {
    spec.ns = static_cast<int64_t>(value);
  } else if (value == 0) {
    return "bytes must be at least 1";
  } else {
    spec.bytes = value;
  }
  return {};
}

}  // namespace

Expected<std::optional<FaultSpec>> parse_fault(const std::string& text) {
  if (text.empty()) return std::optional<FaultSpec>();
  const string_view all = text;
  const size_t colon = all.find(':');
  FaultSpec spec;
  spec.kind = std::string(all.substr(0, colon));
  const KindRow* kind = find_kind(spec.kind);
  if (kind == nullptr) return bad_spec(text, fmt::format("unknown kind '{}'", spec.kind));
  if (colon == string_view::npos) return std::optional<FaultSpec>(spec);
  for (size_t at = colon + 1;;) {
    const size_t comma = all.find(',', at);
    const string_view item = all.substr(at, comma == string_view::npos ? comma : comma - at);
    const std::string wrong = set_value(spec, *kind, item);
    if (!wrong.empty()) return bad_spec(text, wrong);
    if (comma == string_view::npos) break;
    at = comma + 1;
  }
  return std::optional<FaultSpec>(spec);
}

std::unique_ptr<ByteStream> wrap_fault(const std::optional<FaultSpec>& spec, int self, int peer,
                                       std::unique_ptr<ByteStream> stream) {
  if (!spec || (spec->rank && *spec->rank != self) || (spec->peer && *spec->peer != peer)) {
    return stream;
  }
  const KindRow* kind = find_kind(spec->kind);
  return kind == nullptr ? std::move(stream) : kind->make(*spec, std::move(stream));
}

}  // namespace plumbline
