"""Where there is no vLLM, or one of another shape, nothing is changed and the answer says why."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.ownership._child import output

without_vllm = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here"
)


@without_vllm
def test_without_vllm_nothing_is_hardened() -> None:
    lines = output("""
        import engine
        found = engine.harden()
        print(bool(found), found.version == "", found.missed, found.replaced)
        print(engine.restore(), engine.harden() == found)
    """)
    assert lines == ["False True ('an installed vLLM',) ()", "True True"]


@without_vllm
def test_a_vllm_of_another_shape_is_not_changed_and_what_it_lacks_is_logged(tmp_path: Path) -> None:
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "__init__.py").touch()
    metadata = tmp_path / "vllm-99.1.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 99.1\n", encoding="utf-8")
    lines = output(f"""
        import logging, sys
        sys.path.insert(0, {str(tmp_path)!r})
        logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(name)s %(message)s")
        import engine
        found = engine.harden()
        print(bool(found), found.version, found.replaced, len(found.missed))
        print(engine.restore())
    """)
    assert lines[0].startswith("WARNING engine vLLM 99.1 was not hardened: it lacks an import that works")
    assert lines[0].endswith("Nothing was changed.")
    assert lines[1:] == ["False 99.1 () 1", "True"]


def test_importing_engine_imports_nothing_heavy() -> None:
    lines = output("""
        import sys
        import engine
        print([name for name in ("torch", "vllm", "numpy", "psutil", "asyncio") if name in sys.modules])
    """)
    assert lines == ["[]"]
