"""Addresses in configs and session files, checked when these are read: text of a host, and of a host with a port."""

from ipaddress import IPv4Address
from typing import Annotated

from pydantic import AfterValidator


def _host(text: str) -> str:
    try:
        IPv4Address(text)
    except ValueError as error:
        raise ValueError(f"host is {text!r}; allowed: an IPv4 address, such as 192.0.2.1") from error
    return text


def _end(text: str, min_port: int = 0) -> str:
    host, _, port = text.rpartition(":")
    try:
        is_one = not IPv4Address(host).is_unspecified and port.isascii() and port.isdigit() and min_port <= int(port) <= 65535
    except ValueError:
        is_one = False
    if not is_one:
        allowed = f"an IPv4 address other than 0.0.0.0 and a port of {min_port} to 65535, such as 192.0.2.1:7000"
        raise ValueError(f"address is {text!r}; allowed: {allowed}")
    return text


Host = Annotated[str, AfterValidator(_host)]
"""IPv4 address to bind; 0.0.0.0 is every one of this machine."""
End = Annotated[str, AfterValidator(_end)]
"""IPv4 address and port of one node; port 0 stands for a free one."""
Hop = Annotated[str, AfterValidator(lambda text: _end(text, 1))]
"""IPv4 address and port to which datagrams can be sent."""
