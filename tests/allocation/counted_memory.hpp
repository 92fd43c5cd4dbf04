// SPDX-License-Identifier: BSD-3-Clause
// Counts the memory that a program takes with operator new, in all its forms, and gives back.
#pragma once

/// How often operator new was called so far.
[[nodiscard]] long allocations() noexcept;
/// The bytes that it was asked for so far.
[[nodiscard]] long long allocated_bytes() noexcept;
/// Lets every further allocation fail, or none.
void refuse_allocations(bool refused) noexcept;
/// How much of what it gave has not been deleted yet.
[[nodiscard]] long live_allocations() noexcept;
