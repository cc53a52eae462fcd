"""Settings with which Sphinx makes the web page of the course: `make book` calls it.

Nothing here asks another site for anything: no font, no script, no picture.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for tools.book, when Sphinx is called by hand

project = "babygpt"
author = "babygpt contributors"
language = "en"
extensions = ["myst_nb", "tools.book.mathematics", "tools.book.head", "tools.book.search"]

# ---------------------------------------------------------------- what is read

nb_execution_mode = "off"  # tools.book has run the notebooks, and has recorded what moved in them
nb_ipywidgets_js = {}  # the scripts that would bring widgets to life would come from another site
nb_merge_streams = True
nb_render_markdown_format = "myst"  # exercises hold formulas, and their text is a cell's output
myst_enable_extensions = ["dollarmath", "html_image", "strikethrough"]
myst_heading_anchors = 4
myst_dmath_double_inline = False
smartquotes = False  # the course's own punctuation stands
suppress_warnings = ["myst.header"]  # the terms of the glossary stand two levels down
exclude_patterns = ["**.ipynb_checkpoints"]

# ---------------------------------------------------------------- what is written

html_theme = "furo"
html_baseurl = os.environ.get("BOOK_ADDRESS", "")  # of the start page, once published; ends with a slash
html_favicon = "static/favicon.svg"
html_static_path = ["static", "../babygpt_live/page/tokens.css"]
html_extra_path = ["moved"]  # pages at addresses that a lesson once had, which lead to its new one
html_css_files = ["tokens.css", "book.css", "pages.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("questions.js", "page.js")]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False  # LICENSE says it
html_use_index = False
html_domain_indices = False
html_permalinks_icon = "#"
html_scaled_image_link = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
