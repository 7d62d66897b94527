#include "cli/interrupts.h"

#include <unistd.h>

#include <csignal>

namespace plumbline {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

void count_interrupt(int) { interrupt_count = interrupt_count + 1; }

}  // namespace

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
