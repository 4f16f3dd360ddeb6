"""A run as a still picture (SVG) for documents: a lane per pipe, bubbles as thin bars, no script."""

from __future__ import annotations

import html
from collections.abc import Sequence

from pypto.sim.result import Event, Gap, Simulation
from pypto.sim.timeline import lanes_of

WIDTH, LABEL, ROW, TOP = 1000, 110, 22, 26
COLOURS = ("#2f7fb3", "#c8553d", "#4f9d69", "#8d6cab", "#c79a2b", "#3b9c9c", "#b0578d", "#6d7f2f", "#5670c4", "#a8683a")
NARROWEST_TEXT = 30  # pixels


def picture(simulation: Simulation) -> str:
    """SVG text, 1000 pixels wide, one row of 22 pixels per pipe; widths follow simulated cycles."""
    events, gaps = simulation.trace, simulation.waits
    lanes = lanes_of(events, gaps)
    height = TOP + ROW * len(lanes) + 22
    scale = (WIDTH - LABEL - 10) / max(simulation.cycles, 1.0)
    colour = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(dict.fromkeys(one.operation for one in events))}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *_frame(simulation, lanes, scale),
        *(_bar(one, lanes, scale, "#f3d6a0") for one in gaps),
        *(_bar(one, lanes, scale, colour[one.operation]) for one in events),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _frame(simulation: Simulation, lanes: Sequence[tuple[str, str]], scale: float) -> list[str]:
    parts = []
    for index, (core, pipe) in enumerate(lanes):
        y = TOP + index * ROW
        parts.append(f'<text x="8" y="{y + 15}" fill="#1b2733">{html.escape(core)} {pipe}</text>')
        parts.append(f'<line x1="0" x2="{WIDTH}" y1="{y + ROW}" y2="{y + ROW}" stroke="#dfe5ea"/>')
    for quarter in range(5):
        cycle = simulation.cycles * quarter / 4
        x = LABEL + cycle * scale
        anchor = "end" if quarter == 4 else "start"
        parts.append(f'<text x="{x:.1f}" y="16" fill="#6b7885" text-anchor="{anchor}">{cycle:,.0f}</text>')
    title = f"{simulation.program.name} on {simulation.chip.name}: {simulation.cycles:,.0f} cycles"
    parts.append(
        f'<text x="{LABEL}" y="{TOP + ROW * len(lanes) + 16}" fill="#6b7885">{html.escape(title)}; pale bars: waiting</text>'
    )
    return parts


def _bar(one: Event | Gap, lanes: Sequence[tuple[str, str]], scale: float, colour: str) -> str:
    y = TOP + lanes.index((one.core, one.pipe)) * ROW
    x, width = LABEL + one.start * scale, max((one.end - one.start) * scale, 0.6)
    if isinstance(one, Gap):
        return f'<rect x="{x:.1f}" y="{y + 9}" width="{width:.1f}" height="4" fill="{colour}"/>'
    box = f'x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{ROW - 6}"'
    bar = f'<rect {box} fill="{colour}"><title>{html.escape(one.text)}</title></rect>'
    if width < NARROWEST_TEXT + 4 * len(one.operation) - 16:
        return bar
    return bar + f'<text x="{x + 4:.1f}" y="{y + 15}" fill="#ffffff">{html.escape(one.operation)}</text>'
