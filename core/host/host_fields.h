// Facts about a host have tables of their fields (core/field.h, core/host/host.cc).
#pragma once

#include <span>

#include "core/field.h"
#include "core/host/host.h"

namespace plumbline {

template <>
struct FieldsOf<NicAddress> {
  static std::span<const Field<NicAddress>> all();
};
template <>
struct FieldsOf<Nic> {
  static std::span<const Field<Nic>> all();
};
template <>
struct FieldsOf<HostFacts> {
  static std::span<const Field<HostFacts>> all();
};

}  // namespace plumbline
