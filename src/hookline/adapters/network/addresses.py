"""Which network addresses hooks may not ask: those of this link and of a cloud's own services.

A cloud tells every machine its credentials at such an address. An IPv6 address may carry an IPv4
address in many ways; each is looked into.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Address = IPv4Address | IPv6Address

# Services of clouds at addresses that are not link-local.
_METADATA = frozenset(
    int(ip_address(text))
    for text in (
        "100.100.100.200",  # Alibaba Cloud
        "168.63.129.16",  # Azure
        "192.0.0.192",  # Oracle Cloud
        "fd00:ec2::23",  # AWS
        "fd00:ec2::254",  # AWS
        "fd00:42::42",  # Scaleway
        "fd20:ce::254",  # Google Cloud
    )
)
_BEST_KNOWN = int(IPv4Address("169.254.169.254"))

# Networks whose addresses end with an IPv4 address.
_ENDING_IN_IPV4 = tuple(
    IPv6Network(text)
    for text in (
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
    )
)
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
# The identifiers of ISATAP interfaces, which come before the last 32 bits.
_ISATAP = (0x00005EFE, 0x02005EFE)


def is_refused(text: str) -> bool:
    """Whether no hook may ask this address, given as the resolver spells it."""
    address = ip_address(text.partition("%")[0])
    if _is_special(address):
        return True
    if not isinstance(address, IPv6Address):
        return False
    # A network may have its own NAT64 prefix, which nobody can know.
    last = int(address) & 0xFFFFFFFF
    if last == _BEST_KNOWN or last in _METADATA:
        return True
    return any(map(_is_special, _carried(address)))


def _is_special(address: Address) -> bool:
    special = address.is_link_local or address.is_multicast or address.is_unspecified
    return special or int(address) in _METADATA


def _carried(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address leads to."""
    bits = int(address)
    is_isatap = (bits >> 32) & 0xFFFFFFFF in _ISATAP
    if is_isatap or any(address in network for network in _ENDING_IN_IPV4):
        yield IPv4Address(bits & 0xFFFFFFFF)
    if address in _LOCAL_NAT64:
        # It follows the prefix, with bits 64 to 71 left out (RFC 6052), or ends a longer one.
        yield IPv4Address((bits >> 64 & 0xFFFF) << 16 | bits >> 40 & 0xFFFF)
        if last := bits & 0xFFFFFFFF:
            yield IPv4Address(last)
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
