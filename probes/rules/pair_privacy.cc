#include "probes/rules/pair_privacy.h"

#include <fmt/format.h>

#include <vector>

#include "probes/evidence_query.h"
#include "probes/process_chain.h"

namespace plumbline {
namespace {

// Apple's technote TN3179: tools that are run from Terminal or over ssh are always allowed.
constexpr double kUnaskedConfidence = 0.7;
constexpr const char* kTerminal = "Terminal.app";
constexpr const char* kSettings = "System Settings > Privacy & Security > Local Network";

std::string chain_text(const HostEvidence& host, const Starter& starter) {
  std::vector<std::string> names;
  for (const std::string& name : host.started_by) {
    names.push_back(is_program_name(name) ? name : "?");
    if (names.size() == kMostParents) break;
  }
  return fmt::format("the agent that was refused, and outwards what it was started by: {}{}",
                     join_words(names, " < "),
                     starter.whole ? "" : " (who started that is not known)");
}

// Which of them has to be allowed.
std::string whom(const Starter& starter) {
  if (starter.program.empty()) return "the outermost of the programs that started plumbline";
  if (!starter.whole) return starter.program + ", or what that was started from";
  return starter.program + ", from which plumbline was started";
}

}  // namespace

PrivacyWords privacy_words(const HostEvidence& host) {
  PrivacyWords out;
  const auto allow_and_restart = [](const std::string& program, const char* what) {
    return fmt::format("# {}: allow {}, then start it again; or start {} from Terminal or over ssh",
                       kSettings, program, what);
  };
  if (host.started_by.empty()) {
    out.remedy =
        allow_and_restart("the program that started this one (terminal, tmux, editor)", "it");
    return out;
  }
  const Starter starter = starter_of(host.started_by);
  out.started = chain_text(host, starter);
  const bool terminal = starter.program == kTerminal;
  if (!starter.over_ssh && !terminal) {
    out.remedy = allow_and_restart(whom(starter), "plumbline");
    return out;
  }
  out.confidence = kUnaskedConfidence;
  out.started +=
      fmt::format("; macOS is not known to ask about what {}, so why it refuses is not known",
                  terminal ? "Terminal starts" : "comes over ssh");
  out.remedy =
      Remedy(
          "# see by hand, in the same way, that Apple's tool still gets through where plumbline "
          "does not: its command is in the evidence")
          .say(fmt::format(
              "# if so: start it again and leave the window or session open that it was "
              "started from; is plumbline listed, and off, under {}? Else restart this "
              "Mac, and update macOS where that does not help",
              kSettings));
  return out;
}

}  // namespace plumbline
