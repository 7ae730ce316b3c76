"""XML documents by the standard library: elements with namespaces, and valid text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from fastapi import Response

#: Namespaces by prefix.
NAMESPACES = {
    "uws": "http://www.ivoa.net/xml/UWS/v1.0",
    "xlink": "http://www.w3.org/1999/xlink",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "vosi": "http://www.ivoa.net/xml/VOSICapabilities/v1.0",
    "avail": "http://www.ivoa.net/xml/VOSIAvailability/v1.0",
    "vod": "http://www.ivoa.net/xml/VODataService/v1.1",
}
for _prefix, _uri in NAMESPACES.items():
    ElementTree.register_namespace(_prefix, _uri)

#: Characters that XML 1.0 forbids, even if escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    r"""Replace each character that XML forbids by U+FFFD.

    >>> clean("a\x00b")
    'a\ufffdb'
    """
    return _FORBIDDEN.sub("\ufffd", text)


def name(short: str) -> str:
    """Expand the prefix of a name to ElementTree's notation.

    >>> name("xsi:nil"), name("id")
    ('{http://www.w3.org/2001/XMLSchema-instance}nil', 'id')
    """
    prefix, colon, local = short.rpartition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}" if colon else short


def element(
    tag: str, text: str | None = None, attributes: dict[str, str] | None = None
) -> ElementTree.Element:
    """Return a new element; prefixes in names refer to ``NAMESPACES``."""
    result = ElementTree.Element(
        name(tag), {name(key): clean(value) for key, value in (attributes or {}).items()}
    )
    result.text = None if text is None else clean(text)
    return result


def child(
    parent: ElementTree.Element,
    tag: str,
    text: str | None = None,
    attributes: dict[str, str] | None = None,
) -> ElementTree.Element:
    """Append a new element to a parent and return it."""
    result = element(tag, text, attributes)
    parent.append(result)
    return result


def xml_answer(root: ElementTree.Element) -> Response:
    """Return an answer with an XML document."""
    body = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return Response(body, media_type="text/xml")
