// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/report/detail/layered_layout.hpp>

#include <cstdint>
#include <doctest/doctest.h>
#include <map>

using namespace stagecraft::detail;

namespace {

/// No two nodes touch; edges begin and end at their nodes, never go back, and pass beside other nodes.
void check_places(layered_layout const& layout) {
  for (int i = 0; i < layout.size(); ++i) {
    auto const place = layout.middle(i);
    CHECK(place.across - layout.across_of(i) / 2 >= -1e-9);
    CHECK(place.across + layout.across_of(i) / 2 <= layout.across() + 1e-9);
    CHECK(place.along + layout.along_of(i) / 2 <= layout.along() + 1e-9);
    for (int k = i + 1; k < layout.size(); ++k) {
      auto const other = layout.middle(k);
      bool const beside =
          std::abs(place.across - other.across) + 1e-9 >= (layout.across_of(i) + layout.across_of(k)) / 2;
      bool const behind = std::abs(place.along - other.along) + 1e-9 >= (layout.along_of(i) + layout.along_of(k)) / 2;
      CHECK((beside || behind));
    }
  }
  for (int e = 0; e < layout.edge_count(); ++e) {
    auto const [from, to] = layout.ends(e);
    auto const way = layout.way(e);
    REQUIRE(way.size() >= 4);
    CHECK(way.front().along == doctest::Approx(layout.middle(from).along + layout.along_of(from) / 2));
    CHECK(way.back().along == doctest::Approx(layout.middle(to).along - layout.along_of(to) / 2));
    for (std::size_t i = 1; i < way.size(); ++i) {
      CHECK(way[i].along >= way[i - 1].along - 1e-9);
      if (i % 2 == 0) continue;  // between two layers
      CHECK(way[i].across == way[i - 1].across);
      for (int n = 0; n < layout.size(); ++n) {
        auto const place = layout.middle(n);
        bool const beside = std::abs(place.across - way[i].across) + 1e-9 >= layout.across_of(n) / 2;
        bool const elsewhere = way[i].along <= place.along - layout.along_of(n) / 2 + 1e-9 ||
                               way[i - 1].along >= place.along + layout.along_of(n) / 2 - 1e-9;
        CHECK((n == from || n == to || beside || elsewhere));
      }
    }
  }
}

bool is_straight(layered_layout const& layout, int edge) {
  for (auto const& point : layout.way(edge))
    if (std::abs(point.across - layout.way(edge)[0].across) > 1e-9) return false;
  return true;
}

}  // namespace

TEST_CASE("a chain is straight") {
  layered_layout layout;
  for (int i = 0; i < 5; ++i) layout.add_node(20 + 10 * i, 10);
  for (int i = 0; i < 4; ++i) layout.add_edge(i, i + 1);
  layout.arrange();
  check_places(layout);
  for (int i = 0; i < 4; ++i) CHECK(is_straight(layout, i));
  CHECK(layout.across() == 60);
  CHECK(layout.along() == 5 * 10 + 4 * 20);
}

TEST_CASE("two equal branches lie on both sides") {
  layered_layout layout;
  for (int i = 0; i < 4; ++i) layout.add_node(40, 10);
  for (auto const& [from, to] : {std::pair{0, 1}, {0, 2}, {1, 3}, {2, 3}}) layout.add_edge(from, to);
  layout.arrange();
  check_places(layout);
  CHECK(layout.middle(0).across == doctest::Approx((layout.middle(1).across + layout.middle(2).across) / 2));
  CHECK(layout.middle(3).across == layout.middle(0).across);
  CHECK(layout.middle(1).across < layout.middle(2).across);
}

TEST_CASE("what is carried past a long branch passes beside it, and the branch is straight") {
  layered_layout layout;
  for (int i = 0; i < 6; ++i) layout.add_node(40, 10);
  for (int i = 0; i < 5; ++i) layout.add_edge(i, i + 1);
  layout.add_edge(0, 5);
  layout.arrange();
  check_places(layout);
  for (int i = 0; i < 5; ++i) CHECK(is_straight(layout, i));
  CHECK(std::abs(layout.way(5)[2].across - layout.middle(2).across) >= 20 + 14);
}

TEST_CASE("an input stands above the layer that takes it, unless it has to be first") {
  layered_layout layout;
  for (int i = 0; i < 4; ++i) layout.add_node(40, 10, i == 3 ? node_place::last : node_place::anywhere);
  layout.add_node(40, 10);
  layout.add_node(40, 10, node_place::first);
  for (int i = 0; i < 2; ++i) layout.add_edge(i, i + 1);
  layout.add_edge(0, 3);
  layout.add_edge(4, 2);
  layout.add_edge(5, 2);
  layout.arrange();
  check_places(layout);
  CHECK(layout.middle(4).along == layout.middle(1).along);
  CHECK(layout.middle(5).along == layout.middle(0).along);
  CHECK(layout.middle(3).along == layout.middle(2).along);
}

TEST_CASE("edges meet a node at the places that they are given, without crossing") {
  layered_layout layout;
  layout.add_node(40, 10);
  layout.add_node(40, 10);
  layout.add_node(200, 50);
  layout.add_edge(0, 2, 0, 60);
  layout.add_edge(1, 2, 0, -60);
  layout.arrange();
  check_places(layout);
  CHECK(layout.way(0).back().across == doctest::Approx(layout.middle(2).across + 60));
  CHECK(layout.way(1).back().across == doctest::Approx(layout.middle(2).across - 60));
  CHECK(layout.middle(1).across < layout.middle(0).across);
}

TEST_CASE("a layout of nothing, and of one node") {
  layered_layout layout;
  layout.arrange();
  CHECK(layout.along() == 0);
  layered_layout one;
  one.add_node(30, 10);
  one.arrange();
  CHECK(one.across() == 30);
  CHECK(one.along() == 10);
}

TEST_CASE("random graphs have room for everything") {
  std::uint64_t state = 7;
  auto const random = [&state](int below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>((state >> 33U) % static_cast<std::uint64_t>(below));
  };
  for (int round = 0; round < 60; ++round) {
    layered_layout layout;
    int const nodes = 2 + random(30);
    for (int i = 0; i < nodes; ++i) layout.add_node(10 + random(100), 10 + random(40));
    for (int to = 1; to < nodes; ++to)
      for (int k = random(4); k > 0; --k) layout.add_edge(random(to), to, random(9) - 4, random(9) - 4);
    layout.arrange();
    check_places(layout);
  }
}
