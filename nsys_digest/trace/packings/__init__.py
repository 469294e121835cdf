"""What a trace may be packed in or come by: each file unpacks one kind of it into a temporary folder."""
