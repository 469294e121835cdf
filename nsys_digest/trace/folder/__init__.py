"""The folder that ``nsys export --type parquetdir`` or ``arrowdir`` makes: a file a table, as a container."""
