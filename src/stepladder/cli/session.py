"""A walk as a conversation: a line in, plain words out, until the goal is met or they leave."""

from __future__ import annotations

import math
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import typer

from stepladder.cli import Exit
from stepladder.cli.files import write_text
from stepladder.cli.results import uninterrupted
from stepladder.errors import ParameterError, StepladderError, listing, nearest
from stepladder.feature import Change, Feature, Numeric
from stepladder.methods.step import StEP
from stepladder.methods.walk import Offer, Walk
from stepladder.privacy.pay import PayPerDirection
from stepladder.space import Floats
from stepladder.view import words
from stepladder.view.why import why_not

PROMPT = "> "

HINT = "A number, happened, lock, unlock, why, history, save or quit; help says more."

HELP = """\
  2                     offer 2 was taken
  happened              something else happened: tell it feature by feature
  happened income=2350  or in one line, as many as there are
  lock income           income can't change; unlock income: it can after all
  offers                where they stand and what could come next, once more
  why                   why there's no route
  history               what happened so far
  save                  keep the walk in its file
  quit                  keep it and leave; so do Ctrl-D and Ctrl-C"""

THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


class Session:
    """A walk, what was offered last, and the file that keeps it.

    Where offers are paid for, they are made when asked for; else with every step.
    """

    def __init__(self, step: StEP, walk: Walk, file: Path | None) -> None:
        self.step, self.walk, self.file = step, walk, file
        self.space, self.goal = step.space_, step.scorer_.goal
        self.offers: list[Offer] | None = None
        """None until they are made from where the person is"""
        self.scripted = not sys.stdin.isatty()
        self.commands: dict[str, Callable[[str], None]] = {
            "happened": self.happened,
            "lock": self.lock,
            "unlock": self.unlock,
            "offers": self.show,
            "why": self.why,
            "history": self.history,
            "save": self.saved,
            "help": lambda _: typer.echo(HELP),
        }

    def run(self) -> Exit:
        """Talk until the goal is met or they leave, and say how that ended."""
        try:
            self.save()
            self.standing()
            self.next()
            # A script may go on after a yes: with a setback, or by asking for the history.
            while (self.scripted or not self.walk.done) and self.followed():
                pass
        except KeyboardInterrupt:
            typer.echo()
            self.leave("Stopped. ")
            return Exit.INTERRUPTED
        if self.walk.done:
            self.summary()
        self.leave()
        return Exit.NOBODY if self.offers == [] and not self.walk.done else Exit.OK

    def followed(self) -> bool:
        """Read a line and do as it says; False at the end of them."""
        try:
            line = self.read(PROMPT).strip()
            if line.lower() in ("quit", "exit"):
                return False
            self.do(line)
        except EOFError:
            if not self.scripted:
                typer.echo()
            return False
        except StepladderError as error:
            if self.scripted:  # what follows was meant for another place
                raise
            typer.echo(str(error), err=True)
        return True

    def do(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not line:
            if not self.scripted:
                self.show("")
        elif word.isdecimal() and not rest:
            self.take(int(word))
        elif word.lower() in self.commands:
            self.commands[word.lower()](rest.strip())
        elif "=" in line:
            self.happened(line)
        else:
            raise ParameterError(f"{line!r} isn't known.{nearest(word, self.commands)} {HINT}")

    def read(self, prompt: str) -> str:
        try:
            return input("" if self.scripted else prompt)
        except UnicodeDecodeError as error:
            raise ParameterError(f"That isn't text in {error.encoding}.") from error

    # ---- what happens ---------------------------------------------------------------------

    @contextmanager
    def event(self) -> Iterator[None]:
        """Something happens, and is kept: wholly, whatever keys are pressed."""
        with uninterrupted():
            yield
            self.offers = None
            self.save()

    def take(self, number: int) -> None:
        if self.walk.done:
            raise ParameterError("It's a yes already, so nothing more is offered.")
        if self.offers is None:
            raise ParameterError("Nothing was offered from here yet; ask for it: offers.")
        if not 1 <= number <= len(self.offers):
            most = len(self.offers)
            there = f"there are 1 to {most}" if most else "there are none from here"
            raise ParameterError(f"There is no offer {number}: {there}.")
        path = self.offers[number - 1].path
        with self.event():
            self.walk.take(path)
        self.next()

    def happened(self, rest: str) -> None:
        told = self.told(rest) if rest else self.asked()
        today = self.values
        after = today.copy()
        for place, value in told.items():
            after[0, place] = value
        if (after == today).all():
            typer.echo("Nothing is different from before.")
            return
        with self.event():
            self.walk.observe(self.space.to_frame(after))
        say(f"Noted: {self.moved(today, after)}.")
        self.next()

    def told(self, said: str) -> dict[int, float]:
        """What `feature=value …` says; words without a sign belong to the value before them."""
        try:
            parts = shlex.split(said)
        except ValueError as error:
            raise ParameterError(f"Can't read {said!r}: {error}.") from error
        pairs = list[str]()
        for part in parts:
            if "=" in part:
                pairs.append(part)
            elif pairs:
                pairs[-1] += f" {part}"
            else:
                raise ParameterError(f"Expected feature=value, such as income=2350; got {part!r}.")
        told = {}
        for pair in pairs:
            name, _, value = pair.partition("=")
            place = self.place(name)
            told[place] = self.value(place, value.rstrip(","))
        return told

    def asked(self) -> dict[int, float]:
        """What they say of each feature; of most of them, nothing."""
        typer.echo("What is it now? Enter for what hasn't changed.")
        told = {}
        for place, feature in enumerate(self.space.schema.features):
            now = words.value(feature, self.shown(self.values, place))
            while said := self.read(f"{feature.label} ({now}): ").strip():
                try:
                    told[place] = self.value(place, said)
                    break
                except ParameterError as error:
                    if self.scripted:
                        raise
                    typer.echo(str(error), err=True)
        return told

    def lock(self, name: str) -> None:
        feature = self.feature(name)
        with self.event():
            self.walk.lock(feature.name)
        typer.echo(f"Locked: {feature.label}.")
        self.next()

    def unlock(self, name: str) -> None:
        feature = self.feature(name)
        with self.event():
            self.walk.unlock(feature.name)
        typer.echo(f"No longer locked: {feature.label}.")
        self.next()

    # ---- what is said ---------------------------------------------------------------------

    def show(self, _: str) -> None:
        """Where they stand, and offers, paid for if need be."""
        self.standing()
        self.offer()

    def standing(self) -> None:
        """The person's row, in words."""
        features, values = self.space.schema.features, self.values
        width = max(len(feature.label) for feature in features)
        for place, feature in enumerate(features):
            never = " (can't change)" if feature.change is Change.NEVER else ""
            held = " (locked)" if feature.name in self.walk.locked else never
            value = words.value(feature, self.shown(values, place))
            typer.echo(f"  {feature.label:<{width}}  {value}{held}")

    def next(self) -> None:
        """Where that leads, unless it would cost something to say."""
        typer.echo()
        if isinstance(self.step.privacy, PayPerDirection) and not self.walk.done:
            typer.echo(self.scored)
            self.privacy()
            typer.echo("What could come next is paid for when you ask: offers.")
        else:
            self.offer()

    def offer(self) -> None:
        """The score, and what could come next, numbered."""
        if self.walk.done:
            return
        typer.echo(self.scored)
        before = self.step.guarantee()
        try:
            self.offers = self.walk.directions()
        finally:
            if before is not None:
                self.save()  # what was paid for is kept
        for number, made in enumerate(self.offers, 1):
            say(words.offer(made, self.space.schema, self.goal), f"{number:3}. ")
        if not self.offers:
            typer.echo("There's no route from here: why says what is in the way.")
        if before is not None:
            self.privacy()
        if not self.scripted:
            typer.echo(HINT)

    @property
    def scored(self) -> str:
        """'Score: 41%; a yes takes 75%.'"""
        return f"Score: {words.score(self.goal, self.walk.score)}; {self.takes}."

    @property
    def takes(self) -> str:
        return f"a yes takes {words.needed(self.goal)}"

    def privacy(self) -> None:
        guarantee = self.walk.privacy
        if guarantee is not None:
            say(f"Privacy: {guarantee.statement}.")

    def why(self, _: str) -> None:
        answer = why_not(self.step, self.walk.row, locked=self.walk.locked)
        for line in str(answer).splitlines():
            say(line)

    def history(self, _: str) -> None:
        before: Floats | None = None
        for number, event in enumerate(self.walk.history, 1):
            after = self.read_row(event["row"])
            did = {"start": "began", "take": "took", "observe": "happened"}
            what = did.get(event["event"], event["event"])
            if "feature" in event:
                what += f" {self.space.schema[event['feature']].label}"
            elif before is not None:
                what += f": {self.moved(before, after) or 'nothing new'}"
            say(f"{what} (score {words.score(self.goal, event['score'])})", f"{number:3}. ")
            before = after

    def summary(self) -> None:
        """What it took."""
        first = self.read_row(self.walk.history[0]["row"])
        steps = sum(event["event"] in ("take", "observe") for event in self.walk.history)
        say(f"That's a yes: the score is {words.score(self.goal, self.walk.score)}; {self.takes}.")
        if moved := self.moved(first, self.values):
            say(f"In {words.counted(steps, 'step')}: {moved}.")
        else:
            typer.echo("Nothing needs to change.")

    # ---- the file -------------------------------------------------------------------------

    def save(self) -> None:
        if self.file is not None:
            write_text(self.walk.to_json() + "\n", self.file)

    def saved(self, _: str) -> None:
        if self.file is None:
            raise ParameterError("There's no file to keep the walk in: begin it with --save FILE.")
        self.save()
        typer.echo(f"Kept in {self.file}.")

    def leave(self, how: str = "") -> None:
        with uninterrupted():
            self.save()
        later = "" if self.walk.done else f"; go on with --resume {self.file}"
        kept = f"The walk is kept in {self.file}{later}." if self.file else "Nothing was kept."
        typer.echo(f"{how}{kept}", err=True)

    # ---- values ---------------------------------------------------------------------------

    @property
    def values(self) -> Floats:
        """(1, features) where the person stands."""
        return self.space.read(self.walk.row)

    def read_row(self, row: dict[str, Any]) -> Floats:
        return self.space.read(pd.DataFrame({name: [cell] for name, cell in row.items()}))

    def shown(self, values: Floats, place: int) -> Any:
        return self.space.shown(place, float(values[0, place]))

    def moved(self, before: Floats, after: Floats) -> str:
        """What is different, and isn't asked of anybody any more."""
        said = []
        for place, feature in enumerate(self.space.schema.features):
            was, now = (words.value(feature, self.shown(v, place)) for v in (before, after))
            if before[0, place] != after[0, place]:
                said.append(f"{feature.label} from {was} to {now}")
        return "; ".join(said)

    def place(self, name: str) -> int:
        """The feature of a name or label, however its letters are written."""
        said = name.strip().strip("\"'").casefold()
        for place, feature in enumerate(self.space.schema.features):
            if said in (feature.name.casefold(), feature.label.casefold()):
                return place
        return self.space.schema.position(name.strip())

    def feature(self, name: str) -> Feature:
        if not name:
            raise ParameterError(
                f"Which feature? There are {listing(self.space.schema.names, most=20)}."
            )
        return self.space.schema.features[self.place(name)]

    def value(self, place: int, said: str) -> float:
        """A value as it's shown, and as rows have it."""
        feature = self.space.schema.features[place]
        if isinstance(feature, Numeric):
            now = words.value(feature, self.shown(self.values, place))
            return number(feature, said, now)
        levels = feature.levels or ()
        for same in (str, str.casefold):
            for code, level in enumerate(levels):
                if same(said.strip()) in (same(str(level)), same(words.value(feature, level))):
                    return float(code)
        raise ParameterError(
            f"{feature.label} is one of {listing(map(str, levels), most=20)}; got {said!r}."
            f"{nearest(said, levels)}"
        )


def number(feature: Numeric, said: str, now: str) -> float:
    """A number as people write it, in the unit it's shown in.

    >>> number(Numeric("income", unit="$ a month"), "$3,200", "$3,000 a month")
    3200.0
    >>> number(Numeric("share", percent=True), "35%", "40%")
    0.35
    """
    text = said.replace("−", "-")
    for part in ("%", *feature.unit.split(" ", 1)):
        text = text.replace(part, "") if part else text
    text = text.strip()
    text = text.replace(",", "") if THOUSANDS.fullmatch(text) else text
    try:
        raw = float(Decimal(text) / Decimal(str(100 if feature.percent else feature.times)))
    except ArithmeticError:
        raw = math.nan
    if not math.isfinite(raw):
        raise ParameterError(f"{feature.label} is a number, now {now}; got {said!r}.")
    if feature.integer and not raw.is_integer():
        raise ParameterError(f"{feature.label} is a whole number, now {now}; got {said!r}.")
    return raw


def say(text: str, lead: str = "") -> None:
    """A paragraph, its lines after the first indented to where it began."""
    typer.echo(
        textwrap.fill(
            text,
            words.WIDTH,
            initial_indent=lead,
            subsequent_indent=" " * len(lead),
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
