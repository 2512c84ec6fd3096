"""Addresses, networks, URLs and named formats in expressions; examples are those of upstream's documentation."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.cel.environment import new_environment
from bayplan.model.cel.evaluation import compile_tree
from bayplan.model.cel.syntax import decode
from bayplan.model.cel.values import CelError

ENVIRONMENT = new_environment(lambda types, _quantity: {"self": types.DYN})


def value(expression: str, variable: Any = None) -> Any:
    return compile_tree(decode(ENVIRONMENT.compile(expression).serialize()))({"self": variable})


@pytest.mark.parametrize(
    "expression",
    [
        "isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.256') && !isIP(':::1') && !isIP('01.2.3.4')",
        "!isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
        "ip.isCanonical('127.0.0.1') && ip.isCanonical('2001:db8::abcd')",
        "!ip.isCanonical('2001:DB8::ABCD') && !ip.isCanonical('2001:db8::0:0:0:abcd')",
        "ip('127.0.0.1').family() == 4 && ip('::1').family() == 6",
        "ip('0.0.0.0').isUnspecified() && ip('::').isUnspecified() && !ip('127.0.0.1').isUnspecified()",
        "ip('127.255.0.1').isLoopback() && ip('::1').isLoopback() && !ip('128.0.0.1').isLoopback()",
        "!ip('2001:db8::abcd').isLoopback()",
        "ip('224.0.0.255').isLinkLocalMulticast() && !ip('224.0.1.1').isLinkLocalMulticast()",
        "ip('ff02::1').isLinkLocalMulticast() && ip('ff12::1').isLinkLocalMulticast()",
        "!ip('fd02::1').isLinkLocalMulticast() && !ip('ff01::1').isLinkLocalMulticast()",
        "ip('169.254.169.254').isLinkLocalUnicast() && !ip('192.168.0.1').isLinkLocalUnicast()",
        "ip('fe80::1').isLinkLocalUnicast() && !ip('fd80::1').isLinkLocalUnicast()",
        "ip('192.168.0.1').isGlobalUnicast() && ip('2001:db8::abcd').isGlobalUnicast()",
        "!ip('255.255.255.255').isGlobalUnicast() && !ip('ff00::1').isGlobalUnicast()",
        "!ip('0.0.0.0').isGlobalUnicast() && !ip('127.0.0.1').isGlobalUnicast() && !ip('239.0.0.1').isGlobalUnicast()",
        "ip('2001:db8::0:1') == ip('2001:DB8::1') && ip('10.0.0.1') != ip('10.0.0.2')",
        "isCIDR('192.168.0.0/16') && isCIDR('::1/128') && !isCIDR('192.168.0.0/33') && !isCIDR('::1/129')",
        "!isCIDR('::ffff:1.2.3.4/96') && !isCIDR('10.0.0.0')",
        "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && !cidr('192.168.0.0/24').containsIP('192.168.1.1')",
        "!cidr('192.168.0.0/24').containsIP('::1')",
        "cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))",
        "!cidr('192.168.1.0/24').containsCIDR('192.168.2.0/24') && !cidr('10.0.0.0/16').containsCIDR('10.0.0.0/8')",
        "cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8') && !cidr('10.0.0.0/8').containsCIDR('::/64')",
        "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && cidr('::1/128').ip().family() == 6",
        "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24')",
        "cidr('192.168.0.1/24') != cidr('192.168.0.1/24').masked()",
        "cidr('192.168.0.0/16').prefixLength() == 16",
        "isURL('https://user:pass@example.com:80/path?query=val#fragment') && isURL('/absolute-path')",
        "!isURL('https://a:b:c/') && !isURL('../relative-path')",
        "url('/path').getScheme() == '' && url('https://example.com/').getScheme() == 'https'",
        "url('https://example.com:80/').getHost() == 'example.com:80' && url('https://[::1]/').getHost() == '[::1]'",
        "url('https://[::1]:80/').getHostname() == '::1' && url('/path').getHostname() == ''",
        "url('https://example.com:80/').getPort() == '80' && url('https://example.com/').getPort() == ''",
        "url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/'",
        "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
        "url('https://example.com/path?').getQuery() == {}",
        "url('/a') == url('/a') && url('/a') != url('/b')",
        "!format.dns1123Label().validate('my-label-name').hasValue()",
        "format.dns1123Label().validate('a.b').value() == ['must not contain dots']",
        "format.dns1123Subdomain().validate('A').hasValue() && !format.dns1123Subdomain().validate('a.b').hasValue()",
        "format.dns1035Label().validate('1a').hasValue() && !format.dns1035Label().validate('a1').hasValue()",
        "format.qualifiedName().validate('a/b/c').hasValue() && !format.qualifiedName().validate('a.io/b').hasValue()",
        "!format.dns1123LabelPrefix().validate('my-label-').hasValue()",
        "format.dns1123Label().validate('my-label-').hasValue()",
        "format.dns1123LabelPrefix().validate('-').hasValue()",
        "!format.dns1123SubdomainPrefix().validate('mysubdomain.prefix.-').hasValue()",
        "!format.dns1035LabelPrefix().validate('my-label-').hasValue()",
        "format.labelValue().validate('-').hasValue() && !format.labelValue().validate('').hasValue()",
        "format.uri().validate('a').value() == ['parse \"a\": invalid URI for request']",
        "!format.uri().validate('http://example.com').hasValue()",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
        "format.uuid().validate('x').value() == ['does not match the UUID format']",
        "!format.byte().validate('aGVsbG8=').hasValue() && format.byte().validate('!').value() == ['invalid base64']",
        "!format.date().validate('2021-01-01').hasValue() && format.date().validate('x').value() == ['invalid date']",
        "!format.datetime().validate('2021-01-01T00:00:00Z').hasValue()",
        "format.datetime().validate('x').value() == ['invalid datetime']",
        "format.named('uuid').value() == format.uuid() && !format.named('email').hasValue()",
        "type(dyn(ip('1.2.3.4'))) == type(dyn(ip('::1'))) && string(dyn(cidr('10.0.0.1/8'))) == '10.0.0.1/8'",
    ],
)
def test_what_holds(expression: str) -> None:
    assert value(expression) is True


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("ip('1')", 'IP Address "1" parse error during conversion from string: ParseAddr("1"): unable to parse IP'),
        ("ip('fe80::1%a')", 'IP address "fe80::1%a" with zone value is not allowed'),
        ("ip.isCanonical('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        (
            "cidr('1')",
            "network address parse error during conversion from string: network address parse error during conversion "
            "from string: netip.ParsePrefix(\"1\"): no '/'",
        ),
        (
            "cidr('::ffff:1.2.3.4/96')",
            "network address parse error during conversion from string: IPv4-mapped IPv6 address "
            '"::ffff:1.2.3.4/96" is not allowed',
        ),
        ("url('a')", 'URL parse error during conversion from string: parse "a": invalid URI for request'),
        ("cidr('10.0.0.0/8').containsIP('x')", 'IP Address "x" parse error'),
        ("ip(dyn(1)) == ip('::1')", "no such overload: ip(int)"),
        ("dyn(ip('::1')) == dyn('::1')", "no such overload"),
    ],
)
def test_what_fails(expression: str, why: str) -> None:
    with pytest.raises(CelError) as caught:
        value(expression)
    assert str(caught.value).startswith(why)
