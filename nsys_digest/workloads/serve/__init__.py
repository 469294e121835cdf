"""An LLM serving loop: chunked prefill, speculative decode, per-layer embeddings in host memory, CUDA graphs."""
