
#include "core/json.h"
#include "probes/filters/filter_values.h"
#include "probes/filters/nft.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

std::string join(const Json& list, const std::string& between) {
  std::string text;
  for (const Json& item : list) {
    if (text.size() > 2 * kMostRuleText) return text + between + "...";
    if (&item != &list.front()) text += between;
    text += nft_text(item);
  }
  return text;
}

std::string element(const Json& item) {
  if (item.is_array() && item.size() == 2) {
    return nft_text(item[0]) + " : " +
           (item[1].is_object() ? nft_statement_text(item[1]) : nft_text(item[1]));
  }
  return nft_text(item);
}

std::string set_text(const Json& items) {
  std::string text = "{ ";
  for (const Json& item : items) {
    if (text.size() > 2 * kMostRuleText) return text + "... }";
    if (&item != &items.front()) text += ", ";
    text += element(item);
  }
  return text + " }";
}

std::string object_text(const std::string& kind, const Json& body) {
  if (kind == "payload") {
    if (!body.contains("protocol")) {
      return "@" + member_text(body, "base") + "," + member_text(body, "offset") + "," +
             member_text(body, "len");
    }
    return member_text(body, "protocol") + " " + member_text(body, "field");
  }
  if (kind == "meta") {
    const std::string key = member_text(body, "key");
    const bool bare = key.find("if") != std::string::npos || key == "mark";
    return bare ? key : "meta " + key;
  }
  if (kind == "ct") return "ct " + member_text(body, "key");
  if (kind == "prefix") return member_text(body, "addr") + "/" + member_text(body, "len");
  if (kind == "range" && body.is_array()) return join(body, "-");
  if (kind == "concat" && body.is_array()) return join(body, " . ");
  if (kind == "set" && body.is_array()) return set_text(body);
  if (kind == "elem" && body.is_object() && body.contains("val")) return nft_text(body["val"]);
  if (kind == "numgen") {
    return "numgen " + member_text(body, "mode") + " mod " + member_text(body, "mod");
  }
  if (kind == "fib") {
    const Json flags = body.value("flags", Json());
    return "fib " + (flags.is_array() ? join(flags, " . ") : plain_text(flags)) + " " +
           member_text(body, "result");
  }
  if (body.is_array() && (kind == "&" || kind == "|" || kind == "^" || kind == "<<")) {
    return join(body, " " + kind + " ");
  }
  return kind + " " + body.dump();
}

std::string action_text(const std::string& kind, const Json& body) {
  if (kind == "match") {
    const std::string op = member_text(body, "op");
    const bool silent = op == "==" || op == "in";
    return nft_text(body.at("left")) + " " + (silent ? "" : op + " ") + nft_text(body.at("right"));
  }
  if (kind == "jump" || kind == "goto") return kind + " " + member_text(body, "target");
  if (kind == "reject") {
    if (!body.is_object()) return kind;
    const std::string type = member_text(body, "type"), expr = member_text(body, "expr");
    return "reject with " + type + (expr.empty() ? "" : " " + expr);
  }
  if (kind == "vmap") return nft_text(body.at("key")) + " vmap " + nft_text(body.at("data"));
  if (kind == "limit") {
    return std::string("limit rate ") + (body.value("inv", false) ? "over " : "") +
           member_text(body, "rate") + "/" + member_text(body, "per");
  }
  if (kind == "log") {
    const std::string prefix = body.is_object() ? member_text(body, "prefix") : "";
    return prefix.empty() ? kind : "log prefix \"" + prefix + "\"";
  }
  if (kind == "mangle") {
    return nft_text(body.at("key")) + " set " + nft_text(body.at("value"));
  }
  if (kind == "redirect" || kind == "dnat" || kind == "snat" || kind == "tproxy") {
    std::string to;
    if (body.is_object() && body.contains("addr")) to = nft_text(body["addr"]);
    if (body.is_object() && body.contains("port")) to += ":" + nft_text(body["port"]);
    return to.empty() ? kind : kind + " to " + to;
  }
  if (kind == "xt" && body.is_object())
    return "xt " + member_text(body, "type") + " " + member_text(body, "name");
  if (kind == "queue" && body.is_object()) {
    return "queue" + (body.contains("num") ? " num " + nft_text(body["num"]) : std::string()) +
           (body.contains("flags") ? " flags " + nft_text(body["flags"]) : std::string());
  }
  if (body.is_null()) return kind;
  return kind + " " + body.dump();
}

}  // namespace

std::string nft_text(const Json& expression) {
  if (expression.is_array()) return join(expression, ",");
  if (!expression.is_object() || expression.empty()) return plain_text(expression);
  return object_text(expression.begin().key(), expression.begin().value());
}

std::string nft_statement_text(const Json& statement) {
  if (!statement.is_object() || statement.empty()) return plain_text(statement);
  const std::string& kind = statement.begin().key();
  if (kind == "counter" || kind == "last") return "counter";
  return action_text(kind, statement.begin().value());
}

}  // namespace plumbline
