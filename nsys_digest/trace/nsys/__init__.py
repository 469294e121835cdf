"""The only place with the table, column and enum names of nsys."""
