"""Errors that the user can fix, with one sentence per problem. Escapes text for printing."""

import unicodedata


def printable(text):
    """Escapes control characters except tabs, so that the text cannot control the terminal."""
    return "".join(
        c if c == "\t" or unicodedata.category(c)[0] != "C" else ascii(c)[1:-1] for c in text
    )


class UserError(Exception):
    def __init__(self, *sentences):
        super().__init__("\n".join(sentences))
        self.sentences = list(sentences)
