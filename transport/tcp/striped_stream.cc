#include "transport/tcp/striped_stream.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "transport/channel/buffer_cut.h"

namespace plumbline {
namespace {

// What is known of any part; nothing where no part tells.
void add(std::optional<uint64_t>& sum, const std::optional<uint64_t>& one) {
  if (one) sum = sum.value_or(0) + *one;
}

class StripedStream : public ByteStream {
 public:
  StripedStream(std::vector<std::unique_ptr<ByteStream>> parts, size_t block_bytes)
      : parts_(std::move(parts)), block_bytes_(std::max<size_t>(block_bytes, 1)) {
    in_.end = out_.end = parts_.size();
  }
  // Each direction has a half of the parts for itself; `out_first`: ours is the first one.
  void divide(bool out_first) {
    const size_t half = parts_.size() / 2;
    Direction& first = out_first ? out_ : in_;
    Direction& second = out_first ? in_ : out_;
    first.end = half;
    second.begin = second.part = half;
  }

  Expected<size_t> write_some(std::span<const iovec> buffers) override {
    return move(out_, buffers, &ByteStream::write_some);
  }
  Expected<size_t> read_some(std::span<const iovec> buffers) override {
    return move(in_, buffers, &ByteStream::read_some);
  }

  // Only the connections that the next byte of a direction goes over can move it.
  bool add_to(std::vector<pollfd>& poll, bool reads, bool writes) const override {
    if (!writes) return parts_[in_.part]->add_to(poll, reads, false);
    if (in_.part == out_.part) return parts_[in_.part]->add_to(poll, reads, true);
    bool wakes = true;
    if (reads) wakes = parts_[in_.part]->add_to(poll, true, false);
    if (writes) wakes = parts_[out_.part]->add_to(poll, false, true) && wakes;
    return wakes;
  }
  bool told_by_poll() const override {
    return !in_.error && !out_.error && parts_[in_.part]->told_by_poll() &&
           parts_[out_.part]->told_by_poll();
  }

  StreamStats stats() const override {
    std::vector<StreamStats> parts;
    for (const std::unique_ptr<ByteStream>& part : parts_) parts.push_back(part->stats());
    return sum_of(parts);
  }

  void close() override {
    for (const std::unique_ptr<ByteStream>& part : parts_) part->close();
  }

 private:
  static constexpr size_t kNoBlocks = static_cast<size_t>(-1);

  // Where the next byte of one direction goes.
  struct Direction {
    size_t begin = 0, end = 0;  // the parts that it goes over in turn
    size_t part = 0;
    size_t in_block = 0;         // bytes of its block that have moved
    std::optional<Error> error;  // of a part after others had moved bytes: told by the next call

    bool part_alone() const { return end - begin == 1; }
  };

  // Both directions do the same with the parts.
  Expected<size_t> move(Direction& way, std::span<const iovec> buffers,
                        Expected<size_t> (ByteStream::*call)(std::span<const iovec>)) {
    if (way.error) return fail(*way.error);
    for (size_t moved = 0;;) {
      const size_t most = way.part_alone() ? kNoBlocks : block_bytes_ - way.in_block;
      const BufferCut cut(buffers, moved, most);
      if (cut.bytes() == 0) return moved;
      const Expected<size_t> now = (*parts_[way.part].*call)(cut.span());
      if (!now) {
        way.error = now.error();
        if (moved == 0) return fail(*way.error);
        return moved;
      }
      moved += *now;
      advance(way, *now);
      if (*now < cut.bytes()) return moved;  // this part would block
    }
  }

  void advance(Direction& way, size_t bytes) const {
    if (way.part_alone()) return;
    way.in_block += bytes;
    if (way.in_block < block_bytes_) return;
    way.in_block = 0;
    way.part = way.part + 1 == way.end ? way.begin : way.part + 1;
  }

  const std::vector<std::unique_ptr<ByteStream>> parts_;
  const size_t block_bytes_;
  Direction in_, out_;
};

}  // namespace

StreamStats sum_of(const std::vector<StreamStats>& streams) {
  StreamStats all = streams.front();
  all.parts.clear();
  for (const StreamStats& one : streams) {
    if (&one != &streams.front()) {
      add(all.send_buffer, one.send_buffer);
      add(all.recv_buffer, one.recv_buffer);
      add(all.retransmits, one.retransmits);
      add(all.unacked_bytes, one.unacked_bytes);
      add(all.unsent_bytes, one.unsent_bytes);
      add(all.peer_window, one.peer_window);
      if (one.rtt_us) all.rtt_us = std::max(all.rtt_us.value_or(0), *one.rtt_us);
      all.writes += one.writes;
      all.reads += one.reads;
      all.progress_thread = all.progress_thread || one.progress_thread;
    }
    if (one.parts.empty()) all.parts.push_back(one);
    all.parts.insert(all.parts.end(), one.parts.begin(), one.parts.end());
  }
  return all;
}

std::unique_ptr<ByteStream> make_striped_stream(std::vector<std::unique_ptr<ByteStream>> parts,
                                                size_t block_bytes) {
  return std::make_unique<StripedStream>(std::move(parts), block_bytes);
}

std::unique_ptr<ByteStream> make_one_way_stream(std::vector<std::unique_ptr<ByteStream>> parts,
                                                bool out_first, size_t block_bytes) {
  auto stream = std::make_unique<StripedStream>(std::move(parts), block_bytes);
  stream->divide(out_first);
  return stream;
}

}  // namespace plumbline
