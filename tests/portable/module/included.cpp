// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/stagecraft.hpp>

#include "trained.hpp"

double accuracy_by_include() { return trained().accuracy; }
float logit_by_include() { return trained().logit; }
