"""How many of the recorded decisions of kube-scheduler bayplan makes, family by family: `make conformance`."""

from __future__ import annotations

import sys

from tests.parity.test_conformance import CASES, FAMILIES, assert_agrees, cases


def main() -> int:
    differing, total = [], 0
    sys.stdout.write(f"{'family':28}{'cases':>8}{'agree':>8}\n")
    for family in FAMILIES:
        agree = count = 0
        for case in cases(CASES / f"{family}.jsonl.xz"):
            count += 1
            try:
                assert_agrees(case)
                agree += 1
            except AssertionError:
                differing.append(case["scenario"]["id"])
        total += count
        sys.stdout.write(f"{family:28}{count:8,}{agree:8,}\n")
    sys.stdout.write(f"{'all':28}{total:8,}{total - len(differing):8,}\n")
    for name in differing:
        sys.stdout.write(f"differs: {name}\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
