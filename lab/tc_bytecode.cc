// Classic BPF programs for tc, assembled by hand: drop (2, TC_ACT_SHOT) or go on.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>

#include "core/number.h"
#include "lab/address.h"
#include "lab/fault_tools.h"

namespace plumbline {
namespace {

// One instruction; jumps name a place by its number until they are resolved.
struct Instruction {
  int code, jump_true, jump_false;
  uint32_t value;
};

class Assembler {
 public:
  static constexpr int kNext = -1, kLeave = -2, kHit = -3;
  void add(int code, uint32_t value, int jump_true = 0, int jump_false = 0) {
    program_.push_back({code, jump_true, jump_false, value});
  }
  void load_half(uint32_t at) { add(0x28, at); }
  void load_byte(uint32_t at) { add(0x30, at); }
  void load_word(uint32_t at) { add(0x20, at); }
  // Leaves the program unless the loaded value is this one.
  void require(uint32_t value) { add(0x15, value, kNext, kLeave); }

  std::string text() {
    const int hit = static_cast<int>(program_.size());
    add(0x06, 2);           // TC_ACT_SHOT
    add(0x06, 0xffffffff);  // TC_ACT_UNSPEC: go on
    std::string out = std::to_string(program_.size());
    for (size_t i = 0; i < program_.size(); ++i) {
      const Instruction& it = program_[i];
      const int here = static_cast<int>(i);
      const auto offset = [&](int jump) {
        if (jump == kNext) return 0;
        if (jump == kLeave) return hit + 1 - here - 1;
        if (jump == kHit) return hit - here - 1;
        return jump;
      };
      const bool jumps = (it.code & 7) == 5;
      out += fmt::format(",{} {} {} {}", it.code, jumps ? offset(it.jump_true) : 0,
                         jumps ? offset(it.jump_false) : 0, it.value);
    }
    return out;
  }

 private:
  std::vector<Instruction> program_;
};

// Compares an address of the packet word by word.
void require_address(Assembler& code, const std::string& ip, uint32_t at) {
  const Ip address = parse_ip(ip).value_or(Ip{});
  for (uint32_t i = 0; i < address.size(); i += 4) {
    uint32_t word = 0;
    for (uint32_t byte = i; byte < i + 4; ++byte) word = word << 8 | address.bytes[byte];
    code.load_word(at + i);
    code.require(word);
  }
}

constexpr uint32_t kEthernet = 14;
constexpr uint32_t kRandom = 0xfffff038;  // SKF_AD_OFF + SKF_AD_RANDOM

}  // namespace

std::string tc_bytecode(const PacketMatch& match, bool v6) {
  Assembler code;
  code.load_half(12);
  code.require(v6 ? 0x86dd : 0x0800);
  if (v6 && !match.tcp_only) {
    // Neighbour discovery stays, as ARP does.
    code.load_byte(kEthernet + 6);
    code.add(0x15, 58, Assembler::kLeave, Assembler::kNext);
  }
  if (match.tcp_only) {
    code.load_byte(kEthernet + (v6 ? 6 : 9));
    code.require(6);
  }
  if (!match.from.empty()) require_address(code, match.from, kEthernet + (v6 ? 8 : 12));
  if (!match.to.empty()) require_address(code, match.to, kEthernet + (v6 ? 24 : 16));
  if (match.syn_only && !v6) {
    code.add(0xb1, kEthernet);       // X = length of the IPv4 header
    code.add(0x50, kEthernet + 13);  // flags of TCP
    code.add(0x54, 0x12);            // SYN and ACK
    code.require(0x02);
  }
  if (match.longer_than > 0) {
    code.load_half(kEthernet + (v6 ? 4 : 2));
    // In IPv6 that is the length without the header of 40 bytes.
    const int limit = match.longer_than - (v6 ? 40 : 0);
    code.add(0x25, static_cast<uint32_t>(limit), Assembler::kNext, Assembler::kLeave);
  }
  if (match.percent < 100) {
    code.load_word(kRandom);
    code.add(0x94, 100);
    code.add(0x35, static_cast<uint32_t>(match.percent), Assembler::kLeave, Assembler::kNext);
  }
  if (match.tcp_only && !match.ports.empty()) {
    const uint32_t at = kEthernet + (v6 ? 40 : 0) + (match.source_ports ? 0 : 2);
    if (v6) {
      code.load_half(at);
    } else {
      code.add(0xb1, kEthernet);
      code.add(0x48, at);
    }
    for (const auto& [first, last] : runs_of(match.ports)) {
      code.add(0x35, static_cast<uint32_t>(first), Assembler::kNext, 1);  // below: next run
      code.add(0x25, static_cast<uint32_t>(last), Assembler::kNext, Assembler::kHit);
    }
    code.add(0x05, 1);  // none of them: over the drop
  }
  return code.text();
}

}  // namespace plumbline
