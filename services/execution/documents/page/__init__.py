"""The document as one HTML page of its own: prose, code, outputs and answers, with nothing in it that runs."""

from services.execution.documents.page.page import page

__all__ = ["page"]
