"""A Hugging Face checkpoint folder, looked at before anything is loaded from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nsys_digest.workloads.errors import CheckpointInvalid
from nsys_digest.workloads.requirements import need_safetensors

_ADVICE = "give the folder of a Qwen3 checkpoint with config.json and *.safetensors"
_SIZES = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "vocab_size",
)


def check_checkpoint(folder: Path) -> None:
    """See that a folder has the configuration of a Qwen3 model and whole files of weights.

    Raises:
        CheckpointInvalid: something is missing, damaged, or of another model; says which file.

    """
    if not folder.is_dir():
        raise CheckpointInvalid(f"{folder}: this is no folder; {_ADVICE}")
    config = _json(folder / "config.json")
    if config.get("model_type") != "qwen3":
        raise CheckpointInvalid(
            f"{folder / 'config.json'}: the model is of type {str(config.get('model_type'))!r}, not 'qwen3'; {_ADVICE}"
        )
    for key in _SIZES:
        if type(config.get(key)) is not int or config[key] < 1:
            raise CheckpointInvalid(f"{folder / 'config.json'}: {key} is no whole number above 0; {_ADVICE}")
    for file in _weight_files(folder):
        _check_weights(file)


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointInvalid(f"{file}: cannot be read ({error.strerror or error}); {_ADVICE}") from None
    except (ValueError, RecursionError):
        raise CheckpointInvalid(f"{file}: this is no JSON; download the checkpoint again") from None
    if not isinstance(found, dict):
        raise CheckpointInvalid(f"{file}: this is no JSON object; download the checkpoint again")
    return found


def _weight_files(folder: Path) -> list[Path]:
    if (folder / "model.safetensors").is_file():
        return [folder / "model.safetensors"]
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        raise CheckpointInvalid(f"{folder}: there is no model.safetensors and no {index.name} in it; {_ADVICE}")
    places = _json(index).get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(name, str) for name in places.values()):
        raise CheckpointInvalid(f"{index}: there is no weight_map in it; download the checkpoint again")
    files = [folder / name for name in sorted(set(places.values()))]
    for file in files:
        if file.parent != folder or not file.is_file():
            raise CheckpointInvalid(f"{file}: {index.name} names this file and it is not in the folder; download it")
    return files


def _check_weights(file: Path) -> None:
    safetensors = need_safetensors()
    import safetensors as package

    try:
        with safetensors.safe_open(str(file), framework="pt") as weights:
            weights.keys()
    except (package.SafetensorError, OSError) as error:
        raise CheckpointInvalid(f"{file}: cannot be read ({error}); download it again") from None
