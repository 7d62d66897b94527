#include "cli/plain_caller.h"

#include <unistd.h>

#include <csignal>

#include "core/text.h"

namespace plumbline {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

void count_interrupt(int) { interrupt_count = interrupt_count + 1; }

}  // namespace

Wish wish_of_signals() {
  const int count = interrupts();
  return count == 0 ? Wish::kGoOn : count == 1 ? Wish::kEnd : Wish::kEndNow;
}

void PlainCaller::say(const std::string& line) { err_ << printable(line) + "\n" << std::flush; }

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = count_interrupt;  // no SA_RESTART: waits wake up
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int interrupts() { return interrupt_count; }

void end_soon() {
  constexpr unsigned kEndSeconds = 2;
  alarm(kEndSeconds);
}

}  // namespace plumbline
