"""A change that lets a rejected pod fit wakes it: the plugin that rejected it has registered for the change.

Each plugin is asked alone, about random small clusters and one change at a time. Where kube-scheduler itself sleeps
through a change, so do we; those cases are listed at the end, each with a cluster that shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracle import wakeup_worlds as worlds
from tests.oracle.wakeup_worlds import Change, World
from tests.requeueing import is_worth_it
from tests.support import cache_of, verdicts

from bayplan.config.loading import load_configuration
