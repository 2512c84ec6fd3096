"""A release, built and tried where there is nothing but its wheel: no checkout, no compiler, an empty home.

The environment gets the dependencies of this one, which are the locked ones; bayplan itself comes from the wheel.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from tests.conftest import REPOSITORY_ROOT

from bayplan import __version__
from bayplan.core.columns import loops

#: What a release does not need.
LEFT_OUT = (".ci/", ".github/", ".gitignore", ".editorconfig")
PROJECT = tomllib.loads((REPOSITORY_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: whoever builds writes beside the sources."""
    if not loops.compiled:
        pytest.skip(
            "a wheel of a release has compiled loops, and there was no C compiler when the package was installed"
        )
    copy, folder = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in tracked_files():
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY_ROOT / name, target)
    command = [sys.executable, "deploy/distributions.py", str(folder), "https://files.example/releases/"]
    built = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def tracked_files() -> list[str]:
    """Those of git; of a release, which has no git, all that is there."""
    if not (REPOSITORY_ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout: there is no list of the files that belong to the project")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPOSITORY_ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (REPOSITORY_ROOT / name).is_file()]


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel."""

    environment: Path
    home: Path

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        kubectl = Path(shutil.which("kubectl") or "/usr/bin/kubectl").parent
        path = f"{self.environment / 'bin'}:{kubectl}:/usr/bin:/bin"
        variables = {"PATH": path, "HOME": str(self.home), "CC": "/bin/false"}
        return subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.home, env=variables, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def installed(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    environment, home = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("home")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    paths = sysconfig.get_paths(vars={"base": str(environment), "platbase": str(environment)})
    # Only on the path: this environment's own bayplan is found by a .pth file, which is not read there.
    Path(paths["purelib"], "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    (wheel,) = release.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    return Installed(environment, home)


@pytest.mark.slow
def test_the_wheel_is_for_all_pythons_and_distributions(release: Path) -> None:
    (wheel,) = release.glob("*.whl")
    assert re.fullmatch(rf"bayplan-{__version__}-cp311-abi3-.*manylinux_2_\d+_\w+\.whl", wheel.name)
    names = zipfile.ZipFile(wheel).namelist()
    assert "bayplan/core/columns/_loops.abi3.so" in names
    assert "bayplan/cli/demo_data/cluster.yaml" in names
    assert f"bayplan-{__version__}.data/data/share/man/man1/bayplan.1" in names
    assert not [name for name in names if name.endswith(".c") or name.startswith("tests/")]


@pytest.mark.slow
def test_the_sources_are_complete(release: Path) -> None:
    with tarfile.open(release / f"bayplan-{__version__}.tar.gz") as archive:
        packed = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    assert {name for name in tracked_files() if not name.startswith(LEFT_OUT)} - packed == set()


@pytest.mark.slow
def test_the_plugin_of_krew(release: Path, tmp_path: Path) -> None:
    manifest = yaml.safe_load((release / "bayplan.krew.yaml").read_text(encoding="utf-8"))
    (platform,) = manifest["spec"]["platforms"]
    archive = release / platform["uri"].rpartition("/")[2]
    assert platform["uri"].startswith("https://files.example/releases/kubectl-bayplan-")
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    script = tmp_path / platform["bin"]
    assert os.access(script, os.X_OK)
    assert f"VERSION={__version__}\n" in script.read_text(encoding="utf-8")
    nothing = {"PATH": str(tmp_path / "empty")}  # a machine may have uv or pipx
    alone = subprocess.run(["/bin/sh", script], env=nothing, capture_output=True, text=True, check=False)
    assert (alone.returncode, "pip install bayplan" in alone.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("bayplan version", f"bayplan {__version__}, decides like kube-scheduler v1.36 or v1.37\n"),
        ("python -c 'import bayplan; print(bayplan.__file__)'", "{environment}"),
        ("bayplan demo", "shop/fraud-check"),
        ("kubectl-bayplan explain -h", "Usage: bayplan explain"),
        ("kubectl_complete-bayplan expl", "explain"),
        ("python -c 'from bayplan.core.columns import loops; print(loops.compiled)'", "_loops.abi3.so"),
    ],
)
def test_it_works_where_only_the_wheel_is(installed: Installed, command: str, said: str) -> None:
    found = installed.run(command)
    assert (found.returncode, found.stderr) == (0, "")
    assert said.format(environment=installed.environment) in found.stdout


FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
README = (REPOSITORY_ROOT / "README.md").read_text(encoding="utf-8")
INSTALLS = "pip install bayplan"


@pytest.mark.slow
def test_every_command_of_the_readme(installed: Installed) -> None:
    """Word by word and in order; `installed` has done what the first one says."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    blocks = FENCED.findall(README)
    lines = [line.split("  #")[0].strip() for language, text in blocks if not language for line in text.splitlines()]
    assert lines[0].startswith(INSTALLS)
    reporting = 'export BAYPLAN_LISTEN=127.0.0.1:0; run() { "$@"; echo "exit $? of $*"; }'
    waiting = "until [ -s demo.kubeconfig ]; do sleep 0.1; done"
    script = [reporting]
    for line in lines[1:]:
        in_background, exports = line.endswith("&"), line.startswith("export ")
        script += [line, waiting] if in_background else [line if exports else f"run {line}"]
    found = installed.run("\n".join([*script, "kill $!; wait"]))
    codes = dict(re.findall(r"^exit (\d+) of (.*)$", found.stdout, re.MULTILINE)[::-1])
    ended = [line for line in lines[1:] if not line.endswith("&") and not line.startswith("export ")]
    assert len(re.findall(r"^exit \d+ of ", found.stdout, re.MULTILINE)) == len(ended)
    assert set(codes) <= {"0", "1"}, found.stdout + found.stderr
    assert "Traceback" not in found.stderr
    assert "deployment.apps/web created" in found.stdout
    assert (installed.home / "hour.html").stat().st_size > 10_000
    (code,) = [text for language, text in blocks if language == "python"]
    (installed.home / "readme.py").write_text(code, encoding="utf-8")
    said = installed.run("python readme.py")
    assert (said.returncode, said.stderr) == (0, "")
    assert "['node-2']" in said.stdout


@pytest.mark.slow
def test_every_command_of_the_install_page(installed: Installed) -> None:
    page = (REPOSITORY_ROOT / "docs" / "guide" / "install.md").read_text(encoding="utf-8")
    blocks = [text for language, text in FENCED.findall(page) if not language]
    lines = [line.split("  #")[0].strip() for text in blocks for line in text.splitlines()]
    assert lines[0].startswith(INSTALLS)
    outcomes = {line: installed.run(line) for line in lines[1:]}
    assert {line: found.stderr for line, found in outcomes.items() if found.returncode or found.stderr} == {}
    assert "kind: ClusterRoleBinding" in (installed.home / "reader.yaml").read_text(encoding="utf-8")
    assert ".TH BAYPLAN 1" in (installed.home / "bayplan.1").read_text(encoding="utf-8")
    assert (installed.home / "bayplan.bash").stat().st_size > 100


def imported_modules() -> set[str]:
    """The top-level modules that the package imports, wherever it does."""
    found: set[str] = set()
    for path in (REPOSITORY_ROOT / "src" / "bayplan").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - {"bayplan"}


def test_what_is_imported_is_required_and_what_is_required_is_imported() -> None:
    extras = {name: texts for name, texts in PROJECT["optional-dependencies"].items() if name != "dev"}
    optional = {canonicalize_name(Requirement(text).name) for texts in extras.values() for text in texts}
    optional.add(canonicalize_name("pytest"))  # which loads the plugin for it
    required = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    providers = packages_distributions()
    imported = {canonicalize_name(name) for module in imported_modules() for name in providers.get(module, [module])}
    assert imported - optional == required


def test_the_oldest_python_can_install_every_locked_version() -> None:
    oldest = PROJECT["requires-python"].removeprefix(">=") + ".0"
    lock = (REPOSITORY_ROOT / "requirements.lock").read_text(encoding="utf-8")
    names = re.findall(r"^([A-Za-z0-9._-]+)==", lock, flags=re.MULTILINE)
    requires = {name: distribution(name).metadata.json.get("requires_python") or "" for name in names}
    assert names
    assert {name: required for name, required in requires.items() if oldest not in SpecifierSet(str(required))} == {}


def test_one_version() -> None:
    chart = yaml.safe_load((REPOSITORY_ROOT / "deploy/helm/bayplan/Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
    base = (REPOSITORY_ROOT / "deploy/kustomize/base/bayplan.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"app\.kubernetes\.io/version: (\S+)|image: bayplan:(\S+)", base)) == {
        (__version__, ""),
        ("", __version__),
    }
    changes = (REPOSITORY_ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{__version__}] - 20" in changes
