"""What expressions know of networks and names: `ip('10.0.0.1').isLoopback()`, `url(x).getHost()`, `format.uuid()`.

`NETWORK` carries the functions out, `declarations` describes them to the checker. The library's own function `string`
takes no addresses, so an expression that makes a text of one does not compile.
Upstream: apiserver/pkg/cel/library/ip.go, cidr.go, urls.go and format.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network
from typing import Any, Final, NamedTuple

from bayplan.model.cel.network_values import CidrValue, IpValue, NamedFormat, UrlValue
from bayplan.model.cel.operators import Function, no_such_overload
from bayplan.model.cel.values import NONE, CelError, Declarations, OptionalValue
from bayplan.model.dns_names import dns1035_faults, label_faults, subdomain_faults
from bayplan.model.go_urls import UrlError, is_request_uri, parse_request_uri
from bayplan.model.ip_addresses import IpAddress
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.model.text_formats import is_base64, is_date, is_date_time, is_uuid

_BROADCAST: Final = IPv4Address("255.255.255.255")
#: Networks of both families, by what their addresses are for.
_LOOPBACK: Final = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_LINK_LOCAL: Final = (ip_network("169.254.0.0/16"), ip_network("fe80::/10"))
_MULTICAST: Final = (ip_network("224.0.0.0/4"), ip_network("ff00::/8"))


def _is_in(ip: IpAddress, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    return any(ip in network for network in networks)


def _is_link_local_multicast(ip: IpAddress) -> bool:
    if isinstance(ip, IPv4Address):
        return ip in IPv4Network("224.0.0.0/24")
    return ip.packed[0] == 0xFF and ip.packed[1] & 0x0F == 0x02


def _is_global_unicast(ip: IpAddress) -> bool:
    special = ip.is_unspecified or ip == _BROADCAST
    return not special and not _is_in(ip, (*_LOOPBACK, *_LINK_LOCAL, *_MULTICAST))


def _contains_ip(cidr: CidrValue, given: IpValue | str) -> bool:
    ip = IpValue.parse(given) if isinstance(given, str) else given
    return ip.ip in cidr.network


def _contains_cidr(cidr: CidrValue, given: CidrValue | str) -> bool:
    other = CidrValue.parse(given) if isinstance(given, str) else given
    return cidr.bits <= other.bits and other.ip in cidr.network


def _is_parsed(parse: Callable[[str], Any]) -> Function:
    def test(text: str) -> bool:
        try:
            parse(text)
        except CelError:
            return False
        return True

    return test


# ---------------------------------------------------------------- named formats


def _with_prefix(faults: Callable[[str], tuple[str, ...]]) -> Callable[[str], tuple[str, ...]]:
    """For what something will be appended to, which may therefore end in a dash."""

    def found(text: str) -> tuple[str, ...]:
        # Upstream: apimachinery/pkg/api/validation/generic.go maskTrailingDash (v1.36), which cuts two characters.
        return faults(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return found


def _unless(holds: Callable[[str], bool], fault: str) -> Callable[[str], tuple[str, ...]]:
    return lambda text: () if holds(text) else (fault,)


def _uri_faults(text: str) -> tuple[str, ...]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return (str(error),)
    return ()


FORMATS: Final = {
    one.name: one
    for one in (
        NamedFormat("dns1123Label", label_faults),
        NamedFormat("dns1123Subdomain", subdomain_faults),
        NamedFormat("dns1035Label", dns1035_faults),
        NamedFormat("qualifiedName", label_key_faults),
        NamedFormat("dns1123LabelPrefix", _with_prefix(label_faults)),
        NamedFormat("dns1123SubdomainPrefix", _with_prefix(subdomain_faults)),
        NamedFormat("dns1035LabelPrefix", _with_prefix(dns1035_faults)),
        NamedFormat("labelValue", label_value_faults),
        NamedFormat("uri", _uri_faults),
        NamedFormat("uuid", _unless(is_uuid, "does not match the UUID format")),
        NamedFormat("byte", _unless(is_base64, "invalid base64")),
        NamedFormat("date", _unless(is_date, "invalid date")),
        NamedFormat("datetime", _unless(is_date_time, "invalid datetime")),
    )
}


def _named(name: str) -> OptionalValue:
    return OptionalValue(True, FORMATS[name]) if name in FORMATS else NONE


def _validate(form: NamedFormat, text: str) -> OptionalValue:
    faults = form.faults(text)
    return OptionalValue(True, [*faults]) if faults else NONE


# ---------------------------------------------------------------- all of them

#: What values are in Python, by their names in CEL.
_TEXT, _TRUTH, _NUMBER, _OPTIONAL, _QUERY = "STRING", "BOOL", "INT", "DYN", "QUERY"
_IP, _CIDR, _URL, _FORMAT = "net.IP", "net.CIDR", "kubernetes.URL", "kubernetes.NamedFormat"
_PYTHON: Final[dict[str, type]] = {
    _TEXT: str,
    _IP: IpValue,
    _CIDR: CidrValue,
    _URL: UrlValue,
    _FORMAT: NamedFormat,
}


class _Overload(NamedTuple):
    """A function for certain types; a member has its target first."""

    name: str
    parameters: tuple[str, ...]
    result: str
    work: Callable[..., Any]
    is_member: bool = True


def _plain(name: str, parameter: str, result: str, work: Callable[..., Any]) -> _Overload:
    return _Overload(name, (parameter,), result, work, is_member=False)


_OVERLOADS: Final = (
    _plain("ip", _TEXT, _IP, IpValue.parse),
    _plain("isIP", _TEXT, _TRUTH, _is_parsed(IpValue.parse)),
    _plain("ip.isCanonical", _TEXT, _TRUTH, lambda text: str(IpValue.parse(text)) == text),
    _Overload("family", (_IP,), _NUMBER, lambda value: value.ip.version),
    _Overload("isUnspecified", (_IP,), _TRUTH, lambda value: value.ip.is_unspecified),
    _Overload("isLoopback", (_IP,), _TRUTH, lambda value: _is_in(value.ip, _LOOPBACK)),
    _Overload("isLinkLocalMulticast", (_IP,), _TRUTH, lambda value: _is_link_local_multicast(value.ip)),
    _Overload("isLinkLocalUnicast", (_IP,), _TRUTH, lambda value: _is_in(value.ip, _LINK_LOCAL)),
    _Overload("isGlobalUnicast", (_IP,), _TRUTH, lambda value: _is_global_unicast(value.ip)),
    _plain("cidr", _TEXT, _CIDR, CidrValue.parse),
    _plain("isCIDR", _TEXT, _TRUTH, _is_parsed(CidrValue.parse)),
    _Overload("containsIP", (_CIDR, _TEXT), _TRUTH, _contains_ip),
    _Overload("containsIP", (_CIDR, _IP), _TRUTH, _contains_ip),
    _Overload("containsCIDR", (_CIDR, _TEXT), _TRUTH, _contains_cidr),
    _Overload("containsCIDR", (_CIDR, _CIDR), _TRUTH, _contains_cidr),
    _Overload("ip", (_CIDR,), _IP, lambda value: IpValue(value.ip)),
    _Overload("prefixLength", (_CIDR,), _NUMBER, lambda value: value.bits),
    _Overload("masked", (_CIDR,), _CIDR, CidrValue.masked),
    _plain("url", _TEXT, _URL, UrlValue.parse),
    _plain("isURL", _TEXT, _TRUTH, is_request_uri),
    _Overload("getScheme", (_URL,), _TEXT, lambda value: value.url.scheme),
    _Overload("getHost", (_URL,), _TEXT, lambda value: value.url.host),
    _Overload("getHostname", (_URL,), _TEXT, lambda value: value.url.host_name),
    _Overload("getPort", (_URL,), _TEXT, lambda value: value.url.port),
    _Overload("getEscapedPath", (_URL,), _TEXT, lambda value: value.url.escaped_path),
    _Overload("getQuery", (_URL,), _QUERY, lambda value: value.url.query_values()),
    *(_Overload(f"format.{name}", (), _FORMAT, lambda known=known: known, False) for name, known in FORMATS.items()),
    _plain("format.named", _TEXT, _OPTIONAL, _named),
    _Overload("validate", (_FORMAT, _TEXT), _OPTIONAL, _validate),
)
_BY_NAME: Final[dict[str, list[_Overload]]] = {
    name: [one for one in _OVERLOADS if one.name == name] for name in dict.fromkeys(each.name for each in _OVERLOADS)
}


def _call(name: str) -> Function:
    def work(*values: Any) -> Any:
        for one in _BY_NAME[name]:
            if len(values) == len(one.parameters) and all(
                isinstance(value, _PYTHON[of]) for value, of in zip(values, one.parameters, strict=True)
            ):
                return one.work(*values)
        raise no_such_overload(name, *values)

    return work


NETWORK: Final[dict[str, Function]] = {name: _call(name) for name in _BY_NAME}


def declarations(types: Any) -> Declarations:
    """The functions for the checker, which cannot be told what an optional value holds."""
    known = {name: types.AbstractType(name) for name in (_IP, _CIDR, _URL, _FORMAT)}
    known |= {name: getattr(types, name) for name in (_TEXT, _TRUTH, _NUMBER, _OPTIONAL)}
    known[_QUERY] = types.Map(types.STRING, types.List(types.STRING))
    return [
        (name, [(one.is_member, [known[each] for each in one.parameters], known[one.result]) for one in overloads])
        for name, overloads in _BY_NAME.items()
    ]
