// SPDX-License-Identifier: BSD-3-Clause
#include "serve/grpc/model_spec.hpp"

namespace stagecraft::tool {

using tensorflow::serving::ModelSpec;

version_choice choice_of(ModelSpec const& spec) {
  if (spec.version_choice_case() == ModelSpec::kVersionLabel) {
    if (spec.version_label().empty()) throw http_error{400, "Unrecognized servable version label: "};
    return {.number = 0, .label = spec.version_label()};
  }
  if (!spec.has_version()) return {};
  auto const number = spec.version().value();
  // No version has such a number, and 0 would be the highest one.
  return {.number = number < 1 ? -1 : number, .label = ""};
}

served_version find(server_calls& calls, bool has_spec, ModelSpec const& spec) {
  if (!has_spec) throw http_error{400, "Missing ModelSpec"};
  if (spec.name().empty()) throw http_error{400, "ModelSpec has no name specified."};
  return calls.find(spec.name(), choice_of(spec));
}

void check_signature(served_version const& version, std::string const& name) {
  if (version.signatures->has(name)) return;
  throw rpc_error{{grpc::StatusCode::FAILED_PRECONDITION, "Serving signature key \"" + name + "\" not found."}};
}

void write_spec(std::string const& name, std::int64_t number, std::string const& signature, ModelSpec& to) {
  to.set_name(name);
  to.mutable_version()->set_value(number);
  to.set_signature_name(signature);
}

}  // namespace stagecraft::tool
