// SPDX-License-Identifier: BSD-3-Clause
#include "chain.hpp"

static_assert(chain::check<64>());
