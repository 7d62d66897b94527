#include "tests/scenarios/schema_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/op.h"
#include "core/record/cell_filter.h"
#include "core/stats/stats.h"
#include "scenarios/expand.h"
#include "scenarios/key_table.h"

namespace plumbline::scenario_docs {
namespace {

struct TextRow {
  const char* path;
  const char* pattern;
};
// As host_words.cc and core/units.cc read them. Of addresses of version 6 a pattern says only which
// characters they have.
constexpr TextRow kTextForms[] = {
    {"hosts[].name", "^[A-Za-z0-9][A-Za-z0-9._:%+-]{0,99}$"},
    {"hosts[].ssh", "^(?!-)(?!.*@$)[^\\x00-\\x20\\x7f'\"\\\\]+$"},
    {"hosts[].data",
     "^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(\\.(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?"
     "[0-9])){3}(/0*(3[0-2]|[12]?[0-9]))?|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(/0*(12[0-8]|1[01][0-9]|"
     "[1-9]?[0-9]))?)$"},
    {"hosts[].speed", "^((?=.*[1-9].*bit$)[0-9]{1,9}(\\.[0-9]+)?[KMGT]bit)?$"},
    {"hosts[].rdma", "^(?!en[0-9]+$)[A-Za-z0-9_.-]{1,63}$"},
    {"matrix[].rate", "^(?=.*[1-9].*bit$)[0-9]{1,9}(\\.[0-9]+)?[KMGT]bit$"},
};

struct RuleRow {
  const char* prefix;
  const char* schema;
};
// Each stands for a refusal of read.cc, load.cc, read_matrix.cc or check.cc.
constexpr RuleRow kRules[] = {
    // There is something to do, here or in a file that is included.
    {"", R"({"anyOf": [{"required": ["include"]},
                       {"required": ["matrix"], "properties": {"matrix": {"minItems": 1}}},
                       {"required": ["probes"], "properties": {"probes": {"minItems": 1}}}]})"},
    // The command that the probe `command` runs.
    {"", R"({"properties": {"probes": {"items": {"not": {"const": "command"}}}}})"},
    {"probes[].", R"({"anyOf": [{"not": {"properties": {"probe": {"const": "command"}}}},
                                {"required": ["run"],
                                 "properties": {"run": {"anyOf": [
                                   {"type": "string", "pattern": "[^ \\t\\r\\n]"},
                                   {"type": "array", "minItems": 1}]}}}]})"},
    {"hosts.", R"({"oneOf": [{"required": ["local"]}, {"required": ["hostfile"]}]})"},
    // One way to reach a host, and what belongs to it.
    {"hosts[].", R"({"oneOf": [{"required": ["local"], "properties": {"local": {"const": true}}},
                               {"required": ["netns"]}, {"required": ["ssh"]}]})"},
    {"hosts[].", R"({"dependencies": {"port": ["ssh"], "key": ["ssh"]}})"},
    {"hosts[].", R"({"anyOf": [{"required": ["netns"]}, {"required": ["ssh"]},
                               {"properties": {"user": {"maxLength": 0}}}]})"},
    {"matrix[].bytes.", R"({"not": {"required": ["factor", "step"]}})"},
    {"checklist[].", R"({"oneOf": [{"required": ["probes"]}, {"required": ["cells"]}]})"},
};

Json required(const std::string& key) { return {{"required", Json::array({key})}}; }

Json with(const std::string& key, Json value) {
  Json schema = required(key);
  schema["properties"] = Json::object({{key, std::move(value)}});
  return schema;
}

Json negated(Json schema) { return Json::object({{"not", std::move(schema)}}); }

Json one_of(std::vector<Json> choices) { return Json::object({{"anyOf", std::move(choices)}}); }

// One value or a list, in which one of these stands.
Json holds_one(const Json& values) {
  const Json value = {{"enum", values}};
  return one_of({value, {{"type", "array"}, {"contains", value}}});
}

// One value or a list of nothing but these.
Json holds_only(const Json& values) {
  const Json value = {{"enum", values}};
  return one_of({value, {{"type", "array"}, {"items", value}}});
}

// The value alone, or as a list of one.
Json alone(const std::string& value) { return {{"enum", {value, Json::array({value})}}}; }

// A size of 0.
Json zero() {
  return one_of(
      {{{"const", 0}},
       {{"type", "string"}, {"pattern", "^0*\\.?0*([eE][+-]?[0-9]+)?(Ki|Mi|Gi|Ti|[KkMmGg])?$"}}});
}

Json is_link() { return {{"$ref", "#/definitions/link_block"}}; }
Json is_endpoint() { return {{"$ref", "#/definitions/endpoint_block"}}; }
// A block of a kind with an operation of its own.
Json is_own() { return one_of({is_link(), is_endpoint()}); }

Json any_of_these_keys(const std::vector<std::string>& keys) {
  std::vector<Json> choices;
  for (const std::string& key : keys) choices.push_back(required(key));
  return one_of(std::move(choices));
}

