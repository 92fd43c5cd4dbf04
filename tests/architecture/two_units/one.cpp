// SPDX-License-Identifier: BSD-3-Clause
#include "shared_model.hpp"

shared::findings findings_of_one() { return shared::find_out(); }
