#include "probes/sources/macos_pf_rule.h"

#include <algorithm>

#include "core/host/ip.h"
#include "core/number.h"
#include "probes/sources/tool_output.h"

namespace plumbline {
namespace {

using Words = std::vector<std::string_view>;

bool is_network(std::string_view text) {
  const size_t slash = text.find('/');
  return parse_zoned_ip(text.substr(0, slash)).has_value();
}

// Reads the words of one rule from left to right. What is not known becomes one condition "other"
// with all the words from there on: the rule may or may not match then.
class RuleReader {
 public:
  explicit RuleReader(const Words& words) : words_(words) {}

  // Of "block ..." and "pass ..."; otherwise of the conditions of an anchor.
  PfRule read(bool with_action) {
    if (with_action) read_action();
    while (at_ < words_.size() && read_one()) {
    }
    if (at_ < words_.size()) match("other", joined(words_, at_));
    if (!family_.empty()) match("family", family_);
    return std::move(out_);
  }

 private:
  std::string_view peek(size_t ahead = 0) const {
    return at_ + ahead < words_.size() ? words_[at_ + ahead] : std::string_view();
  }
  bool take(std::string_view word) {
    if (peek() != word) return false;
    ++at_;
    return true;
  }
  void match(const char* key, std::string value, bool negated = false) {
    out_.rule.matches.push_back({key, negated, {std::move(value)}});
  }

  void read_action() {
    out_.rule.action = take("pass") ? "accept" : "drop";
    if (out_.rule.action == "accept" || !take("block")) return;
    const std::string_view how = peek();
    if (how == "drop") ++at_;
    if (how.rfind("return", 0) != 0) return;
    out_.rule.action = "reject";
    out_.rule.reject_with =
        how.rfind("return-icmp", 0) == 0 ? "icmp port-unreachable" : "tcp reset";
    if (how.find('(') == std::string_view::npos) {
      ++at_;
      skip_brackets();
    } else {
      skip_to_bracket();  // "return-icmp(port-unr, port-unr)" is one word and a half
    }
  }

  // "(ttl 3)", "(port-unr, port-unr)", "(max 100)" behind the word before.
  void skip_brackets() {
    if (peek().empty() || peek().front() != '(') return;
    skip_to_bracket();
  }
  void skip_to_bracket() {
    while (at_ < words_.size() && words_[at_].back() != ')') ++at_;
    if (at_ < words_.size()) ++at_;
  }

  bool read_one() {
    if (take("in") || take("out")) {
      out_.direction = words_[at_ - 1];
    } else if (take("quick")) {
      out_.quick = true;
    } else if (take("log")) {
      skip_brackets();
    } else if (take("all") || take("allow-opts")) {
      return true;
    } else if (take("inet")) {
      family_ = "ip";
    } else if (take("inet6")) {
      family_ = "ip6";
    } else if (peek() == "on") {
      return read_interface();
    } else if (peek() == "proto") {
      return read_protocol();
    } else if (peek() == "from") {
      return read_end("saddr", "sport");
    } else if (peek() == "to") {
      return read_end("daddr", "dport");
    } else if (peek() == "flags") {
      return read_flags();
    } else if (peek(1) == "state" && (peek() == "keep" || peek() == "modulate" ||
                                      peek() == "synproxy" || peek() == "no")) {
      out_.state = peek() != "no";
      at_ += 2;
      skip_brackets();
    } else if (peek() == "label" || peek() == "queue" || peek() == "tag") {
      return skip_label();
    } else if (peek() == "probability") {
      return read_probability();
    } else {
      return false;
    }
    return true;
  }

  // "label web", "label "two words"".
  bool skip_label() {
    ++at_;
    const bool quoted = !peek().empty() && peek().front() == '"';
    const auto closes = [&](size_t least) {
      return peek().size() >= least && peek().back() == '"';
    };
    if (quoted && !closes(2)) {
      for (++at_; at_ < words_.size() && !closes(1);) ++at_;
    }
    at_ = std::min(at_ + 1, words_.size());
    return true;
  }

