"""What Streamlit runs for every visitor; the work is in `console.web.shell`, imported once."""

from console.web import shell

shell.run()
