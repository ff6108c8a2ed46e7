"""What ``weights`` writes, ``infer`` can be asked: on files that do not mention the values."""

import json

import pytest

from mlnlearn.model.mln import MLN

CLASSIFIER = """
HasWord(page,word)
Topic(page,topic)
HasWord(p,+w) => Topic(p,+t)
"""
PAGES = """
HasWord(P1,"goal")
HasWord(P2,"vote")
HasWord(P3,"atom")
Topic(P1,Sports)
Topic(P2,Politics)
Topic(P3,Science)
"""
HIDDEN_MARKOV = """
State(state!,time)
Obs(obs!,time)
Next(time,time)
State(+s,0)
State(+s,t) ^ Next(t,u) ^ State(+r,u)
Obs(+o,t) ^ State(+s,t)
"""
BAYES_NET = """
Burglary(day,truth!)
Alarm(day,truth!)
Burglary(d,+b)
Burglary(d,+b) ^ Alarm(d,+a)
"""


@pytest.fixture
def ask(tmp_path, monkeypatch, program):
    """Learn weights from one text, then ask for a predicate on another; return probabilities."""
    monkeypatch.chdir(tmp_path)

    def run(rules, train, test, query, *options):
        (tmp_path / "rules.mln").write_text(rules)
        (tmp_path / "train.db").write_text(train)
        (tmp_path / "test.db").write_text(test)
        learn = ("--model", "rules.mln", "--db", "train.db", "--out", "learned.mln")
        code, _, err = program("weights", *learn, *options)
        assert code == 0, err
        asked = ("--model", "learned.mln", "--db", "test.db", "--query", query, "--json")
        code, out, err = program("infer", *asked)
        assert code == 0, err
        answers = json.loads(out)["answers"]
        return {a["atom"]: a["probability"] for a in answers}, err

    return run


def test_a_text_classifier_answers_for_all_topics(ask):
    # the second word is new, and no rule of the model is about it
    unlabelled = 'HasWord(P9,"goal")\nHasWord(P9,"new")\n'
    found, err = ask(CLASSIFIER, PAGES, unlabelled, "Topic", "--method", "conditional",
                     "--query", "Topic")  # fmt: skip
    assert set(found) == {f"Topic(P9,{t})" for t in ("Sports", "Politics", "Science")}
    assert max(found, key=found.get) == "Topic(P9,Sports)"
    assert "warning: the rules name constants of type 'topic' that test.db does not mention" in err


def test_a_hidden_markov_model_follows_its_observations(ask, tmp_path):
    states = "SSRRSSRRSSRR"
    train = "".join(
        f"State({'Sun' if s == 'S' else 'Rain'},{t})\nObs({'Dry' if s == 'S' else 'Wet'},{t})\n"
        for t, s in enumerate(states)
    )
    train += "".join(f"Next({t},{t + 1})\n" for t in range(len(states) - 1))
    test = "Obs(Wet,0)\nObs(Wet,1)\nObs(Dry,2)\nNext(0,1)\nNext(1,2)\n"
    found, _ = ask(HIDDEN_MARKOV, train, test, "State")
    assert len(found) == 6  # the times of the training data stay there
    for t, state in enumerate(("Rain", "Rain", "Sun")):
        assert found[f"State({state},{t})"] > 0.5
        assert found[f"State(Sun,{t})"] + found[f"State(Rain,{t})"] == pytest.approx(1.0)


def test_a_bayes_net_gives_the_conditional_of_its_table(ask):
    cases = [("Yes", "Yes")] * 3 + [("Yes", "No")] + [("No", "Yes")] + [("No", "No")] * 5
    train = "".join(f"Burglary(D{i},{b})\nAlarm(D{i},{a})\n" for i, (b, a) in enumerate(cases))
    found, _ = ask(BAYES_NET, train, "Alarm(D99,Yes)\n", "Burglary")
    assert found == pytest.approx({"Burglary(D99,Yes)": 3 / 4, "Burglary(D99,No)": 1 / 4}, abs=0.01)


def test_values_that_no_rule_names_are_listed_in_the_model(ask, tmp_path):
    rules = "Mood(person,mood!)\nRich(person)\nRich(x) ^ Mood(x,Happy)\n"
    train = "Mood(A,Happy)\nMood(B,Sad)\nMood(C,Calm)\nRich(A)\n"
    found, _ = ask(rules, train, "Rich(Z)\n", "Mood")
    assert set(found) == {"Mood(Z,Happy)", "Mood(Z,Sad)", "Mood(Z,Calm)"}
    assert MLN.read(tmp_path / "learned.mln").schema.listed == {"mood": ("Calm", "Happy", "Sad")}


def test_a_predicate_without_constants_is_said(ask):
    rules = "Likes(person,food)\nHappy(person)\nLikes(x,y) => Happy(x)\n"
    found, err = ask(rules, "Likes(A,Pie)\nHappy(A)\n", "Happy(A)\n", "Likes")
    assert found == {}
    assert err.count("type 'food' has no constants") == 1
