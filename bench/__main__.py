"""Run every benchmark and print one table: ``python -m bench [module …]``."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from bench.result import Result

HERE = Path(__file__).parent


def modules() -> list[str]:
    """Return the benchmarks there are: all modules beside this one that have a `main`."""
    names = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    return [name for name in names if hasattr(import_module(f"bench.{name}"), "main")]


def machine() -> str:
    """Describe the machine in a line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cores = f"{len(models)} cores, {models[0]}" if models else platform.machine()
    today = datetime.now(tz=UTC).date().isoformat()
    return f"{today}, {cores}, Python {platform.python_version()}"


def row(result: Result) -> str:
    """Write a result as a row of a Markdown table."""

    def figure(value: float) -> str:
        number = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"
        return f"{number} {result.unit}"

    target = "" if result.target is None else f"≤ {figure(result.target)}"
    missed = "" if result.met else " **missed**"
    return f"| {result.name} | {figure(result.value)}{missed} | {target} |"


def main() -> None:
    """Run the benchmarks named on the command line, else all; exit code 1 where a target fails."""
    print(f"{machine()}\n\n| what | measured | target |\n|---|---:|---:|", flush=True)
    met = True
    for name in sys.argv[1:] or modules():
        for result in import_module(f"bench.{name}").main():
            print(row(result), flush=True)
            met = met and result.met
    sys.exit(not met)


if __name__ == "__main__":
    main()