  bool read_interface() {
    const bool negated = peek(1) == "!";
    const std::string_view name = peek(negated ? 2 : 1);
    const bool plain = !name.empty() && name.find_first_of("{(<") == std::string_view::npos;
    if (!plain) return false;
    at_ += negated ? 3 : 2;
    // The name of a driver stands for all of its interfaces.
    const bool group = name.find_first_of("0123456789") == std::string_view::npos;
    match("interface", std::string(name) + (group ? "*" : ""), negated);
    return true;
  }

  bool read_protocol() {
    const std::string_view name = peek(1);
    if (name == "tcp" || name == "udp" || name == "icmp") {
      match("protocol", std::string(name));
    } else if (name == "ipv6-icmp" || name == "icmp6") {
      match("protocol", "icmpv6");
    } else {
      return false;
    }
    at_ += 2;
    return true;
  }

  // "from ! 10.0.0.0/8 port != 22", "to any port 29600:29603"
  bool read_end(const char* address_key, const char* port_key) {
    const bool negated = peek(1) == "!";
    const std::string_view address = peek(negated ? 2 : 1);
    if (address != "any" && !is_network(address)) return false;
    const size_t next = negated ? 3 : 2;
    if (peek(next) == "-") return false;  // a range
    if (address != "any" || negated) match(address_key, std::string(address), negated);
    at_ += next;
    return peek() != "port" || read_port(port_key);
  }

  bool read_port(const char* key) {
    const std::string_view sign = peek(1), number = peek(2);
    const auto port = parse_whole<int64_t>(number, 0, 65535);
    const bool valid = port.has_value();
    const auto range = [&](int64_t first, int64_t last) {
      match(key, std::to_string(first) + "-" + std::to_string(last));
      at_ += 3;
      return true;
    };
    if (sign == ">" && valid && *port < 65535) return range(*port + 1, 65535);
    if (sign == ">=" && valid) return range(*port, 65535);
    if (sign == "<" && valid && *port > 0) return range(0, *port - 1);
    if (sign == "<=" && valid) return range(0, *port);
    if ((sign == "=" || sign == "!=") && valid) {
      match(key, std::string(number), sign == "!=");
      at_ += 3;
      return true;
    }
    const size_t colon = sign.find(':');
    if (colon == std::string_view::npos) return false;  // a name of a service, "a >< b"
    const auto first = parse_whole(sign.substr(0, colon)),
               last = parse_whole(sign.substr(colon + 1));
    if (!first || !last || *first < 0 || *last > 65535 || *first > *last) return false;
    match(key, std::to_string(*first) + "-" + std::to_string(*last));
    at_ += 2;
    return true;
  }

  bool read_flags() {
    const std::string_view flags = peek(1);
    if (flags != "S/SA" && flags != "any") return false;
    // A passing rule keeps state: what follows the first packet passes by that.
    if (flags == "S/SA" && out_.rule.action != "accept") match("tcp_flags", "syn/syn,ack");
    at_ += 2;
    return true;
  }

  bool read_probability() {
    std::string_view number = peek(1);
    if (number.empty() || number.back() != '%') return false;
    number.remove_suffix(1);
    const auto percent = parse_whole(number.substr(0, number.find('.')));
    if (!percent || *percent < 0 || *percent > 100) return false;
    out_.rule.share = static_cast<double>(*percent) / 100;
    at_ += 2;
    return true;
  }

  const Words& words_;
  size_t at_ = 0;
  PfRule out_;
  std::string family_;
};

}  // namespace

PfRule read_pf_rule(const std::vector<std::string_view>& words) {
  return RuleReader(words).read(true);
}

PfRule read_pf_conditions(const std::vector<std::string_view>& words) {
  return RuleReader(words).read(false);
}

}  // namespace plumbline
