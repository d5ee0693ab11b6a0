"""The document as one self-contained HTML page: prose, code, outputs and answers, without any scripts."""

from services.execution.documents.page.page import page

__all__ = ["page"]
