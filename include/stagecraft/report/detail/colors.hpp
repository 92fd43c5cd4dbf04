// SPDX-License-Identifier: BSD-3-Clause
// The colours of pictures, on a light and on a dark page.
#pragma once

#include <string_view>

namespace stagecraft::reports {

/// A colour where the page is light, and where it is dark.
struct color_pair {
  std::string_view light, dark;
};

/// A hue: `tint` lies under text in ink, `strong` under white text.
struct hue {
  color_pair tint, strong;
};

/// What tells micro-batches and stages apart. They follow each other again when there are more.
inline constexpr hue hues[]{
    {{"#cfe3fb", "#14345a"}, {"#1f6fcb", "#2a74c9"}},  // blue
    {{"#fde0c0", "#55300f"}, {"#b9520f", "#b9591b"}},  // orange
    {{"#cdeeda", "#113f2e"}, {"#1a7f5a", "#1f8560"}},  // green
    {{"#e4d9fb", "#372a63"}, {"#7a4fd0", "#8259d4"}},  // violet
    {{"#fbd5e8", "#571f42"}, {"#bf3989", "#bf4a8d"}},  // pink
    {{"#c9eef0", "#0f3f45"}, {"#157f8a", "#1b828d"}},  // teal
    {{"#f5eab0", "#463a08"}, {"#857000", "#8a7408"}},  // yellow
    {{"#fad3cf", "#5c221d"}, {"#c0392b", "#c54a3d"}},  // red
};
inline constexpr int hue_count = sizeof(hues) / sizeof(hues[0]);

inline constexpr color_pair sheet_color{"#ffffff", "#0d1117"};
inline constexpr color_pair panel_color{"#f6f8fa", "#161b22"};
inline constexpr color_pair ink_color{"#1f2328", "#e6edf3"};
inline constexpr color_pair faint_color{"#656d76", "#8d96a0"};
inline constexpr color_pair line_color{"#8c959f", "#6e7681"};
inline constexpr color_pair grid_color{"#d8dee4", "#30363d"};
/// Dark under white text, and no hue.
inline constexpr color_pair gray_color{"#57606a", "#5f6872"};
inline constexpr color_pair white_color{"#ffffff", "#ffffff"};

}  // namespace stagecraft::reports
