#include "probes/traces/icmp_text.h"

#include <fmt/format.h>

namespace plumbline {
namespace {

struct Row {
  bool v6;
  int type, code;  // code -1 = any
  const char* text;
};

// RFC 792, 1122, 1812 and 4443; IANA's registries.
constexpr Row kRows[] = {
    {false, 3, 0, "network unreachable"},
    {false, 3, 1, "host unreachable"},
    {false, 3, 2, "protocol unreachable"},
    {false, 3, 3, "port unreachable"},
    {false, 3, 4, "fragmentation needed"},
    {false, 3, 5, "source route failed"},
    {false, 3, 6, "network unknown"},
    {false, 3, 7, "host unknown"},
    {false, 3, 8, "source isolated"},
    {false, 3, 9, "network administratively prohibited"},
    {false, 3, 10, "host administratively prohibited"},
    {false, 3, 11, "network unreachable for this type of service"},
    {false, 3, 12, "host unreachable for this type of service"},
    {false, 3, 13, "administratively prohibited"},
    {false, 3, 14, "host precedence violation"},
    {false, 3, 15, "precedence cut off"},
    {false, 3, -1, "destination unreachable"},
    {false, 4, -1, "source quench"},
    {false, 5, -1, "redirect"},
    {false, 11, 0, "time to live exceeded"},
    {false, 11, 1, "fragments did not arrive in time"},
    {false, 11, -1, "time exceeded"},
    {false, 12, -1, "parameter problem"},
    {true, 1, 0, "no route to destination"},
    {true, 1, 1, "administratively prohibited"},
    {true, 1, 2, "beyond the scope of the source address"},
    {true, 1, 3, "address unreachable"},
    {true, 1, 4, "port unreachable"},
    {true, 1, 5, "source address failed a policy"},
    {true, 1, 6, "route to destination rejected"},
    {true, 1, -1, "destination unreachable"},
    {true, 2, -1, "packet too big"},
    {true, 3, 0, "hop limit exceeded"},
    {true, 3, 1, "fragments did not arrive in time"},
    {true, 3, -1, "time exceeded"},
    {true, 4, -1, "parameter problem"},
};

}  // namespace

std::string icmp_text(bool v6, int type, int code, uint32_t mtu) {
  for (const Row& row : kRows) {
    if (row.v6 != v6 || row.type != type || (row.code >= 0 && row.code != code)) continue;
    std::string text = row.text;
    if (row.code < 0 && code != 0) text += fmt::format(", code {}", code);
    if (mtu != 0) text += fmt::format(", MTU {}", mtu);
    return text;
  }
  return fmt::format("type {}, code {}", type, code);
}

bool icmp_is_hard(bool v6, int type, int code) {
  if (v6) return type == 1 || type == 3 || type == 4;
  return (type == 3 && code != 4) || type == 11 || type == 12;
}

}  // namespace plumbline
