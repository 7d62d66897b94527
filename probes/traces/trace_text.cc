// What people read: the file in a line, then every flow, those with problems first. Addresses and
// words are our own; the file's name is the only foreign text, and is cleaned.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string_view>

#include "core/units.h"
#include "probes/traces/analyse.h"
#include "probes/traces/flow.h"

namespace plumbline {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return out;
}

class Writer {
 public:
  explicit Writer(int width)
      : width_(width > 0 ? std::max<size_t>(20, static_cast<size_t>(width)) : 0) {}

  // Words onto lines that begin with `first`, the later ones with as many spaces.
  void line(const std::string& first, const std::string& text) {
    std::string now = first;
    size_t words = 0;
    size_t at = 0;
    while (at < text.size()) {
      const size_t space = std::min(text.find(' ', at), text.size());
      std::string word = text.substr(at, space - at);
      at = space + 1;
      if (width_ > 0 && words > 0 && now.size() + 1 + word.size() > width_)
        end_line(now, first, words);
      if (words++ > 0) now += ' ';
      while (width_ > 0 && now.size() + word.size() > width_) {  // longer than a line
        const size_t fits = width_ - now.size();
        now += word.substr(0, fits);
        word.erase(0, fits);
        end_line(now, first, words);
        words = 1;
      }
      now += word;
    }
    out_ += now + "\n";
  }
  void empty() { out_ += "\n"; }
  std::string take() { return std::move(out_); }

 private:
  void end_line(std::string& now, const std::string& first, size_t& words) {
    out_ += now + "\n";
    now = std::string(first.size(), ' ');
    words = 0;
  }
  size_t width_;
  std::string out_;
};

std::string plural(int64_t n, const char* thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}
std::string size_text(int64_t bytes) {
  return format_bytes(static_cast<uint64_t>(std::max<int64_t>(bytes, 0)));
}
std::string time_text(int64_t ns) { return format_duration(static_cast<double>(ns)); }

void append(std::string& text, const std::string& more) {
  if (!text.empty()) text += ", ";
  text += more;
}
void append_count(std::string& text, int64_t n, const char* thing, const char* behind = "") {
  if (n > 0) append(text, plural(n, thing) + behind);
}

std::string handshake_text(const TraceFlow& flow) {
  const std::string after = flow.answer_ns > 0 ? " after " + time_text(flow.answer_ns) : "";
  if (flow.handshake == "complete")
    return "handshake complete, answer" + (after.empty() ? " not seen" : after);
  if (flow.handshake == "no_answer") return "no answer to the SYN";
  if (flow.handshake == "refused") return "refused" + after;
  if (flow.handshake == "icmp") return "ICMP error" + after;
  if (flow.handshake == "half_open") return "half open: SYN-ACK" + after + ", no third packet";
  if (flow.handshake == "unseen") return "beginning not in the trace";
  return "";
}

std::string ended_text(const TraceFlow& flow) {
  if (flow.ended == "fin") return "closed by both";
  if (flow.ended == "rst by a") return "reset by " + endpoint_text(flow.a_ip, flow.a_port);
  if (flow.ended == "rst by b") return "reset by " + endpoint_text(flow.b_ip, flow.b_port);
  return flow.ended == "open" ? "not closed" : "";
}

void write_direction(Writer& out, const TraceFlow& flow, const TraceDirection& direction,
                     bool is_a) {
  if (direction.packets == 0) return;
  std::string text =
      plural(direction.packets, "packet") + ", " + size_text(direction.payload_bytes);
  if (direction.mss) append(text, fmt::format("MSS {}", *direction.mss));
  if (direction.window_scale) append(text, fmt::format("window scale {}", *direction.window_scale));
  if (flow.protocol == "tcp" && direction.mss && !direction.sack_permitted) append(text, "no SACK");
  if (direction.max_window > 0) append(text, "window up to " + size_text(direction.max_window));
  if (direction.rtt.samples == 1) append(text, "RTT " + time_text(direction.rtt.p50_ns));
  if (direction.rtt.samples > 1) {
    append(text, fmt::format("RTT {} (p50), {} (p99)", time_text(direction.rtt.p50_ns),
                             time_text(direction.rtt.p99_ns)));
  }
  append_count(text, direction.duplicate_acks, "duplicate ACK");
  if (direction.window_full > 0) {
    append(text, "filled the window " + (direction.window_full == 1
                                             ? std::string("once")
                                             : plural(direction.window_full, "time")));
  }
  append_count(text, direction.keepalives, "keepalive");
  append_count(text, direction.window_probes, "window probe");
  append_count(text, direction.gaps, "gap");
  out.line(is_a ? "    -> " : "    <- ", text);
}

