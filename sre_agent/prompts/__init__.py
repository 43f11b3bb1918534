"""The texts that the role gives to a model."""

from pathlib import Path

INSTRUCTIONS = (Path(__file__).parent / "instructions.md").read_text(encoding="utf-8")
