"""A walk as a conversation: a line in, plain words out, until they leave."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import numpy as np
import pandas as pd
import typer

from stepladder.cli import Exit, typed
from stepladder.cli.progress import working
from stepladder.errors import ParameterError, StepladderError, nearest
from stepladder.files import uninterrupted, write_text
from stepladder.methods.step import StEP
from stepladder.methods.step.why import why_not
from stepladder.methods.walk import Walk
from stepladder.numbers import exact
from stepladder.result.offer import Asked, Offer
from stepladder.table import frames
from stepladder.table.amounts import within
from stepladder.table.feature import Change, Derived, Feature
from stepladder.table.frames import Frame
from stepladder.table.rules.links import changed
from stepladder.table.space import Floats
from stepladder.words import plans as words

PROMPT = "> "

NARROWEST = 40
"""Columns that a line has at least."""

HINT = "Say an offer's number, happened, lock, limit, hard, why, history, save, quit or help."

DONE = "Say quit; or happened, if something is otherwise after all."

HELP = {
    "1, take 1": "offer 1 was taken",
    "happened": "something else happened; you are asked feature by feature",
    "happened {example}": "the same in one line, as values are shown; = and quotes may be used, "
    "and commas go between: {signs}",
    "lock {label}": "that can't change; unlock {label}: it can after all",
    "limit {limit}": "it can't go below that, or above a second value in place of -; - - lifts the "
    "limits",
    "hard {label} 3": "that is three times as hard for them as for others; "
    "hard {label} 1: it's as hard as usual",
    "offers": "where they stand and what could come next, once more",
    "why": "why there's no route",
    "history": "what happened so far",
    "save": "keep the walk in its file",
    "quit": "keep it and leave; so do Ctrl-D and Ctrl-C",
}
"""What can be said, and what it means; examples are put in."""

INDENT = 14
"""Columns before what a command means."""

DID = {
    "start": "began",
    "take": "took",
    "observe": "happened",
    "lock": "locked",
    "unlock": "unlocked",
    "limit": "limited",
    "difficulty": "hard",
}
"""What each event is called in the history."""

OFFER = re.compile(r"(?:take\s+)?(?:offer\s+)?#?(\d{1,6})\.?", re.IGNORECASE)


class Session:
    """A walk, what was offered last, and the file that keeps it.

    Where offers are paid for, they are made when asked for; else with every step.
    """

    def __init__(self, step: StEP, walk: Walk, file: Path | None) -> None:
        self.step, self.walk, self.file = step, walk, file
        self.space, self.goal = step.space_, step.scorer_.goal
        self.values = self.row_now()
        """(1, features) where the person stands"""
        self.offers: list[Offer] | None = None
        """None until they are made from where the person is"""
        self.scripted = sys.stdin is None or not sys.stdin.isatty()
        self.commands: dict[str, Callable[[str], None]] = {
            "take": self.take,
            "happened": self.happened,
            "lock": self.lock,
            "unlock": self.unlock,
            "limit": self.limit,
            "hard": self.hard,
            "offers": self.show,
            "why": self.why,
            "history": self.history,
            "save": self.saved,
            "help": self.help,
        }

    def run(self) -> Exit:
        """Talk until they leave, and say how that ended."""
        try:
            self.save()
            self.standing()
            self.next()
            while self.followed():  # also after a yes, which may have been a slip
                pass
        except KeyboardInterrupt:
            typer.echo()
            self.leave("Stopped. ")
            return Exit.INTERRUPTED
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
            if self.scripted:  # what follows was meant for another situation
                raise
            say(str(error), err=True)
        return True

    def do(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not line:
            if not self.scripted:
                self.show("")
        elif OFFER.fullmatch(line):
            self.take(line)
        elif word.lower() in self.commands:
            self.commands[word.lower()](rest.strip())
        elif "=" in line or typed.begins_with_feature(self.space.schema, line):
            self.happened(line)
        else:
            raise ParameterError(f"{line!r} isn't known.{nearest(word, self.commands)} {HINT}")

    def read(self, prompt: str) -> str:
        if sys.stdin is None:  # closed before the program began
            raise EOFError
        try:
            return input("" if self.scripted else prompt)
        except UnicodeDecodeError as error:
            raise ParameterError(f"That isn't text in {error.encoding}.") from error

    # ---- what happens ---------------------------------------------------------------------

    @contextmanager
    def event(self) -> Iterator[None]:
        """Something happens, and all of it is kept, whatever keys are pressed."""
        with uninterrupted():
            yield
            self.values, self.offers = self.row_now(), None
            self.save()

    def take(self, line: str) -> None:
        if self.walk.done:
            raise ParameterError("It's a yes already, so nothing more is offered.")
        if self.offers is None:
            raise ParameterError("Nothing was offered from here yet; ask for it: offers.")
        most, number = len(self.offers), OFFER.fullmatch(line)
        there = f"there are 1 to {most}" if most > 1 else "there is only offer 1"
        if not most:
            raise ParameterError("There are no offers from here; why says what is in the way.")
        if number is None:
            raise ParameterError(f"Which offer was taken? Such as: take 1; {there}.")
        if not 1 <= int(number[1]) <= most:
            raise ParameterError(f"There is no offer {int(number[1])}: {there}.")
        path, before = self.offers[int(number[1]) - 1].path, self.values
        with self.event():
            self.walk.take(path)
        self.say_moved("Taken", before)
        self.next()

    def happened(self, rest: str) -> None:
        changes = dict(self.from_line(rest) if rest else self.one_by_one())
        today = self.values
        after = today.copy()
        for index, value in changes.items():
            after[0, index] = value
        if not changed(after, today).any():
            typer.echo("Nothing is different from before.")
            return
        with self.event():
            self.walk.observe(self.without_derived(after, changes))
        self.say_moved("Noted", today)
        self.next()

    def without_derived(self, values: Floats, told: Container[int]) -> Frame:
        """A row less what follows from the rest of it, unless they told it."""
        schema = self.space.schema
        derived = [f.name for f in schema.derived if schema.position(f.name) not in told]
        return frames.read(self.space.to_frame(values)).drop(derived).to_native()

    def from_line(self, line: str) -> Iterator[tuple[int, float]]:
        """The features that a line names, and their values."""
        for index, value in typed.pairs(self.space.schema, line):
            yield index, self.read_value(index, value)

    def one_by_one(self) -> Iterator[tuple[int, float]]:
        """What they answer when asked for each feature; for most of them, nothing."""
        typer.echo("What is it now? Enter for what hasn't changed.")
        for index, feature in enumerate(self.space.schema.features):
            if isinstance(feature, Derived):  # it comes along
                continue
            while answer := self.read(f"{feature.label} ({self.now(index)}): ").strip():
                try:
                    yield index, self.read_value(index, answer)
                    break
                except ParameterError as error:
                    if self.scripted:
                        raise
                    say(str(error), err=True)

    def lock(self, line: str) -> None:
        for feature in self.named(line):
            with self.event():
                self.walk.lock(feature.name)
            typer.echo(f"Locked: {feature.label}.")
        self.next()

    def unlock(self, line: str) -> None:
        features = self.named(line)
        for feature in features:
            if feature.name not in self.walk.locked:
                labels = [self.space.schema[name].label for name in self.walk.locked]
                locked = f"only {words.listed(labels)}" if labels else "nothing is"
                raise ParameterError(f"{feature.label} isn't locked; {locked}.")
        for feature in features:
            with self.event():
                self.walk.unlock(feature.name)
            typer.echo(f"No longer locked: {feature.label}.")
        self.next()

    def limit(self, line: str) -> None:
        if not line:
            raise ParameterError("Which feature, and from where to where? help has an example.")
        given = [
            (self.space.schema.features[index], *self.read_ends(index, text))
            for index, text in typed.pairs(self.space.schema, line)
        ]
        for feature, low, high in given:
            with self.event():
                self.walk.limit(feature.name, low, high)
            done = self.limited(feature, low, high)
            say(f"{done[0].upper()}{done[1:]}.")
        self.next()

    def hard(self, line: str) -> None:
        if not line:
            raise ParameterError("What is hard, and how many times as hard? help has an example.")
        given = [
            (
                self.space.schema.features[index],
                typed.times(self.space.schema.features[index], text),
            )
            for index, text in typed.pairs(self.space.schema, line)
        ]
        for feature, times in given:
            with self.event():
                self.walk.difficulty(feature.name, times)
            say(f"{words.capital(self.weighed(feature, times))}.")
        self.next()

    @staticmethod
    def weighed(feature: Feature, times: float) -> str:
        """'changing income is 3 times as hard as usual', or no longer."""
        hard = "as hard" if times == 1 else f"{exact(times)} times as hard"
        return f"changing {feature.label} is {hard} as usual"

    @staticmethod
    def limited(feature: Feature, low: Any, high: Any) -> str:
        """'limited income: at least $3,000', or that it isn't any longer."""
        if low is high is None:
            return f"no longer limited: {feature.label}"
        return f"limited {feature.label}: {within(feature, low, high)}"

    # ---- what is shown --------------------------------------------------------------------

    def help(self, _: str) -> None:
        """The commands, with features that this person has."""
        features = self.space.schema.features
        free = [f for f, feature in enumerate(features) if feature.chosen]
        first, *more = (free or list(range(len(features))))[:2]
        label = features[first].label
        example = ", ".join(f"{features[f].label} {self.now(f)}" for f in (first, *more))
        signs = f'"{label}" = "{self.now(first)}"'
        ordered = [f for f in free if features[f].ordered]
        limit = f"{features[ordered[0]].label} {self.now(ordered[0])} -" if ordered else ""
        for command, meaning in HELP.items():
            if "{limit}" in command and not ordered:
                continue
            examples = {"example": example, "signs": signs, "label": label, "limit": limit}
            said = f"  {command.format(**examples)}"
            lead = f"{said:<{INDENT}}"
            if len(said) > INDENT - 2:
                typer.echo(said)
                lead = " " * INDENT
            say(meaning.format(**examples), lead)

    def show(self, _: str) -> None:
        """Where they stand, and offers, paid for if need be."""
        self.standing()
        typer.echo()
        self.offer()

    def standing(self) -> None:
        """The person's row, in words."""
        features = self.space.schema.features
        width = max(len(feature.label) for feature in features)
        for index, feature in enumerate(features):
            say(f"{self.now(index)}{self.held(feature)}", f"  {feature.label:<{width}}  ")

    def held(self, feature: Feature) -> str:
        """Whether and why a feature can't change freely, in brackets."""
        if feature.name in self.walk.locked:
            return " (locked)"
        if isinstance(feature, Derived):
            return " (follows from the rest)"
        if not feature.chosen:
            return " (can't change)" if feature.change is Change.NEVER else " (grows with time)"
        parts = []
        if limits := self.walk.limits.get(feature.name):
            parts.append(f"limited: {within(feature, *limits)}")
        if times := self.walk.difficulties.get(feature.name):
            parts.append(f"{exact(times)} times as hard as usual")
        return f" ({'; '.join(parts)})" if parts else ""

    def next(self) -> None:
        """Where that leads, unless it would cost something to say."""
        typer.echo()
        if self.step.pays_per_answer and not self.walk.done:
            typer.echo(self.scored)
            self.privacy()
            say("What could come next is paid for when you ask: offers.")
        else:
            self.offer()

    def offer(self) -> None:
        """The score, and what could come next, numbered."""
        if self.walk.done:
            self.summary()
            return
        typer.echo(self.scored)
        before = self.step.guarantee()
        try:
            with working("Looking for routes", shown=not self.scripted):
                self.offers = different(self.walk.directions())
        finally:
            if before is not None:
                self.save()  # what was paid for is kept
        for number, made in enumerate(self.offers, 1):
            say(words.offer(made, self.space.schema, self.goal), f"{number:3}. ")
        if not self.offers:
            say("There's no route from here: why says what is in the way.")
        if before is not None:
            self.privacy()
        if not self.scripted:
            say(HINT)

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
        walk = self.walk
        answer = why_not(self.step, walk.row, locked=walk.locked, limits=walk.limits)
        for line in str(answer.for_the_person()).splitlines():
            say(line)

    def history(self, _: str) -> None:
        before: Floats | None = None
        for number, event in enumerate(self.walk.history, 1):
            after = self.read_row(event["row"])
            what = DID[event["event"]]
            if "feature" in event:
                feature = self.space.schema[event["feature"]]
                what += f" {feature.label}"
                if event["event"] == "limit":
                    what = self.limited(feature, event["low"], event["high"])
                if event["event"] == "difficulty":
                    what = self.weighed(feature, event["times"])
            elif before is not None:
                set_anew = self.moved(before, after) or self.followed_by(before, after)
                what += f": {set_anew or 'nothing new'}"
            say(f"{what} (score {words.score(self.goal, event['score'])})", f"{number:3}. ")
            before = after

    def summary(self) -> None:
        """What it took."""
        first = self.read_row(self.walk.history[0]["row"])
        steps = sum(event["event"] in ("take", "observe") for event in self.walk.history)
        say(f"That's a yes: the score is {words.score(self.goal, self.walk.score)}; {self.takes}.")
        if changed(first, self.values).any():
            self.say_moved(f"In {words.counted(steps, 'step')}", first)
        else:
            typer.echo("Nothing needs to change.")
        if not self.scripted:
            say(DONE)

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

    def row_now(self) -> Floats:
        return self.space.read(self.walk.row, allow_missing=True)

    def read_row(self, row: dict[str, Any]) -> Floats:
        frame = pd.DataFrame({name: [cell] for name, cell in row.items()})
        return self.space.read(frame, allow_missing=True)

    def shown(self, values: Floats, index: int) -> Any:
        return self.space.shown(index, float(values[0, index]))

    def now(self, index: int) -> str:
        """Their value of a feature, in words."""
        return words.value(self.space.schema.features[index], self.shown(self.values, index))

    def say_moved(self, lead: str, before: Floats) -> None:
        """What is different from before, and what came of that."""
        set_anew, then = (said(before, self.values) for said in (self.moved, self.followed_by))
        if not set_anew:
            say(f"{lead}: {then}.")
        else:
            say(f"{lead}: {set_anew}.{f' That makes {then}.' if then else ''}")

    def moved(self, before: Floats, after: Floats) -> str:
        """What is different, as plans word it, though it isn't asked of anybody any more."""
        moved = []
        for index in np.flatnonzero(changed(before, after)[0] & ~self.space.links.linked).tolist():
            feature = self.space.schema.features[index]
            change = (feature, self.shown(before, index), self.shown(after, index))
            if change[2] is None:
                moved.append(f"{feature.label} {words.value(feature, None)}")
                continue
            values = words.change(*change).removeprefix(words.action(*change)).lstrip(": ")
            moved.append(f"{feature.label} {values}")
        return "; ".join(moved)

    def followed_by(self, before: Floats, after: Floats) -> str:
        """What came out otherwise without being set."""
        follows = np.flatnonzero(self.space.links.following(before, after)[0]).tolist()
        features = self.space.schema.features
        return words.listed(
            f"{features[f].label} {words.value(features[f], self.shown(after, f))}" for f in follows
        )

    def named(self, line: str) -> list[Feature]:
        indices = typed.positions(self.space.schema, line)
        return [self.space.schema.features[index] for index in indices]

    def read_ends(self, index: int, text: str) -> tuple[Any, Any]:
        """Limits that were typed, as the walk takes them."""
        feature = self.space.schema.features[index]
        low, high = typed.ends(feature, text, self.shown(self.values, index))
        return (
            None if low is None else self.space.shown(index, low),
            None if high is None else self.space.shown(index, high),
        )

    def read_value(self, index: int, text: str) -> float:
        feature = self.space.schema.features[index]
        return typed.value(feature, text, self.shown(self.values, index))


def different(offers: Iterable[Offer]) -> list[Offer]:
    """The offers without those that ask for the same as one before."""
    kept: dict[tuple[Asked, ...], Offer] = {}
    for made in offers:
        kept.setdefault((*made.changes, *made.total), made)
    return list(kept.values())


def say(text: str, lead: str = "", *, err: bool = False) -> None:
    """A paragraph, its lines after the first indented to where it began.

    In a narrow terminal a long lead has a line to itself.
    """
    width = min(words.WIDTH, max(NARROWEST, get_terminal_size().columns))
    if len(lead) > width / 2:
        typer.echo(lead.rstrip(), err=err)
        lead = " " * 4
    for line in words.wrapped(text, lead, width):
        typer.echo(line, err=err)
