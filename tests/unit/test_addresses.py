"""Which addresses hooks may not ask, in every notation; nothing is sent anywhere."""

from __future__ import annotations

import socket

import pytest

from hookline.adapters.network.addresses import is_refused

REFUSED = [
    # what clouds tell their machines at
    *("169.254.169.254", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16"),
    *("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42"),
    # the same, carried by IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo, ISATAP
    *("::ffff:169.254.169.254", "::169.254.169.254", "::ffff:0:169.254.169.254"),
    *("64:ff9b::169.254.169.254", "64:ff9b:1::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00::"),
    *("2002:a9fe:a9fe::", "2002:a9fe:a9fe::1", "2001:0:a9fe:a9fe::", "2001:0:1:1::5601:5601"),
    *("fe80::5efe:169.254.169.254", "2001:db8::5efe:a9fe:a9fe", "2001:db8::200:5efe:a9fe:1"),
    *("64:ff9b::100.100.100.200", "64:ff9b::192.0.0.192", "2002:6464:64c8::", "::192.0.0.192"),
    *("::ffff:100.100.100.200", "2002:c000:c0::", "::100.100.100.200"),
    # a prefix that only its network knows
    *("2001:db8:64::169.254.169.254", "2001:db8:64::192.0.0.192"),
    # with a zone, as a resolver may spell it
    *("fe80::1%lo", "fd00:ec2::254%1"),
    # link-local, multicast, unspecified
    *("169.254.0.1", "fe80::1", "224.0.0.1", "ff02::1", "0.0.0.0", "::", "::ffff:0.0.0.0"),
]
ASKED = [
    *("127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "192.168.1.1", "192.0.0.191"),
    *("100.100.100.201", "100.64.0.1", "93.184.216.34", "169.253.255.255", "169.255.0.0"),
    *("2606:2800:220:1::1", "fd00:ec2::255", "fd12::1", "64:ff9b::8.8.8.8", "2002:808:808::"),
    *("64:ff9b:1:808:8:800::", "2001:db8::a9fe:1", "2001:0:1:1::f7f7:f7f7"),
]
# How an address may be written in a URL; the C library reads each as 169.254.169.254 or its like.
SPELLED = [
    *("2852039166", "0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "169.254.43518"),
    *("169.16689662", "0x646464c8", "1684301000", "3221225664", "192.192"),
    *("::ffff:a9fe:a9fe", "0:0:0:0:0:ffff:a9fe:a9fe", "64:FF9B::A9FE:A9FE", "FD00:0EC2:0::0254"),
]


@pytest.mark.parametrize("address", REFUSED)
def test_refused(address: str) -> None:
    assert is_refused(address)


@pytest.mark.parametrize("address", ASKED)
def test_asked(address: str) -> None:
    assert not is_refused(address)


@pytest.mark.parametrize("spelled", SPELLED)
def test_every_spelling_of_a_refused_address_is_refused(spelled: str) -> None:
    found = socket.getaddrinfo(spelled, 80, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    assert [is_refused(str(each[4][0])) for each in found] == [True]
