// Two ranks that come to terms about shared memory while somebody between them changes what they
// say, and then writes into the memory that they share, at any place and time. Each end goes on or
// has an error; neither leaves its memory, and neither believes a changed offer or answer.
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "fuzz_bytes.h"
#include "transport/channel/channel.h"
#include "transport/memory/memory.h"
#include "transport/shm/shared_memory.h"
#include "transport/shm/shm.h"

namespace plumbline {
namespace {

constexpr size_t kFuzzRing = 4096;

using End = std::unique_ptr<ByteStream>;

std::vector<std::byte> hear(ByteStream& stream) {
  std::vector<std::byte> all(4096);
  const iovec room{all.data(), all.size()};
  all.resize(stream.read_some({&room, 1}).value_or(0));
  return all;
}

void say(ByteStream& stream, const std::vector<std::byte>& bytes) {
  const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  static_cast<void>(stream.write_some({&part, 1}));
}

// Where the key of the offered memory stands: it begins with the number of this process.
std::optional<SharedMemoryName> key_in(const std::vector<std::byte>& offer) {
  const auto own = static_cast<uint64_t>(::getpid());
  for (size_t at = 0; at + 2 * sizeof own <= offer.size(); ++at) {
    SharedMemoryName name;
    std::memcpy(&name.a, offer.data() + at, sizeof name.a);
    std::memcpy(&name.b, offer.data() + at + sizeof name.a, sizeof name.b);
    if (name.a == own) return name;
  }
  return std::nullopt;
}

// Changes some bytes, or cuts. true = it did.
bool meddle(FuzzBytes& input, std::vector<std::byte>& said) {
  const std::vector<std::byte> before = said;
  for (size_t changes = input.below(4); changes > 0 && !said.empty(); --changes) {
    said[input.below(said.size())] ^= static_cast<std::byte>(input.number());
  }
  if (input.number() < 8) said.resize(input.below(said.size() + 1));
  return said != before;
}

// Takes all bytes of a message, some where they lie.
class AnySink : public RecvSink {
 public:
  explicit AnySink(size_t bytes) : left_(bytes) {}
  std::span<std::byte> window() override {
    window_.resize(left_);
    return window_;
  }
  void advance(size_t bytes) override {
    require(bytes <= left_);
    left_ -= bytes;
  }
  size_t usable(std::span<const std::byte> bytes) override {
    return left_ % 2 == 0 ? bytes.size() : 0;
  }
  void use(std::span<const std::byte> bytes) override {
    touch(bytes);
    advance(bytes.size());
  }

 private:
  size_t left_;
  std::vector<std::byte> window_;
};

// Both ends are there; `memory` is what they share.
void scribble(FuzzBytes& input, End lower, End higher, const SharedMemory& memory) {
  ChannelOptions options;
  options.chunk_bytes = 500;
  Channel channel(0, 1, std::move(lower), options);
  std::vector<std::unique_ptr<AnySink>> sinks;
  const std::vector<std::byte> out(5000, std::byte{7});
  uint32_t posted = 0, sent = 0;
  std::array<std::byte, 700> some{};
  for (int steps = 0; !input.empty() && steps < 500; ++steps) {
    const iovec part{some.data(), input.below(some.size())};
    switch (input.number() % 8) {
      case 0: {  // any byte of what the two ends keep there, and of the rings
        const size_t at =
            input.flag() ? input.below(1024) : input.number<uint32_t>() % memory.size();
        memory.data()[at] = static_cast<std::byte>(input.number());
        break;
      }
      case 1: {  // a whole position
        const auto value = input.number<uint64_t>();
        const size_t at = input.below(memory.size() / 8 < 512 ? 1 : 512) * 8;
        std::memcpy(memory.data() + at, &value, sizeof value);
        break;
      }
      case 2:
        sinks.push_back(std::make_unique<AnySink>(some.size()));
        channel.post_recv({1, posted++, 0, 7}, some.size(), sinks.back().get());
        break;
      case 3:
        channel.post_send({1, sent++, 0, 7}, out.data(), input.below(out.size()), 0, nullptr, 0);
        break;
      case 4:
        require(higher->write_some({&part, 1}).value_or(0) <= part.iov_len);
        break;
      case 5:
        require(higher->read_some({&part, 1}).value_or(0) <= part.iov_len);
        break;
      case 6: {
        const std::span<const std::byte> here = higher->readable();
        touch(here);
        require(here.size() <= kFuzzRing);
        if (!here.empty()) higher->consumed(input.below(here.size() + 1));
        static_cast<void>(higher->arm(input.flag(), input.flag()));
        break;
      }
      default:
        static_cast<void>(channel.progress());
        static_cast<void>(channel.stream().arm(true, channel.wants_write()));
    }
  }
}

void attack(FuzzBytes& input) {
  auto [lower_wire, to_lower] = make_memory_streams(0, 1, kFuzzRing);
  auto [higher_wire, to_higher] = make_memory_streams(1, 0, kFuzzRing);
  End lower = make_shm_stream(std::move(lower_wire), 0, 1, kFuzzRing, "here");
  End higher = make_shm_stream(std::move(higher_wire), 1, 0, kFuzzRing, "here");
  require(!lower->ready().value_or(true));
  std::vector<std::byte> offer = hear(*to_lower);
  const std::optional<SharedMemoryName> key = key_in(offer);
  require(key.has_value());
  const off_t size = ::lseek(static_cast<int>(key->b), 0, SEEK_END);
  Expected<SharedMemory> memory = SharedMemory::open(*key, static_cast<size_t>(size));
  require(memory.has_value());
  memory->drop_name();  // so that it has one descriptor only, the offered one

  const bool other_offer = input.flag() && meddle(input, offer);
  say(*to_higher, offer);
  const Expected<bool> taken = higher->ready();
  require(other_offer == !taken.value_or(false));
  std::vector<std::byte> answer = hear(*to_higher);
  const bool other_answer = input.flag() && meddle(input, answer);
  say(*to_lower, answer);
  const Expected<bool> agreed = lower->ready();
  require(!agreed.value_or(false) || (!other_answer && !other_offer));
  if (!other_answer && !other_offer) {
    require(agreed.value_or(false));
    scribble(input, std::move(lower), std::move(higher), *memory);
  }
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plumbline::FuzzBytes input(data, size);
  plumbline::attack(input);
  return 0;
}
