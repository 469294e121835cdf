"""A copy of an export without what identifies people and machines, and the search that shows that it is without."""
