"""Configuration: hookline.yaml, hook folders and automation-hooks.json become one `Settings`.

Importing this package is cheap; the YAML reader and the checks load only when the cache misses.
"""

from __future__ import annotations

from hookline.config.cached import load_settings
from hookline.config.reading.problems import Problem
from hookline.config.settings import Settings, Tuning

__all__ = ["Problem", "Settings", "Tuning", "load_settings"]
