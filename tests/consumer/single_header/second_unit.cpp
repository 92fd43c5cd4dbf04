// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/stagecraft.hpp>