void write_flow(Writer& out, const TraceFlow& flow, size_t number) {
  out.line(fmt::format("#{} ", number),
           fmt::format("{} {} -> {}", flow.protocol, endpoint_text(flow.a_ip, flow.a_port),
                       endpoint_text(flow.b_ip, flow.b_port)));
  for (const std::string& problem : flow.problems) out.line("    ! ", problem);
  const auto refused =
      std::find_if(flow.icmp.begin(), flow.icmp.end(),
                   [&](const TraceIcmp& error) { return is_refused_discard(flow, error); });
  if (refused != flow.icmp.end())
    out.line("    ", fmt::format("ICMP from {}: {}, as usual for the discard port", refused->from,
                                 refused->text));
  std::string text = handshake_text(flow);
  if (!ended_text(flow).empty()) append(text, ended_text(flow));
  append_count(text, flow.copies, "packet", " also seen on another interface");
  if (!text.empty()) out.line("    ", text);
  write_direction(out, flow, flow.a, true);
  write_direction(out, flow, flow.b, false);
}

void write_file(Writer& out, const TraceSummary& summary) {
  const std::string name = escaped(summary.file);
  out.line("", fmt::format("{}{}, {}: {}, {} on the wire, {}{}", name.empty() ? "" : name + ": ",
                           summary.format, summary.link, plural(summary.packets, "packet"),
                           size_text(summary.bytes), time_text(summary.duration_ns),
                           summary.first_time.empty() ? "" : " from " + summary.first_time));
  for (const std::string& problem : summary.problems) out.line("  ! ", problem);
  std::string rest;
  append_count(rest, summary.arp_requests, "ARP request");
  if (summary.arp_replies == 1) append(rest, "1 ARP reply");
  if (summary.arp_replies > 1) append(rest, fmt::format("{} ARP replies", summary.arp_replies));
  append_count(rest, summary.fragments, "fragment");
  append_count(rest, summary.other_ip, "packet", " of other protocols");
  append_count(rest, summary.undecoded, "packet", " not understood");
  append_count(rest, summary.copies, "packet", " seen once more on another interface");
  if (!rest.empty()) out.line("  ", rest);
  const auto bad = std::count_if(summary.flows.begin(), summary.flows.end(),
                                 [](const TraceFlow& flow) { return !flow.problems.empty(); });
  out.line("  ", fmt::format("{}, {} with problems",
                             plural(static_cast<int64_t>(summary.flows.size()), "flow"), bad));
}

void write_loss(Writer& out, const TraceFlow& flow, const TraceLoss& loss, bool from_a) {
  const std::string from =
      endpoint_text(from_a ? flow.a_ip : flow.b_ip, from_a ? flow.a_port : flow.b_port);
  const bool fine = loss.where == "nowhere" || loss.where == "unknown";
  const char* margin = fine ? "    " : "    ! ";
  if (loss.where == "unknown") {
    out.line(margin, fmt::format("from {}: not compared, none of its packets ({}) lies in the time "
                                 "that both files cover",
                                 from, loss.left_out));
    return;
  }
  if (loss.left == 0) {
    const char* what = loss.compared > 0 ? "acknowledgements only, which cannot be counted"
                       : fine            ? "nothing"
                              : "nothing left its wire, although it was asked for an answer";
    out.line(margin, fmt::format("from {}: {}", from, what));
    return;
  }
  std::string text = fmt::format("from {}: {} of {} arrived", from, loss.arrived,
                                 plural(loss.left, flow.protocol == "tcp" ? "segment" : "packet"));
  if (loss.bytes_left > loss.bytes_arrived) {
    text += fmt::format(" ({} of {} bytes sent, repetitions included)", loss.bytes_arrived,
                        loss.bytes_left);
  }
  if (!fine) text += "; packets vanish " + loss.where;
  append_count(text, loss.left_out, "packet", " left out");
  out.line(margin, text);
}

