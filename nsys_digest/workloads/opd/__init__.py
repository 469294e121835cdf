"""One step of on-policy distillation: a student writes, a teacher judges, the student learns."""
