// SPDX-License-Identifier: BSD-3-Clause
// The predictor of the page as a WebAssembly module: JavaScript writes pixels and reads what each layer computes.
#include <stagecraft/predict.hpp>

#include "networks.hpp"

#include "weights.hpp"

namespace sc = stagecraft;

static constexpr sc::constant_weight of_edges[]{edges_kernel, edges_bias};
static constexpr sc::constant_weight of_shapes[]{shapes_kernel, shapes_bias};
static constexpr sc::constant_weight of_scores[]{scores_kernel, scores_bias};
static constinit sc::static_predictor<models::edges, of_edges> edges;
static constinit sc::static_predictor<models::shapes, of_shapes> shapes;
static constinit sc::static_predictor<models::scores, of_scores> scores;

static constinit float pixels[decltype(edges)::inputs];
static constinit float found_edges[decltype(edges)::outputs];
static constinit float found_shapes[decltype(shapes)::outputs];
static constinit float found_scores[decltype(scores)::outputs];

#ifdef __wasm__
#define STAGECRAFT_EXPORTED(name) [[clang::export_name(name)]]
#else
#define STAGECRAFT_EXPORTED(name)
#endif

extern "C" {
STAGECRAFT_EXPORTED("pixels") float* pixels_of_page() { return pixels; }
STAGECRAFT_EXPORTED("edges") float* edges_of_page() { return found_edges; }
STAGECRAFT_EXPORTED("shapes") float* shapes_of_page() { return found_shapes; }
STAGECRAFT_EXPORTED("scores") float* scores_of_page() { return found_scores; }
STAGECRAFT_EXPORTED("predict") void predict_for_page() {
  edges(pixels, found_edges);
  shapes(found_edges, found_shapes);
  scores(found_shapes, found_scores);
}
}

#ifndef __wasm__
#include <cstdio>
/// On a computer: reads pixels, and prints the scores, with which a test compares the page's.
int main() {
  for (float& each : pixels)
    if (std::scanf("%f", &each) != 1) return 1;
  predict_for_page();
  for (float const each : found_scores) std::printf("%.6f\n", static_cast<double>(each));
}
#endif
