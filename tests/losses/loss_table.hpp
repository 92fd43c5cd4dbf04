// SPDX-License-Identifier: BSD-3-Clause
// The losses that are a `call` and nothing else, under their names in losses.txt: what tests walk.
#pragma once

#include <stagecraft/losses/losses.hpp>

namespace laws {

/// Calls check<loss>(name) for each of them.
void with_losses_of_calls(auto const& check) {
  using namespace stagecraft::losses;
  check.template operator()<mean_absolute_percentage_error{}>("mean_absolute_percentage_error");
  check.template operator()<mean_squared_logarithmic_error{}>("mean_squared_logarithmic_error");
  check.template operator()<log_cosh{}>("log_cosh");
  check.template operator()<poisson{}>("poisson");
  check.template operator()<kl_divergence{}>("kl_divergence");
  check.template operator()<hinge{}>("hinge");
  check.template operator()<squared_hinge{}>("squared_hinge");
  check.template operator()<categorical_hinge{}>("categorical_hinge");
  check.template operator()<cosine_similarity{}>("cosine_similarity");
}

}  // namespace laws
