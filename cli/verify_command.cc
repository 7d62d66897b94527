// `plumbline verify`: is a bundle what it says?

#include "cli/commands.h"
#include "cli/community.h"
#include "core/json.h"

namespace plumbline {
namespace {

nlohmann::json issues_json(const std::vector<BundleIssue>& issues) {
  nlohmann::json out = nlohmann::json::array();
  for (const BundleIssue& issue : issues) {
    out.push_back({{"kind", issue.kind}, {"path", issue.path}, {"text", issue.text}});
  }
  return out;
}

}  // namespace

int run_verify(const Args& args, Context& context) {
  const auto allowed =
      allowed_signers_of(args, std::string(kCommunityFolder) + "/" + kAllowedSigners);
  if (!allowed) return usage_failure(context, allowed.error());
  auto bundles = verify_files(args.all("file"), *allowed);
  if (!bundles) return usage_failure(context, bundles.error());
  for (VerifiedBundle& bundle : *bundles) flag_future(bundle.report);
  bool sound = true;
  nlohmann::json all = nlohmann::json::array();
  for (const VerifiedBundle& bundle : *bundles) {
    sound = sound && bundle.report.sound();
    if (!args.has("json")) *context.out << verdict_text(bundle);
    all.push_back({{"file", bundle.report.file},
                   {"id", bundle.report.id},
                   {"ok", bundle.report.sound()},
                   {"rows", bundle.report.rows.size()},
                   {"signature", bundle.signature.text()},
                   {"problems", issues_json(bundle.report.problems)},
                   {"flags", issues_json(bundle.report.flags)}});
  }
  if (args.has("json")) {
    *context.out << json_text(all);
  }
  return sound ? 0 : kWrongContent;
}

}  // namespace plumbline
