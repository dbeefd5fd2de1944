"""What the user can put right: one sentence, or one for each thing that is wrong."""


class UserError(Exception):
    def __init__(self, *sentences):
        super().__init__("\n".join(sentences))
        self.sentences = list(sentences)
