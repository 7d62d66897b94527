#include "cli/plain_caller.h"

#include "cli/interrupts.h"
#include "core/printable.h"

namespace plumbline {

Wish wish_of_signals() {
  const int count = interrupts();
  return count == 0 ? Wish::kGoOn : count == 1 ? Wish::kEnd : Wish::kEndNow;
}

void PlainCaller::say(const std::string& line) { err_ << printable(line) + "\n" << std::flush; }

}  // namespace plumbline
