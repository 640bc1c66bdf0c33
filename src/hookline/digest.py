"""SHA-256 without the cost of hashlib, whose OpenSSL takes longer to load than a verdict."""

from __future__ import annotations

try:
    from _sha256 import sha256  # type: ignore[import-not-found]
except ImportError:
    from hashlib import sha256

__all__ = ["sha256"]
