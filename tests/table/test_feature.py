"""Features: what each kind is, and what it refuses to be."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.errors import SchemaError


@pytest.mark.parametrize(
    ("feature", "kind", "ordered"),
    [
        (sl.Numeric("a"), "numeric", True),
        (sl.Ordinal("a", levels=[1, 2]), "ordinal", True),
        (sl.Categorical("a"), "categorical", False),
        (sl.Derived("a", "b"), "derived", True),
        (sl.Derived("a", "where(b > 1, 'x', 'y')", levels=["x", "y"]), "derived", False),
    ],
)
def test_a_feature_knows_its_name_its_kind_and_its_change(feature, kind, ordered):
    assert (feature.name, feature.kind, feature.change) == ("a", kind, "any")
    assert feature.ordered is ordered


@pytest.mark.parametrize("change", ["any", "increase", "decrease", "never", "time"])
def test_the_changes_are_given_as_words_or_as_members(change):
    assert sl.Numeric("a", change=change).change is sl.Change(change)
    assert sl.Numeric("a", change=sl.Change(change)) == sl.Numeric("a", change=change)


def test_a_change_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(
        SchemaError, match=r"numeric feature 'income': change .*'increase'.*got 'up'"
    ):
        sl.Numeric("income", change="up")


@pytest.mark.parametrize("change", ["increase", "decrease"])
def test_a_category_has_no_order_to_go_along(change):
    with pytest.raises(SchemaError, match=rf"'job'.*change '{change}' needs an order.*ordinal"):
        sl.Categorical("job", change=change)


def test_bounds_the_wrong_way_round_are_refused():
    with pytest.raises(SchemaError, match="low 5 is above high 1"):
        sl.Numeric("a", bounds=(5, 1))


@pytest.mark.parametrize("bounds", [(0.2, 0.8), (1.5, 1.9)])
def test_bounds_without_a_whole_number_between_them_are_refused(bounds):
    with pytest.raises(SchemaError, match="no allowed value lies within"):
        sl.Numeric("a", bounds=bounds, integer=True)


def test_bounds_without_an_allowed_decimal_between_them_are_refused():
    with pytest.raises(SchemaError, match="no allowed value lies within"):
        sl.Numeric("a", bounds=(0.11, 0.19), decimals=1)


@pytest.mark.parametrize(
    "bounds", [(float("nan"), 1), (0, float("inf")), (0, 1, 2), (0, 10**400), "low"]
)
def test_bounds_that_are_no_pair_of_numbers_are_refused(bounds):
    with pytest.raises(SchemaError, match="numeric feature 'a': bounds"):
        sl.Numeric("a", bounds=bounds)


@pytest.mark.parametrize("decimals", [-1, 13])
def test_decimals_are_between_none_and_twelve(decimals):
    with pytest.raises(SchemaError, match="between 0 and 12"):
        sl.Numeric("a", decimals=decimals)


@pytest.mark.parametrize(
    ("decimals", "said"),
    [
        (-1, "for tens use multiple=10, got -1."),
        (-3, "for thousands use multiple=1000, got -3."),
        (-4, "for larger steps use multiple=10000, got -4."),
    ],
)
def test_decimals_below_zero_are_answered_with_a_multiple(decimals, said):
    with pytest.raises(SchemaError, match=f"between 0 and 12; {said}$"):
        sl.Numeric("a", decimals=decimals)


def test_a_whole_number_with_decimals_is_a_contradiction():
    with pytest.raises(SchemaError, match="integer=True means no decimals"):
        sl.Numeric("a", integer=True, decimals=2)


# ---- what is typical --------------------------------------------------------------------------


@pytest.mark.parametrize("typical", [(0, 80), [0.0, 80.0], np.array([0, 80])])
def test_typical_is_a_pair_of_numbers_that_is_kept_and_shown(typical):
    feature = sl.Numeric("hours", typical=typical)
    assert feature.typical == (0.0, 80.0)
    assert repr(feature) == "Numeric('hours', typical=(0.0, 80.0))"
    assert feature == sl.Numeric("hours", typical=(0, 80))
    assert feature != sl.Numeric("hours")


def test_nothing_is_typical_unless_it_is_said():
    assert sl.Numeric("hours", bounds=(0, 168)).typical is None
    assert "typical" not in sl.Numeric("hours", bounds=(0, 168)).settings


@pytest.mark.parametrize(
    "typical",
    [
        *((0, None), (None, 1), (0, float("inf")), (float("nan"), 1), (0, 10**400)),
        *((0,), (0, 1, 2), (), 5, "01", ("0", "1"), True),
    ],
)
def test_a_typical_range_that_is_no_pair_of_finite_numbers_is_refused(typical):
    said = r"numeric feature 'a': typical must be two finite numbers, \(low, high\), got"
    with pytest.raises(SchemaError, match=said):
        sl.Numeric("a", typical=typical)


@pytest.mark.parametrize("typical", [(5, 1), (5, 5)])
def test_a_typical_range_goes_from_low_to_high(typical):
    with pytest.raises(SchemaError, match=r"typical must go .*: 5 isn't below [15]\."):
        sl.Numeric("a", typical=typical)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ((10, None), "10 to inf"),
        ((6, None), "6 to inf"),
        ((None, 0), "-inf to 0"),
        ((None, 2), "-inf to 2"),
        ((8, 9), "8 to 9"),
    ],
)
def test_a_typical_range_outside_the_bounds_is_refused(bounds, said):
    with pytest.raises(SchemaError, match=rf"typical, 2 to 6, must overlap the bounds, {said}\.$"):
        sl.Numeric("a", bounds=bounds, typical=(2, 6))


@pytest.mark.parametrize(
    ("bounds", "typical", "span"),
    [
        ((None, None), None, None),
        ((0, None), None, None),
        ((None, 9), None, None),
        ((0, 9), None, (0.0, 9.0)),
        ((4, 4), None, (4.0, 4.0)),
        ((None, None), (2, 6), (2.0, 6.0)),
        ((0, 9), (2, 6), (2.0, 6.0)),
        ((3, None), (2, 6), (3.0, 6.0)),
        ((3, 5), (2, 6), (3.0, 5.0)),
        ((4, 4), (2, 6), (4.0, 4.0)),
    ],
)
def test_the_span_is_what_is_typical_within_the_bounds_else_the_bounds(bounds, typical, span):
    assert sl.Numeric("a", bounds=bounds, typical=typical).span == span


def test_the_span_of_an_ordinal_is_its_ladder():
    assert sl.Ordinal("a", levels=["low", "middle", "high"]).span == (0.0, 2.0)
    assert sl.Ordinal("a", levels=["only"]).span == (0.0, 0.0)


def test_what_is_typical_is_no_constraint():
    frame = pd.DataFrame({"a": [1.0, 500.0, -20.0]})
    schema = sl.Schema([sl.Numeric("a", typical=(0, 10))])
    feasible = sl.Feasible.of(sl.Space.fit(schema, frame), frame.iloc[[0]])
    assert feasible.check(frame) == []


# ---- what may be asked of a person ------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "chosen"),
    [
        (sl.Numeric("a"), True),
        (sl.Numeric("a", change="decrease"), True),
        (sl.Numeric("a", change="never"), False),
        (sl.Numeric("a", change="time"), False),
        (sl.Ordinal("a", levels=[1, 2], change="increase"), True),
        (sl.Categorical("a"), True),
        (sl.Categorical("a", change="never"), False),
        (sl.Derived("a", "b + 1"), False),
    ],
    ids=repr,
)
def test_a_plan_sets_what_is_neither_fixed_nor_worked_out(feature, chosen):
    assert feature.chosen is chosen


def test_what_may_be_asked_is_kept_and_shown():
    income = sl.Numeric(
        "income", reach="30%", multiple=50.0, at_once=True, difficulty=np.float64(2), months=6
    )
    assert repr(income) == (
        "Numeric('income', reach='30%', multiple=50, at_once=True, difficulty=2, months=6)"
    )
    school = sl.Ordinal("school", levels=[1, 2, 3], not_to=[1], months_each=0.5, fill=np.True_)
    assert repr(school) == (
        "Ordinal('school', levels=(1, 2, 3), not_to=(1,), months_each=0.5, fill=True)"
    )
    account = sl.Categorical("account", not_to=["none"], moves={"over": ["basic"]}, months=1)
    assert repr(account) == (
        "Categorical('account', not_to=('none',), moves={'over': ['basic']}, months=1)"
    )
    for feature in (income, school, account):
        assert eval(repr(feature), vars(sl).copy()) == feature
        assert hash(feature) == hash(feature.but())
        assert feature != feature.but(difficulty=9)
        assert pickle.loads(pickle.dumps(feature)) == feature


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        *(("multiple", v, "multiple must be a number above 0, got") for v in (0, -5, "50", True)),
        *(("difficulty", v, "difficulty must be a number above 0, got") for v in (0, -1, None)),
        *(("months", v, "months must be a number of at least 0, got") for v in (-1, "6", None)),
        *(("months_each", v, "months_each must be a number of at least 0, got") for v in (-1, "")),
        *(("at_once", v, "at_once must be True or False, got") for v in (1, "yes", None)),
        *(("fill", v, "fill must be True or False, got") for v in (1, "yes", None)),
        ("months", float("nan"), "months must be a number of at least 0, got nan"),
        ("difficulty", float("inf"), "difficulty must be a number above 0, got inf"),
    ],
)
def test_settings_of_the_wrong_sort_are_refused(setting, value, said):
    with pytest.raises(SchemaError, match=f"^The numeric feature 'a': {said}"):
        sl.Numeric("a", **{setting: value})
    if setting != "multiple":
        with pytest.raises(SchemaError, match=f"^The ordinal feature 'a': {said}"):
            sl.Ordinal("a", levels=[1, 2], **{setting: value})
    if setting not in ("multiple", "at_once", "months_each"):
        with pytest.raises(SchemaError, match=f"^The categorical feature 'a': {said}"):
            sl.Categorical("a", **{setting: value})


@pytest.mark.parametrize(
    "settings",
    [
        {"multiple": 0.5, "integer": True},
        {"multiple": 2.5, "decimals": 0},
        {"multiple": 0.005, "decimals": 2},
    ],
)
def test_a_multiple_is_as_round_as_the_values_are(settings):
    limit = "integer=True" if "integer" in settings else f"decimals={settings['decimals']}"
    with pytest.raises(SchemaError, match=f"multiple has more decimals than {limit} allows, got"):
        sl.Numeric("a", **settings)


def test_a_multiple_that_is_round_enough_will_do():
    assert sl.Numeric("a", multiple=0.1, decimals=1, bounds=(0.3, 0.3)).multiple == 0.1
    assert sl.Numeric("a", multiple=0.07, decimals=2, bounds=(0.07, 0.13)).multiple == 0.07
    assert sl.Numeric("a", multiple=1e-300, bounds=(-1e300, 1e300)).multiple == 1e-300
    assert sl.Numeric("a", multiple=1000, bounds=(1, None)).multiple == 1000


@pytest.mark.parametrize("bounds", [(10, 40), (51, 99), (-40, -10)])
def test_some_multiple_lies_within_the_bounds(bounds):
    said = f"no multiple of 50 lies within the bounds {bounds[0]} to {bounds[1]}; choose a smaller"
    with pytest.raises(SchemaError, match=said):
        sl.Numeric("a", multiple=50, bounds=bounds)


@pytest.mark.parametrize(
    "feature",
    [lambda **s: sl.Numeric("a", **s), lambda **s: sl.Ordinal("a", levels=[1, 2], **s)],
)
def test_a_change_has_one_time(feature):
    with pytest.raises(SchemaError, match=r"either months.* or months_each .*; keep one of the tw"):
        feature(months=6, months_each=1)
    assert feature(months=0, months_each=1).months_each == 1


@pytest.mark.parametrize(
    ("change", "why"), [("never", "never changes"), ("time", "changes with time alone")]
)
@pytest.mark.parametrize("setting", [{"reach": 5}, {"at_once": True}, {"fill": True}])
def test_nothing_is_asked_of_what_no_plan_sets(change, why, setting):
    (name,) = setting
    said = f"'a': it {why}, so {name} would say nothing; leave it out, or choose another change"
    with pytest.raises(SchemaError, match=said):
        sl.Numeric("a", change=change, **setting)


@pytest.mark.parametrize("setting", ["multiple", "difficulty", "months", "months_each"])
def test_what_changes_with_time_is_asked_of_nobody(setting):
    with pytest.raises(SchemaError, match=f"changes with time alone, so {setting} would say noth"):
        sl.Numeric("a", change="time", **{setting: 2})
    assert getattr(sl.Numeric("a", change="never", **{setting: 2}), setting) == 2


@pytest.mark.parametrize("setting", [{"not_to": ["x"]}, {"moves": {"x": []}}, {"fill": True}])
def test_levels_that_never_change_go_nowhere(setting):
    (name,) = setting
    for make in (sl.Ordinal, sl.Categorical):
        with pytest.raises(SchemaError, match=f"it never changes, so {name} would say nothing"):
            make("a", levels=["x", "y", "z"], change="never", **setting)


@pytest.mark.parametrize("make", [sl.Ordinal, sl.Categorical])
def test_levels_do_not_grow_with_time(make):
    with pytest.raises(SchemaError, match="change 'time' is for numbers, which grow by one per"):
        make("a", levels=["x", "y"], change="time")


@pytest.mark.parametrize("make", [sl.Ordinal, sl.Categorical])
def test_reach_is_for_numbers(make):
    with pytest.raises(SchemaError, match="reach is for numbers; use not_to or moves, got '30%'"):
        make("a", levels=["x", "y"], reach="30%")


# ---- reach ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("30%", "30%"),
        (" 30.0 %", "30%"),
        ("+30%", "30%"),
        (("-30%", "30%"), "30%"),
        (500, 500),
        (np.float64(2.5), 2.5),
        ((-500, 500.0), 500),
        (["-20%", "+50%"], ("-20%", "+50%")),
        (("-20%", "50%"), ("-20%", "+50%")),
        ((-100, None), (-100, None)),
        ((None, "0.5%"), (None, "+0.5%")),
        ((0, "5%"), (0, "+5%")),
        (("0%", 5), (0, 5)),
        (("-10%", 5), ("-10%", 5)),
        ((None, None), None),
        (None, None),
    ],
)
def test_the_same_reach_is_kept_in_the_same_form(given, kept):
    feature = sl.Numeric("a", reach=given)
    assert feature.reach == kept
    assert feature == sl.Numeric("a", reach=kept)
    assert type(feature.reach) is type(kept)


@pytest.mark.parametrize(
    ("reach", "low", "high"),
    [
        (None, [-np.inf] * 4, [np.inf] * 4),
        ("10%", [63, -11, 0, -np.inf], [77, -9, 0, np.inf]),
        (("-20%", "+50%"), [56, -12, 0, -np.inf], [105, -5, 0, np.inf]),
        (5, [65, -15, -5, -np.inf], [75, -5, 5, np.inf]),
        ((-5, None), [65, -15, -5, -np.inf], [np.inf] * 4),
        ((None, "+10%"), [-np.inf] * 4, [77, -9, 0, np.inf]),
    ],
)
def test_reach_leads_so_far_from_today_and_a_gap_anywhere(reach, low, high):
    reached = sl.Numeric("a", reach=reach).reached(np.array([70, -10, 0, np.nan]))
    np.testing.assert_array_equal(reached, (low, high))


@pytest.mark.parametrize(
    "reach", ["30", "x%", "%", "1e3%", "", True, (1,), (1, 2, 3), ("a", 5), {}, float("inf")]
)
def test_a_reach_in_no_known_form_is_refused(reach):
    said = r"reach must be how far from today's value a plan may go: \"30%\", a number, or a pair"
    with pytest.raises(SchemaError, match=said):
        sl.Numeric("a", reach=reach)


@pytest.mark.parametrize("reach", ["-30%", -5, (5, 10), ("-20%", "-10%")])
def test_a_reach_goes_down_first_and_then_up(reach):
    with pytest.raises(SchemaError, match="reach goes from an end at or below 0 to an end at or"):
        sl.Numeric("a", reach=reach)


@pytest.mark.parametrize(
    ("reach", "change"),
    [("0%", "any"), (0, "any"), ((0, "0%"), "any"), ((-5, 0), "increase"), ((0, 5), "decrease")],
)
def test_a_reach_that_allows_nothing_is_refused(reach, change):
    with pytest.raises(SchemaError, match="reach allows no change; use change='never', got"):
        sl.Numeric("a", reach=reach, change=change)
    assert sl.Numeric("a", reach=(-5, 0), change="decrease").reach == (-5, 0)


# ---- moves ------------------------------------------------------------------------------------

ACCOUNTS = ["none", "overdrawn", "basic", "gold"]


@pytest.mark.parametrize("levels", [ACCOUNTS, None])
def test_where_a_level_may_go(levels):
    account = sl.Categorical(
        "account", levels=levels, not_to=["none"], moves={"overdrawn": ["basic"], "gold": []}
    )
    allowed = {(a, b) for a in ACCOUNTS for b in ACCOUNTS if a != b and account.allows(a, b)}
    assert allowed == {
        *(("none", "overdrawn"), ("none", "basic"), ("none", "gold")),
        ("overdrawn", "basic"),
        *(("basic", "overdrawn"), ("basic", "gold")),
    }
    assert all(account.allows(level, level) for level in ACCOUNTS)
    assert account.moves == {"overdrawn": ("basic",), "gold": ()}


def test_an_ordinal_goes_its_own_way_besides():
    ladder = sl.Ordinal("a", levels=ACCOUNTS, change="increase", moves={"basic": ["none", "gold"]})
    assert ladder.allows("basic", "gold")
    assert not ladder.allows("basic", "none")
    assert not ladder.allows("gold", "basic")
    assert ladder.allows("none", "gold")


@pytest.mark.parametrize("make", [sl.Ordinal, sl.Categorical])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"not_to": ["nome"]}, r"not_to names 'nome', which .*levels\. Did you mean 'none'\? They"),
        ({"moves": {"gould": []}}, r"moves names 'gould', which .* Did you mean 'gold'\?"),
        ({"moves": {"gold": ["basik"]}}, r"moves names 'basik', which .* mean 'basic'\?"),
        ({"moves": {"gold": ["gold"]}}, "moves lead from 'gold' to itself; leave that out"),
        ({"moves": {"gold": "basic"}}, "moves must be a list of levels, not one text or number"),
        ({"moves": {"gold": ["none", "none"]}}, "moves name 'none' more than once"),
        ({"moves": ["gold"]}, r"moves must be a mapping such as {from: \[to, …\]}, got \['gold'\]"),
        ({"not_to": "none"}, "not_to must be a list of levels, not one text or number, got 'none'"),
        ({"not_to": [None]}, "not_to must be texts, numbers or booleans, got None"),
        ({"not_to": ["none", "none"]}, "not_to name 'none' more than once"),
        ({"not_to": ACCOUNTS}, "not_to and moves leave no move from any level; use change='never'"),
        (
            {"moves": {level: [] for level in ACCOUNTS}},
            "not_to and moves leave no move from any level",
        ),
    ],
)
def test_moves_that_make_no_sense_are_refused(make, settings, said):
    with pytest.raises(SchemaError, match=f"^The {make.kind} feature 'a': {said}"):
        make("a", levels=ACCOUNTS, **settings)


@pytest.mark.parametrize("make", [sl.Ordinal, sl.Categorical])
@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ({"gould": "a"}, r"labels names 'gould', which .* Did you mean 'gold'\?"),
        ({"gold": ""}, "the label of 'gold' must not be empty"),
        ({"gold": 3}, "labels must be one line of text"),
        (["gold"], "labels must be a mapping such as {level: text}, got"),
        ({"gold": "best", "basic": "best"}, "labels call two levels 'best'"),
    ],
)
def test_labels_of_levels_that_make_no_sense_are_refused(make, labels, said):
    with pytest.raises(SchemaError, match=f"^The {make.kind} feature 'a': {said}"):
        make("a", levels=ACCOUNTS, labels=labels)


@pytest.mark.parametrize("levels", [[1, 2, 3], [False, True], [0.5, 1.5]])
def test_labels_and_moves_survive_files_whatever_levels_are(tmp_path, levels):
    labels = {level: f"level {i}" for i, level in enumerate(levels)}
    feature = sl.Categorical("a", levels=levels, labels=labels, moves={levels[0]: [levels[1]]})
    schema = sl.Schema([feature])
    again = sl.Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again.features[0].labels == labels
    assert again == schema
    schema.save(tmp_path / "schema.yaml")
    assert sl.Schema.load(tmp_path / "schema.yaml") == schema
    assert pickle.loads(pickle.dumps(feature)) == feature
    assert hash(again.features[0]) == hash(feature)


def test_labels_of_levels_are_words_and_no_rules():
    plain = sl.Categorical("a", levels=ACCOUNTS)
    assert plain.but(labels={"gold": "gold account"}).rules == plain


def test_moves_against_an_ordinals_change_are_no_moves():
    with pytest.raises(SchemaError, match="leave no move from any level"):
        sl.Ordinal("a", levels=["x", "y"], change="increase", moves={"x": []})


def test_moves_of_levels_to_be_learned_are_checked_then():
    feature = sl.Categorical("a", not_to=["nome"], moves={"gold": ["none"]})
    with pytest.raises(SchemaError, match=r"not_to names 'nome', .* Did you mean 'none'\?"):
        feature.check_levels(ACCOUNTS)
    with pytest.raises(SchemaError, match="not_to names 'nome'"):
        feature.but(levels=ACCOUNTS)
    assert feature.but(levels=[*ACCOUNTS, "nome"]).moves == {"gold": ("none",)}


def test_moves_are_frozen():
    moves = sl.Categorical("a", moves={"x": ["y"]}).moves
    with pytest.raises(TypeError):
        moves["x"] = ()


# ---- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "label"),
    [
        *(
            ("income", "income"),
            ("other_debts", "other debts"),
            ("marital-status", "marital status"),
        ),
        *(("_x__y ", "x y"), ("_", "_")),
    ],
)
def test_a_feature_is_called_by_its_name_unless_it_has_a_label(name, label):
    assert sl.Numeric(name).label == label
    assert sl.Numeric(name).settings == {}
    for feature in (
        sl.Numeric(name, label="what one owes"),
        sl.Ordinal(name, levels=[1, 2], label="what one owes"),
        sl.Categorical(name, label="what one owes"),
    ):
        assert feature.label == feature.settings["label"] == "what one owes"


def test_words_are_kept_and_shown():
    loan = sl.Numeric("loan", unit="$", times=1000, rise="borrow more", fall="borrow less")
    assert repr(loan) == (
        "Numeric('loan', unit='$', times=1000, rise='borrow more', fall='borrow less')"
    )
    assert eval(repr(loan), vars(sl).copy()) == loan
    assert loan != sl.Numeric("loan")
    ladder = sl.Ordinal("record", levels=[1, 2], rise="mend the record")
    assert repr(ladder) == "Ordinal('record', levels=(1, 2), rise='mend the record')"
    assert sl.Numeric("share", percent=np.True_).settings == {"percent": True}
    assert sl.Numeric("share", times=np.float64(1000)).settings == {"times": 1000}


@pytest.mark.parametrize("setting", ["label", "unit", "rise", "fall"])
@pytest.mark.parametrize("text", [5, None, " x", "x ", "two\nlines"])
def test_words_are_texts_of_one_line(setting, text):
    if setting == "label" and text is None:
        return
    with pytest.raises(
        SchemaError, match=f"numeric feature 'a': {setting} must be one line of text"
    ):
        sl.Numeric("a", **{setting: text})


def test_a_label_is_not_empty():
    with pytest.raises(SchemaError, match="label must not be empty; leave it out"):
        sl.Categorical("a", label="")


@pytest.mark.parametrize("times", [0, -1, float("inf"), float("nan"), "2", True, None])
def test_times_is_a_number_above_0(times):
    with pytest.raises(SchemaError, match="times must be a number above 0, got"):
        sl.Numeric("a", times=times)


def test_percent_is_true_or_false():
    with pytest.raises(SchemaError, match="percent must be True or False, got 'yes'"):
        sl.Numeric("a", percent="yes")


@pytest.mark.parametrize("also", [{"unit": "%"}, {"times": 100}])
def test_percent_says_its_unit_by_itself(also):
    with pytest.raises(SchemaError, match=r"percent=True sets unit and times by itself.*% of inc"):
        sl.Numeric("a", percent=True, **also)


@pytest.mark.parametrize(
    ("feature", "bare"),
    [
        (
            sl.Numeric("a", bounds=(0, 5), label="b", unit="$", times=2, rise="c", fall="d"),
            sl.Numeric("a", bounds=(0, 5)),
        ),
        (sl.Numeric("a", percent=True, decimals=1), sl.Numeric("a", decimals=1)),
        (
            sl.Ordinal("a", levels=[1, 2], change="increase", label="b", rise="c"),
            sl.Ordinal("a", levels=[1, 2], change="increase"),
        ),
        (
            sl.Categorical("a", onehot=["x", "y"], change="never", label="b"),
            sl.Categorical("a", onehot=["x", "y"], change="never"),
        ),
        (
            sl.Numeric("a", reach="5%", multiple=5, at_once=True, months=2, fill=True, unit="$"),
            sl.Numeric("a", reach="5%", multiple=5, at_once=True, months=2, fill=True),
        ),
        (
            sl.Ordinal("a", levels=[1, 2, 3], not_to=[1], moves={1: [2]}, months_each=3, fall="b"),
            sl.Ordinal("a", levels=[1, 2, 3], not_to=[1], moves={1: [2]}, months_each=3),
        ),
        (
            sl.Categorical("a", not_to=["x"], moves={"x": ["y"]}, difficulty=2, label="b"),
            sl.Categorical("a", not_to=["x"], moves={"x": ["y"]}, difficulty=2),
        ),
    ],
)
def test_the_rules_of_a_feature_are_what_is_left_without_the_words(feature, bare):
    assert feature.rules == bare
    assert bare.rules == bare


# ---- names, levels and one-hot columns --------------------------------------------------------


@pytest.mark.parametrize("name", ["", "  "])
def test_a_feature_needs_a_name(name):
    with pytest.raises(SchemaError, match="name must not be empty"):
        sl.Numeric(name)


def test_an_ordinal_without_levels_is_answered_with_an_example():
    with pytest.raises(SchemaError, match=r"needs its levels, lowest first: Ordinal\('edu', lev"):
        sl.Ordinal("edu")


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        (["a", "b", "a"], "'a' more than once"),
        ([1, True], "more than once"),
        ([], "at least one level"),
        ("abc", "not one text"),
        ([float("nan"), 1.0], "levels"),
    ],
)
def test_levels_are_a_list_of_different_values(levels, said):
    with pytest.raises(SchemaError, match=said):
        sl.Ordinal("edu", levels=levels)


def test_levels_of_numpy_become_plain_values():
    levels = sl.Ordinal("a", levels=np.array([3, 1, 2])).levels
    assert levels == (3, 1, 2)
    assert {type(level) for level in levels} == {int}


def test_levels_keep_their_own_types():
    levels = sl.Categorical("a", levels=["1", 1, "yes", False, 2.5]).levels
    assert [type(level) for level in levels] == [str, int, str, bool, float]


@pytest.mark.parametrize(
    ("onehot", "said"),
    [(["x"], "two or more"), (["x", "x"], "more than once|two or more")],
)
def test_one_hot_columns_are_two_or_more_and_different(onehot, said):
    with pytest.raises(SchemaError, match=said):
        sl.Categorical("job", onehot=onehot)


def test_one_hot_columns_are_one_for_each_level():
    with pytest.raises(SchemaError, match="2 columns for 3 levels"):
        sl.Categorical("job", levels=["a", "b", "c"], onehot=["x", "y"])


def test_one_hot_columns_are_the_columns_that_are_read():
    feature = sl.Categorical("job", onehot=["job_a", "job_b"])
    assert feature.columns == feature.levels == ("job_a", "job_b")
