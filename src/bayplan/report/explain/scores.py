"""The best nodes and what each plugin gave them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.report.answers.parts import Cell, Heading, Part, Sentence, Table, Tone
from bayplan.report.words import counted

Plain = Mapping[str, Any]


def score_parts(plain: Plain, top: int | None) -> Iterator[Part]:
    """A table of the `top` best nodes, or of all; nothing when no node is feasible."""
    totals: dict[str, int] = plain["totals"]
    if not totals:
        return
    ranked = sorted(totals, key=lambda node: (-totals[node], node))
    shown = ranked[:top]
    yield Heading(_title(len(shown), len(ranked)))
    equal, differing = _columns(plain["scores"], ranked)
    yield _table(plain, shown, differing)
    if equal:
        scores = ", ".join(f"{plugin} {score:,}" for plugin, score in equal.items())
        prefix = "Every feasible node got" if differing or len(ranked) > 1 else "It got"
        yield Sentence(f"{prefix}: {scores}.", Tone.FAINT)


def _title(shown: int, all_nodes: int) -> str:
    if all_nodes == 1:
        return "Score of the only feasible node"
    if shown == all_nodes:
        return f"Scores of the {counted(all_nodes, 'feasible node')}, by plugin"
    return f"Scores of the best {shown:,} of {all_nodes:,} feasible nodes, by plugin"


def _columns(scores: Mapping[str, Mapping[str, int]], nodes: list[str]) -> tuple[dict[str, int], list[str]]:
    """Plugins that gave every node the same, with that score, and the others: only these decide anything."""
    first = scores.get(nodes[0], {})
    differing = [plugin for plugin in first if any(scores[node][plugin] != first[plugin] for node in nodes)]
    return {plugin: score for plugin, score in first.items() if plugin not in differing}, differing


def _table(plain: Plain, nodes: list[str], plugins: list[str]) -> Table:
    headers = [stacked(plugin) for plugin in plugins]
    best = set(plain["best"])
    rows = []
    for node in nodes:
        scores = plain["scores"][node]
        cells = [node, f"{plain['totals'][node]:,}", *(f"{scores[plugin]:,}" for plugin in plugins)]
        rows.append([Cell(text, Tone.GOOD if node in best else Tone.PLAIN) for text in cells])
    return Table(
        ("node", "total", *headers), rows, numeric=frozenset({"total", *headers}), flexible=frozenset({"node"})
    )


def stacked(plugin: str) -> str:
    """A plugin's name with a word in each line: `NodeResourcesFit` would make its column three times as wide."""
    return "\n".join(re.findall(r"[A-Z]+[a-z0-9]*|[^A-Z]+", plugin))
