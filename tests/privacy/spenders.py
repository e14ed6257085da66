"""Processes that spend on one ledger, for test_ledger.py: raced, or killed at random moments.

Run as a program of its own, which has no other thread and so may fork. Every spend is named
`<spender>-<number>`. A spender notes the name in a file before it asks ("asked") and again once
`spend` has returned ("spent"); both reach the operating system at once, so a kill can't lose them.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from stepladder.errors import BudgetError
from stepladder.privacy.accountant import Budget


def spend_on(budget: Budget, multiplier: float, spender: int, notes: Path, most: int) -> None:
    log = os.open(notes / f"{spender}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for number in range(most):
        name = f"{spender}-{number}"
        os.write(log, f"asked {name}\n".encode())
        try:
            budget.spend(multiplier, name)
        except BudgetError as error:
            # Anything but a plain refusal fails the test that reads these notes.
            refused = "Nothing was spent" in str(error)
            os.write(log, f"{'refused' if refused else 'broken'} {name} {error}\n".encode())
        else:
            os.write(log, f"spent {name}\n".encode())


def start(*work) -> int:
    child = os.fork()
    if child == 0:
        try:
            spend_on(*work)
            os._exit(0)
        finally:
            os._exit(1)
    return child


def race(budget: Budget, multiplier: float, notes: Path, processes: int, most: int) -> None:
    children = [start(budget, multiplier, i, notes, most) for i in range(processes)]
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)


def kill(budget: Budget, multiplier: float, notes: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    living = [start(budget, multiplier, i, notes, 10**9) for i in range(3)]
    for spender in range(3, 3 + kills):
        time.sleep(chance.uniform(0.0, 0.03))
        victim = living.pop(chance.randrange(len(living)))
        os.kill(victim, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(victim, 0)[1]) == signal.SIGKILL
        living.append(start(budget, multiplier, spender, notes, 10**9))
    for child in living:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


if __name__ == "__main__":
    deed, path, multiplier, notes, *numbers = sys.argv[1:]
    {"race": race, "kill": kill}[deed](
        Budget.open(path), float(multiplier), Path(notes), *map(int, numbers)
    )
