// SPDX-License-Identifier: BSD-3-Clause
// ONNX's activations that Keras does not have, as operations.
#include "operation_nodes.hpp"

#include <cmath>

namespace stagecraft::tool {

namespace {

using trace = onnx_trace;
using operands = std::vector<source_text>;

/// Converts Clip with limits that are numbers.
void clip(trace& to, onnx_node const& node) {
  auto const limit = [&](std::size_t input) -> std::optional<source_text> {
    auto const found = to.constant(node, input);
    if (!found) return std::nullopt;
    if (found->values.size() != 1) throw unsupported("has limits that are no numbers");
    return std::isinf(found->values[0]) || std::fabs(found->values[0]) > 3.4e38
               ? std::nullopt
               : std::optional(float_text(found->values[0]));
  };
  auto const least = limit(1), most = limit(2);
  auto const& x = to.tensor(node, 0);
  auto y = each_number(to, x, "limited", [=](operands const& a) {
    auto const above = least ? "sc::maximum("_cpp + a[0] + ", " + *least + ")" : a[0];
    return most ? "sc::minimum("_cpp + above + ", " + *most + ")" : above;
  });
  y.elements = x.elements;
  to.set(node, y);
}

void hard_sigmoid(trace& to, onnx_node const& node) {
  auto const slope = float_text(node.real("alpha", 0.2F)), summand = float_text(node.real("beta", 0.5F));
  auto y = each_number(to, to.tensor(node, 0), "hard_slope", [=](operands const& x) {
    return "sc::minimum(sc::maximum("_cpp + x[0] + " * " + slope + " + " + summand + ", 0.0F), 1.0F)";
  });
  y.is_nonnegative = true;
  to.set(node, y);
}

void selu(trace& to, onnx_node const& node) {
  auto const alpha = float_text(node.real("alpha", 1.67326319217681884765625F)),
             gamma = float_text(node.real("gamma", 1.05070102214813232421875F));
  to.set(node, each_number(to, to.tensor(node, 0), "scaled_exponential", [=](operands const& x) {
           return "where("_cpp + x[0] + " > 0.0F, " + x[0] + ", " + alpha + " * (exp(sc::minimum(" + x[0] +
                  ", 0.0F)) - 1.0F)) * " + gamma;
         }));
}

void celu(trace& to, onnx_node const& node) {
  auto const alpha = float_text(node.real("alpha", 1));
  to.set(node, each_number(to, to.tensor(node, 0), "celu", [=](operands const& x) {
           return "sc::maximum("_cpp + x[0] + ", 0.0F) + " + alpha + " * (exp(sc::minimum(" + x[0] + ", 0.0F) / " +
                  alpha + ") - 1.0F)";
         }));
}

void shrink(trace& to, onnx_node const& node) {
  auto const bias = float_text(node.real("bias", 0)), limit = float_text(node.real("lambd", 0.5F));
  to.set(node, each_number(to, to.tensor(node, 0), "shrunk", [=](operands const& x) {
           return "where("_cpp + x[0] + " < -(" + limit + "), " + x[0] + " + " + bias + ", where(" + x[0] + " > " +
                  limit + ", " + x[0] + " - " + bias + ", 0.0F))";
         }));
}

void swish(trace& to, onnx_node const& node) {
  auto const alpha = float_text(node.real("alpha", 1));
  to.set(node, each_number(to, to.tensor(node, 0), "gated",
                           [=](operands const& x) { return x[0] + " * sigmoid(" + x[0] + " * " + alpha + ")"; }));
}

onnx_converter plain(own_text word, operation_code const& code) {
  return [=](trace& to, onnx_node const& node) { to.set(node, each_number(to, to.tensor(node, 0), word, code)); };
}

}  // namespace

void add_activation_operations(std::map<std::string, onnx_converter>& to) {
  auto const also = [&](char const* type, onnx_converter const& more) { to[type] = either(to.at(type), more); };
  to["Mish"] = plain("mish", [](operands const& x) { return x[0] + " * tanh(softplus(" + x[0] + "))"; });
  to["HardSwish"] = plain("hard_swish", [](operands const& x) {
    return x[0] + " * sc::minimum(sc::maximum(" + x[0] + " / 6.0F + 0.5F, 0.0F), 1.0F)";
  });
  to["Celu"] = celu, to["Shrink"] = shrink;
  also("Clip", clip), also("HardSigmoid", hard_sigmoid), also("Selu", selu), also("Swish", swish);
}

}  // namespace stagecraft::tool
