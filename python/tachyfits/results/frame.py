"""Frame: a page in the output of a notebook's cell."""

from __future__ import annotations

import html
from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """A page that notebooks show.

    Attributes
    ----------
    link
        Its address, for a browser.
    height
        In pixels of the screen.

    Examples
    --------
    >>> Frame("http://127.0.0.1:8000/", 600)._repr_html_()
    '<iframe src="http://127.0.0.1:8000/" title="tachyfits" width="100%" height="600" ...>...'
    """

    link: str
    height: int

    def _repr_html_(self) -> str:
        link = html.escape(self.link)
        return (
            f'<iframe src="{link}" title="tachyfits" width="100%" height="{self.height}" '
            f'allow="clipboard-write; fullscreen" frameborder="0"></iframe>'
            f'<p><a href="{link}" target="_blank" rel="noopener">Open in a window</a></p>'
        )
