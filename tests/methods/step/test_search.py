"""The walk of the default method, where the mean of its targets is refused."""

from __future__ import annotations

import pandas as pd

import stepladder as sl


def test_a_path_refused_at_the_mean_is_drawn_nearer_to_a_target_before_it_settles_on_one():
    def model(frame):
        return frame["a"].isin([2.0, 7.0]).to_numpy(float)

    train = pd.DataFrame({"a": [0.0, 1.0, 2.0, 7.0, 8.0, 9.0]})
    as_walked = sl.Options(shorten=False, refine=False, take_back=False)
    step = sl.StEP(paths=1, step_size=99.0, options=as_walked)  # every step goes all the way
    step.fit(train, model, schema=sl.Schema([sl.Numeric("a")]))
    _, mean, nearer, still_nearer, *_, end = step.recourse(pd.DataFrame({"a": [1.0]})).paths["a"]
    assert 4.5 > mean > nearer > still_nearer > end == 2.0
