"""A page in the browser to look around in a space: state, counts, reasons, pages and server."""