void write_left_out(Writer& out, const char* which, const TraceLeftOut& file) {
  const auto part = [](int64_t packets, int64_t ns, const char* where) {
    return fmt::format("{} in {} {}", plural(packets, "packet"), time_text(ns), where);
  };
  if (file.before_packets + file.after_packets == 0) {
    out.line("  ", fmt::format("{}: all of it", which));
    return;
  }
  std::string text;
  if (file.before_packets > 0) append(text, part(file.before_packets, file.before_ns, "before it"));
  if (file.after_packets > 0) append(text, part(file.after_packets, file.after_ns, "behind it"));
  out.line("  ", fmt::format("{}: without {}", which, text));
}

void write_overlap(Writer& out, const TraceOverlap& overlap) {
  out.line("", fmt::format("compared: the {} from {} on that both files cover",
                           time_text(overlap.duration_ns), overlap.begin));
  write_left_out(out, "of the first file", overlap.first);
  write_left_out(out, "of the second file", overlap.second);
  if (!overlap.clock_offset_ns) return;
  const int64_t offset = *overlap.clock_offset_ns;
  const std::string error =
      overlap.clock_error_ns ? fmt::format(", give or take {}", time_text(*overlap.clock_error_ns))
                             : " or less, for what is common went one way only";
  out.line("  ", fmt::format("clocks: the second is {} {} the first{}, by {} that both have",
                             time_text(std::abs(offset)), offset < 0 ? "behind" : "ahead of", error,
                             plural(overlap.common_packets, "packet")));
}

}  // namespace

std::string trace_text(const TraceSummary& summary, int width, int64_t max_flows) {
  Writer out(width);
  write_file(out, summary);
  std::vector<size_t> order(summary.flows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(),
                        [&](size_t i) { return !summary.flows[i].problems.empty(); });
  const size_t shown = std::min(order.size(), static_cast<size_t>(std::max<int64_t>(max_flows, 0)));
  for (size_t i = 0; i < shown; ++i) {
    out.empty();
    write_flow(out, summary.flows[order[i]], order[i] + 1);
  }
  if (shown < order.size()) {
    out.empty();
    out.line("", fmt::format("{} more flows; --json has all of them", order.size() - shown));
  }
  return out.take();
}

std::string compare_text(const TraceComparison& comparison, int width) {
  Writer out(width);
  if (!comparison.overlap.not_compared.empty()) {
    out.line("", "not compared: " + comparison.overlap.not_compared);
    return out.take();
  }
  write_overlap(out, comparison.overlap);
  for (const TracePairFlow& pair : comparison.flows) {
    const bool here = !pair.here.a_ip.empty(), there = !pair.there.a_ip.empty();
    const TraceFlow& flow = here ? pair.here : pair.there;
    out.line("", fmt::format("{} {} -> {}", flow.protocol, endpoint_text(flow.a_ip, flow.a_port),
                             endpoint_text(flow.b_ip, flow.b_port)));
    const std::string& end = pair.here_is_a ? flow.a_ip : flow.b_ip;
    const char* only = here && there ? ""
                       : here        ? "; not in the second trace"
                                     : "; not in the first trace";
    if (pair.told_by == "undecided") {
      out.line("    ",
               fmt::format("not compared: nothing tells which trace was taken at which end; "
                           "--first-at ADDRESS names the first one's host{}",
                           only));
      continue;
    }
    out.line("    ",
             fmt::format("first trace taken at {} (told by {}){}", end, pair.told_by, only));
    write_loss(out, flow, pair.a_to_b, true);
    write_loss(out, flow, pair.b_to_a, false);
  }
  if (comparison.other_flows > 0) {
    out.line("", plural(comparison.other_flows, "flow") +
                     " with other hosts not compared: they do not run between the two captures");
  }
  return out.take();
}

}  // namespace plumbline
