// Which hosts stand behind a set of bad links: senders and receivers whose every link is bad, as
// few as explain them all, and the links that are left. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace plumbline {

enum class LinkState : char { kUnknown, kGood, kBad };
using LinkStates = std::vector<LinkState>;  // [from * ranks + to]

struct LinkCover {
  bool everywhere = false;  // every link between three or more hosts is bad: nothing else is named
  std::vector<int> hosts;   // both as sender and as receiver
  std::vector<int> senders, receivers;
  std::vector<std::pair<int, int>> links;  // from, to

  size_t named() const {
    return hosts.size() + senders.size() + receivers.size() + links.size() + (everywhere ? 1 : 0);
  }
};

// A host is named as a sender (receiver) when it has two links at least and all of them are bad.
LinkCover cover_of(const LinkStates& states, int ranks);

}  // namespace plumbline
