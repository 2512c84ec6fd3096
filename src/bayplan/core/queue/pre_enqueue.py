"""PreEnqueue: whether a pod may come into the queue.

The plugin that rejected the pod last time is asked first, then the others in configured order, where upstream goes
through them in random order. The first rejection ends it, so that the same pod is always rejected by the same plugin.
"""

from __future__ import annotations

from dataclasses import replace

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import PreEnqueuePlugin
from bayplan.core.framework.verdict import SUCCESS, Status


def run_pre_enqueue(plugins: tuple[PreEnqueuePlugin, ...], pod: PodInfo, asked_first: str = "") -> Status:
    """SUCCESS, or the first rejection with its plugin's name."""
    ordered = sorted(plugins, key=lambda plugin: plugin.name != asked_first) if asked_first else plugins
    for plugin in ordered:
        status = plugin.pre_enqueue(pod)
        if status is not SUCCESS and not status.ok:
            return replace(status, plugin=plugin.name)
    return SUCCESS
