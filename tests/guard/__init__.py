"""A guard against slower code that counts instructions, which do not depend on what else the machine does."""
