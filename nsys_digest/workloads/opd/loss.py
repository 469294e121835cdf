"""What the student is taught by."""

from __future__ import annotations

from typing import Any


def distillation_loss(student_logits: Any, teacher_logits: Any) -> Any:
    """Return the Kullback-Leibler divergence of the student from the teacher, in nats, as the mean over positions.

    The sum over the vocabulary of ``p * (log p - log q)``, with the teacher's ``p`` and the student's ``q``, in
    float32. A mean over all elements times the size of the vocabulary is the same, with the operators of the log.
    """
    taught = teacher_logits.float().log_softmax(-1)
    learned = student_logits.float().log_softmax(-1)
    return (taught.exp() * (taught - learned)).mean() * student_logits.shape[-1]
