"""XML documents by the standard library: elements in namespaces, and text that XML can hold."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from fastapi import Response

#: Namespaces by their usual prefixes.
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

#: Characters that XML 1.0 cannot hold, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    r"""Return text with U+FFFD for each character that XML cannot hold.

    >>> clean("a\x00b")
    'a\ufffdb'
    """
    return _FORBIDDEN.sub("\ufffd", text)


def name(short: str) -> str:
    """Return a name with its namespace, as ElementTree has it.

    >>> name("xsi:nil"), name("id")
    ('{http://www.w3.org/2001/XMLSchema-instance}nil', 'id')
    """
    prefix, colon, local = short.rpartition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}" if colon else short


def element(
    tag: str, text: str | None = None, attributes: dict[str, str] | None = None
) -> ElementTree.Element:
    """Return an element; prefixes are those of ``NAMESPACES``."""
    found = ElementTree.Element(
        name(tag), {name(key): clean(value) for key, value in (attributes or {}).items()}
    )
    found.text = None if text is None else clean(text)
    return found


def child(
    parent: ElementTree.Element,
    tag: str,
    text: str | None = None,
    attributes: dict[str, str] | None = None,
) -> ElementTree.Element:
    """Return a new element at the end of another one."""
    found = element(tag, text, attributes)
    parent.append(found)
    return found


def xml_answer(root: ElementTree.Element) -> Response:
    """Return a document as an answer."""
    body = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return Response(body, media_type="text/xml")
