// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory that a program takes with operator new, in all its forms.
#pragma once

/// How often operator new was called so far.
[[nodiscard]] long allocations() noexcept;