// Do all kinds that measure an operation have the key?
bool belongs_to_operations(const std::string& key) {
  const auto table = cell_kind_table();
  return std::all_of(table.begin(), table.end(),
                     [&key](const CellKindRow& row) { return !row.collective || row.has(key); });
}

// Keys that mean something for certain kinds only.
void add_kind_rules(std::vector<Json>& rules) {
  std::vector<std::string> of_operations;
  for (const std::string& key : keys_of_kinds()) {
    if (belongs_to_operations(key)) {
      of_operations.push_back(key);
      continue;
    }
    std::vector<Json> allowed = {negated(required(key))};
    Json kinds = Json::array();
    bool usual = false;
    for (const std::string& kind : kinds_with(key)) {
      usual |= kind == to_string(MatrixBlock().kind);
      if (kind == to_string(CellKind::kLink)) {
        allowed.push_back(is_link());
      } else if (kind == to_string(CellKind::kEndpoint)) {
        allowed.push_back(is_endpoint());
      } else {
        kinds.push_back(kind);
      }
    }
    if (!kinds.empty()) {
      Json of_kind = usual ? Json{{"properties", {{"kind", {{"enum", kinds}}}}}}
                           : with("kind", {{"enum", kinds}});
      if (usual) of_kind["not"] = is_own();
      allowed.push_back(std::move(of_kind));
    }
    rules.push_back(one_of(std::move(allowed)));
  }
  rules.push_back(one_of({negated(is_own()), negated(any_of_these_keys(of_operations))}));
}

void add_endpoint_rules(std::vector<Json>& rules) {
  const Json other = negated(with("op", holds_one(Json::array({kEndpointOp}))));
  rules.push_back(one_of({is_endpoint(), other}));
  const Json ranks = Json::parse(R"({"enum": [1, [1], {"from": 1, "to": 1}]})");
  Json own = {{"properties", {{"op", alone(kEndpointOp)}, {"ranks", ranks}}},
              {"required", Json::array({"url"})}};
  rules.push_back(one_of({negated(is_endpoint()), std::move(own)}));
}

void add_link_rules(std::vector<Json>& rules) {
  rules.push_back(one_of({is_link(), negated(with("op", holds_one(Json::array({kLinkOp}))))}));
  rules.push_back(one_of({negated(is_link()), Json{{"properties", {{"op", alone(kLinkOp)}}}}}));
  // A round trip carries at least one byte.
  const Json none = one_of({zero(),
                            {{"type", "array"}, {"contains", zero()}},
                            {{"type", "object"},
                             {"required", Json::array({"from"})},
                             {"properties", {{"from", zero()}}}}});
  rules.push_back(one_of({negated(is_link()), negated(with("bytes", none))}));
}

void add_operation_rules(std::vector<Json>& rules) {
  const Json barrier = Json::array({to_string(Op::kBarrier)});
  rules.push_back(one_of(
      {is_own(), negated(required("op")), with("op", holds_only(barrier)), required("bytes")}));
  Json bandwidth = with("kind", {{"const", to_string(CellKind::kBandwidth)}});
  bandwidth["properties"]["op"] = holds_one(barrier);
  bandwidth["required"].push_back("op");
  rules.push_back(negated(std::move(bandwidth)));
  // A window is the start of one timed operation.
  rules.push_back(
      one_of({negated(with("sync", holds_one(Json::array({"window"})))),
              Json{{"properties", {{"kind", {{"enum", kinds_that_time(CellTiming::kEach)}}}}}}}));
  Json pairs = Json::array();
  for (const OpRow& row : op_table()) {
    if (row.min_ranks > 1) pairs.push_back(row.name);
  }
  Json lone = with("op", holds_one(pairs));
  lone["required"].push_back("ranks");
  lone["properties"]["ranks"] = Json::parse(R"({"enum": [1, [1], {"from": 1, "to": 1}]})");
  rules.push_back(negated(std::move(lone)));
}

// An algorithm that stands alone was meant for every operation of its block.
void add_algorithm_rules(const Vocabulary& vocabulary, std::vector<Json>& rules) {
  std::map<std::string, Json> operations;
  for (const Descriptor& row : vocabulary.algorithms) {
    Json& list = operations.emplace(row.name, Json::array()).first->second;
    list.push_back(row.group);
  }
  for (const auto& [name, list] : operations) {
    if (name == "auto" || name == "all") continue;
    rules.push_back(one_of({negated(with("algorithm", alone(name))),
                            Json{{"properties", {{"op", holds_only(list)}}}}}));
  }
}

void add_range_rules(std::vector<Json>& rules) {
  // 0 times a factor stays 0.
  rules.push_back(one_of({required("step"), negated(with("from", zero()))}));
}

