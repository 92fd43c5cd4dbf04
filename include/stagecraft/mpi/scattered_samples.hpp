// SPDX-License-Identifier: BSD-3-Clause
// Samples of arrays that the first rank alone has, sent to the ranks whose replicas read them.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/mpi/rank_group.hpp>
#include <stagecraft/training/data/sample_source.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::mpi {

/// The array that the first rank has, as all ranks give it to a run. All ranks call it: `array` is read there alone, in
/// place if it is an lvalue, which then outlives the run. `share(data, bytes)` copies bytes of the first rank to the
/// others.
template <class Array, class Share>
[[nodiscard]] trainers::sample_source scattered_array(Array&& array, Share const& share) {
  auto const& group = rank_group::get();
  if (group.count() == 1) return std::forward<Array>(array);
  trainers::sample_source own;
  if (group.leads()) own = std::forward<Array>(array);
  auto count = static_cast<std::int64_t>(own.count());
  shape of_sample = own.sample_shape();
  static_assert(std::is_trivially_copyable_v<shape>);
  share(&count, sizeof count);
  share(&of_sample, sizeof of_sample);
  if (group.leads()) return own.as_whole_of_parts();
  using number = std::remove_cv_t<typename std::remove_cvref_t<Array>::value_type>;
  return trainers::sample_source::elsewhere<number>(static_cast<std::ptrdiff_t>(count), of_sample);
}

/// Sends each rank its `rows[rank]` of such an array, in the array's own type, unless it has them since the last call.
/// The first rank packs 64 MB at a time.
inline void scatter_samples(trainers::sample_source const& array, std::vector<std::vector<std::int32_t>> const& rows) {
  auto& group = rank_group::get();
  if (group.count() == 1) return;
  rank_group::operation const all(group);
  auto& part = *array.part();
  auto const bytes = array.bytes_of_sample();
  auto const others = static_cast<std::size_t>(group.count() - 1);
  constexpr std::size_t packed_at_once = std::size_t{64} << 20U;
  auto const piece = std::max<std::size_t>(1, packed_at_once / others / std::max<std::size_t>(bytes, 1));
  if (!group.leads()) {
    auto const& own = rows[static_cast<std::size_t>(group.rank())];
    if (!part.rows.empty() && part.rows[0] == own) return;
    part.make_room(own, bytes);
    auto messages = rank_group::operation::part_of_another(group);
    for (std::size_t first = 0; first < own.size(); first += piece)
      messages.receive(part.numbers.data() + first * bytes, std::min(piece, own.size() - first) * bytes, 0);
    return messages.wait();
  }
  part.rows.resize(others + 1);
  std::vector<std::vector<std::byte>> packed(others + 1);
  bool is_done = false;
  for (std::size_t first = 0; !is_done; first += piece) {
    is_done = true;
    auto messages = rank_group::operation::part_of_another(group);
    for (std::size_t other = 1; other <= others; ++other) {
      auto const& wanted = rows[other];
      if (first >= wanted.size() || part.rows[other] == wanted) continue;
      auto const count = std::min(piece, wanted.size() - first);
      is_done = false;
      packed[other].resize(count * bytes);
      for (std::size_t i = 0; i < count; ++i)
        std::memcpy(packed[other].data() + i * bytes, array.address_of(wanted[first + i]), bytes);
      messages.send(packed[other].data(), count * bytes, static_cast<int>(other));
    }
    messages.wait();
  }
  for (std::size_t other = 1; other <= others; ++other) part.rows[other] = rows[other];
}

}  // namespace stagecraft::mpi
