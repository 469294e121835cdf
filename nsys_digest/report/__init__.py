"""A document as blocks of words and numbers; the words live here, once."""
