"""Sphinx configuration; built with warnings as errors by ``make docs``."""

import hetopt

project = "hetopt"
author = "The hetopt authors"
copyright = "the hetopt authors"
version = release = hetopt.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
]
html_theme = "furo"
html_title = f"hetopt {release}"
exclude_patterns = ["_build", "jupyter_execute"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "amsmath", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# Notebooks are text files; they are run on every build, and one that fails fails the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
python_use_unqualified_type_names = True

copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# the pages are readable offline but for the typesetting of formulas
html_theme_options = {"navigation_with_keys": True}
