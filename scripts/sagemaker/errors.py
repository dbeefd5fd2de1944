"""Errors that the user can fix: one sentence per problem."""


class UserError(Exception):
    def __init__(self, *sentences):
        super().__init__("\n".join(sentences))
        self.sentences = list(sentences)
