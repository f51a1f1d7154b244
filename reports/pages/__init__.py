"""The static site: a leaderboard page and a page for each run. It needs no server, no network and no CDN.

Why Observable Plot (with D3, both ISC): it draws SVG that takes the page's own colours, so that dark mode,
print and screen readers need no second rendering; it evaluates no strings, so that a strict content security
policy holds; and both scripts together are a tenth of Plotly's 4.8 MB, which alone would break the size of a
page. They are kept in `assets/vendor` as published on npm.
"""

from hepbench.reports.pages.board_page import leaderboard_page
from hepbench.reports.pages.site import write_site

__all__ = ["leaderboard_page", "write_site"]
