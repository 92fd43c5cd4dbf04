# SPDX-License-Identifier: BSD-3-Clause
"""A drawing of lines, boxes, circles and text, written as SVG."""
from html import escape

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
INK = "#1f2328"
FAINT = "#656d76"
GRID = "#d8dee4"


class Drawing:
    """Elements on a white sheet, so that it can be read on a dark page as well."""

    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.elements = [f"<title>{escape(title)}</title>",
                         f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>']

    def text(self, x, y, text, size=13, color=INK, anchor="start", weight="normal", rotate=None):
        turn = f' transform="rotate({rotate} {x:.1f} {y:.1f})"' if rotate is not None else ""
        self.elements.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
                             f'font-weight="{weight}"{turn}>{escape(text)}</text>')

    def colored_text(self, x, y, parts, size=12):
        """One line of (text, colour)."""
        spans = " ".join(f'<tspan fill="{color}">{escape(text)}</tspan>' for text, color in parts)
        self.elements.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}">{spans}</text>')

    def line(self, x1, y1, x2, y2, color=GRID, width=1.0, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.elements.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
                             f'stroke-width="{width}"{dashes}/>')

    def box(self, x, y, width, height, color):
        self.elements.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" rx="2" '
                             f'fill="{color}"/>')

    def circle(self, x, y, radius, color, filled=True):
        paint = f'fill="{color}"' if filled else f'fill="#ffffff" stroke="{color}" stroke-width="1.5"'
        self.elements.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" {paint}/>')

    def write(self, path):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" font-family="{escape(FONT)}" role="img">')
        path.write_text("\n".join([head, *self.elements, "</svg>"]) + "\n", encoding="utf-8")