// Where one of the two is not given, its default is the bound of the other.
void add_stop_rules(std::vector<Json>& rules) {
  const StopRule usual;
  rules.push_back(
      one_of({required("min_n"), Json{{"properties", {{"max_n", {{"minimum", usual.min_n}}}}}}}));
  rules.push_back(
      one_of({required("max_n"), Json{{"properties", {{"min_n", {{"maximum", usual.max_n}}}}}}}));
}

void add_probe_rules(const Vocabulary& vocabulary, std::vector<Json>& rules) {
  for (const Descriptor& probe : vocabulary.probes) {
    Json names = Json::object({{"probe", Json::object()}});
    for (const ParamRow& param : probe.params) names[param.name] = Json::object();
    rules.push_back(one_of({negated(with("probe", {{"const", probe.name}})),
                            Json{{"properties", names}, {"additionalProperties", false}}}));
  }
}

// A rule expects something: it has a key that is not one of its own.
void add_expectation_rules(std::vector<Json>& rules) {
  Json own = Json::object();
  for (const KeyRow* row : keys_within("expect[].")) {
    const std::string name = std::string(row->path).substr(std::string_view("expect[].").size());
    if (name != "*") own[name] = Json::object();
  }
  rules.push_back(negated({{"properties", own}, {"additionalProperties", false}}));
}

}  // namespace

std::vector<std::string> parameter_patterns(const KeyRow& row, const Vocabulary& vocabulary) {
  // As collectives/algorithm_name.cc reads them.
  constexpr const char* kRadix = "0*([2-9]|[1-9][0-9]{1,4})";
  std::map<std::string, std::set<std::string>> names;  // by form
  if (row.words == nullptr) return {};
  // As core/codec.cc reads it; that a ratio is above 0 and at most 1 no pattern says.
  if (std::string_view(row.words) == "@codec") return {"^topk:[0-9.eE+-]+$"};
  // As core/split.cc, but for the largest number.
  if (std::string_view(row.words) == "@split") return {"^(mod|div):0*[1-9][0-9]*$"};
  if (std::string_view(row.words) != "@algorithm") return {};
  for (const Descriptor& algorithm : vocabulary.algorithms) {
    for (const ParamRow& param : algorithm.params) names[param.type].insert(algorithm.name);
  }
  std::vector<std::string> patterns;
  for (const auto& [form, of_form] : names) {
    std::string alternatives;
    for (const std::string& name : of_form)
      alternatives += (alternatives.empty() ? "" : "|") + name;
    std::string values = "[0-9]+";
    if (form == "radices") values = std::string(kRadix) + "(x" + kRadix + "){0,15}";
    if (form == "rings") values = "([0-9]+|([0-9]+:)?[0-9]+(-[0-9]+)+)";
    patterns.push_back("^(" + alternatives + "):" + values + "$");
  }
  return patterns;
}

// Blocks of kinds with an operation of their own: by the kind, or by the operation where no kind is
// given.
Json rule_definitions() {
  const auto block = [](CellKind kind, const char* op) {
    Json by_op = with("op", alone(op));
    by_op["not"] = required("kind");
    return one_of({with("kind", {{"const", to_string(kind)}}), by_op});
  };
  return {{"link_block", block(CellKind::kLink, kLinkOp)},
          {"endpoint_block", block(CellKind::kEndpoint, kEndpointOp)}};
}

const char* text_pattern(const std::string& path) {
  for (const TextRow& row : kTextForms) {
    if (path == row.path) return row.pattern;
  }
  return nullptr;
}

std::vector<Json> object_rules(const std::string& prefix, const Vocabulary& vocabulary) {
  std::vector<Json> rules;
  for (const RuleRow& row : kRules) {
    if (prefix == row.prefix) rules.push_back(Json::parse(row.schema));
  }
  if (prefix == "matrix[].") {
    add_operation_rules(rules);
    add_kind_rules(rules);
    add_link_rules(rules);
    add_endpoint_rules(rules);
    add_algorithm_rules(vocabulary, rules);
  }
  if (prefix == "matrix[].bytes.") add_range_rules(rules);
  if (prefix == "matrix[].stop.") add_stop_rules(rules);
  if (prefix == "probes[].") add_probe_rules(vocabulary, rules);
  if (prefix == "expect[].") add_expectation_rules(rules);
  return rules;
}

Json names_with_schemas(const std::string& prefix, const Vocabulary& vocabulary) {
  if (prefix == "config.") return option_schemas(false, vocabulary);
  return prefix == "matrix[].config." ? option_schemas(true, vocabulary) : Json::object();
}

std::vector<std::string> names_of_wildcard(const std::string& prefix,
                                           const Vocabulary& vocabulary) {
  std::vector<std::string> names;
  if (prefix == "expect[].where.config.") {
    for (const OptionRow& row : option_table()) names.emplace_back(row.name);
  } else if (prefix == "expect[].where.") {
    names = filter_field_names();
  } else if (prefix == "expect[].") {
    for (const Descriptor& row : vocabulary.metrics) names.push_back(row.name);
  }
  return names;
}

}  // namespace plumbline::scenario_docs
