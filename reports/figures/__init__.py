"""What the figures show, as plain data: the pages' scripts draw it, and the tables beside it say the same."""
