"""Sphinx makes the reference of pymollify from its docstrings."""
import pymollify

project = "pymollify"
version = release = pymollify.__version__
extensions = ["sphinx.ext.autodoc"]
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "description": "Blurs arrays at the speed of memory, with an error that you set"}
autodoc_typehints = "signature"
autodoc_mock_imports = ["torch"]
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}
maximum_signature_line_length = 80
nitpicky = False
