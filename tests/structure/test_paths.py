"""Path rules: every count, rank and tie equals brute force on small random graphs."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.mine_constants import mine_constants
from mlnlearn.counting.mine_paths import count_rules
from mlnlearn.counting.path_evidence import Collector
from mlnlearn.counting.path_rules import ConstantRules, LinkRules
from mlnlearn.counting.walks import reversed_path
from mlnlearn.model.paths import model as path_model
from mlnlearn.model.paths.rules import parse_rule, read_rules
from mlnlearn.model.paths.scoring import LinkWeights
from mlnlearn.structure.paths import learner
from mlnlearn.structure.paths.weights import choices_of


def random_split(seed, entities=9, relations=2, triples=30):
    """Random triples, and some held back; entity 0 of the test is in no other triple."""
    rng = np.random.default_rng(seed)
    every = list(product(range(entities), range(relations), range(entities)))
    chosen = [every[place] for place in rng.permutation(len(every))[: triples + 6]]
    named = [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in chosen]
    return named[:triples], named[triples:]


def simple_walks(rows, path, relations, x):
    """All walks along a path from an entity that meet none twice, by trying."""
    walks = [(x,)]
    for link in path:
        name, back = relations[link % len(relations)], link >= len(relations)
        walks = [
            (*walk, h if back else t)
            for walk in walks
            for h, r, t in rows
            if r == name and walk[-1] == (t if back else h) and (h if back else t) not in walk
        ]
    return walks


SETTINGS = {"min_support": 1, "min_confidence": 0.0, "min_constant_confidence": 0.0, "epochs": 2}
EVERY = {"least_support": 1, "least_confidence": 0.0, "smoothing": 5.0}
EVERY |= {"most_pairs": 1 << 40, "most_rules": 1 << 40, "most_holders": 1 << 40}


@pytest.fixture(scope="module", params=[0, 1])
def case(request):
    train, test = random_split(request.param)
    split = ml.from_triples(train, None, test)
    model = ml.Paths(max_length=3, **SETTINGS).fit(split).model
    return train, test, split, model


def test_closed_rules_are_all_there_with_the_counts_of_brute_force(case):
    train, _, _, model = case
    relations = list(model.relations)
    facts = set(train)
    found = {
        (relations[head], path): counts
        for head, path, *counts in zip(
            model.closed.heads,
            model.closed.paths,
            model.closed.support,
            model.closed.body,
            model.closed.pca_body,
            strict=True,
        )
    }
    names = sorted({name for h, _, t in train for name in (h, t)})
    expected = {}
    for length in (1, 2, 3):
        for path in product(range(2 * len(relations)), repeat=length):
            pairs = {(x, w[-1]) for x in names for w in simple_walks(train, path, relations, x)}
            for code, relation in enumerate(relations):
                support = sum((x, relation, y) in facts for x, y in pairs)
                if support and path != (code,):
                    heads = {h for h, r, _ in train if r == relation}
                    pca = sum(x in heads for x, _ in pairs)
                    expected[relation, path] = [support, len(pairs), pca]
    assert found == expected
    rule = next(model.rules())
    assert rule.head_coverage == rule.support / sum(r == rule.relation for _, r, _ in train)
    assert rule.pca_confidence >= rule.confidence


def test_rules_with_constants_have_the_counts_of_brute_force(case):
    train, _, _, model = case
    about = {}
    for h, r, t in train:
        about.setdefault(h, set()).add((r, t))
        about.setdefault(t, set()).add((f"{r}^-1", h))
    everything = {fact for facts in about.values() for fact in facts}
    found = {
        (rule.relation, rule.path[0], rule.constants): (rule.support, rule.body)
        for rule in map(model.constant_rule, range(len(model.constants)))
    }
    expected = {}
    for (link, c), (body_link, e) in product(everything, repeat=2):
        holds = [facts for facts in about.values() if (body_link, e) in facts]
        support = sum((link, c) in facts for facts in holds)
        if support and c != e:
            expected[link, body_link, (c, e)] = (support, len(holds))
    for (link, c), body_link in product(everything, model.link_names):
        holds = [facts for facts in about.values() if any(b == body_link for b, _ in facts)]
        support = sum((link, c) in facts for facts in holds)
        if support and body_link != link:
            expected[link, body_link, (c, "")] = (support, len(holds))
    assert found == expected


def test_an_answer_taken_as_unknown_is_in_no_count(case):
    """What speaks for each candidate is what rules counted without the triple would say."""
    _, _, split, _ = case
    graph, everyone = split.train, np.arange(len(split.train.entities))
    paths = [path for length in (1, 2) for path in product((1, 3), repeat=length)]  # of r1 alone
    heads = np.zeros(len(paths), np.int64)

    def said(facts, counted, x, answer):
        (support, body, _), _ = count_rules(
            counted, heads, paths, everyone, most_walks=1 << 20, most_rows=1 << 40
        )
        collector = Collector(facts, ConstantRules.none(), 5.0, 1, 1 << 20)
        answers = None if answer is None else np.array([answer])
        found = collector.collect(LinkRules(0, paths, support, body), np.array([x]), answers)
        return dict(zip(found.candidates.tolist(), found.shared[:, :2].tolist(), strict=True))

    for place in np.flatnonzero(graph.triples[1] == 0).tolist():
        x, _, y = graph.triples[:, place].tolist()
        others = ml.Graph(graph.entities, graph.relations, np.delete(graph.triples, place, axis=1))
        assert said(graph, graph, x, y) == said(others, others, x, None)


@pytest.mark.parametrize("aggregation", ["learned", "noisy-or", "maximum"])
def test_ranks_are_filtered_and_ties_at_their_mean(case, aggregation):
    train, test, split, _ = case
    model = ml.Paths(max_length=2, aggregation=aggregation, **SETTINGS).fit(split).model
    ranking = model.rank(test)
    known = set(train) | set(test)
    loops = {r for h, r, t in train if h == t}
    seen = {name for h, _, t in train for name in (h, t)}
    expected = []
    for asks_head in (False, True):
        for h, r, t in test:
            given = {"tail": t} if asks_head else {"head": h}
            answer, source = (h, t) if asks_head else (t, h)
            scores = dict.fromkeys(model.entities, -1e9)
            scores |= {a.entity: a.score for a in model.top(r, **given, k=100, new=False)}
            assert set(scores) - {source} >= seen - {source}
            assert scores[source] == -1e9 or r in loops
            others = [
                scores[name]
                for name in model.entities
                if name != answer and ((name, r, t) if asks_head else (h, r, name)) not in known
            ]
            above = sum(other > scores[answer] + 1e-8 for other in others)
            equal = sum(abs(other - scores[answer]) <= 1e-8 for other in others)
            expected.append(above + 1 + equal / 2)
    assert ranking.ranks.tolist() == expected
    assert ranking.sides.tolist() == [False] * len(test) + [True] * len(test)


def test_noisy_or_and_maximum_by_hand():
    rows = [("a", "r", "b"), ("b", "s", "c"), ("a", "t", "c"), ("d", "r", "e"), ("e", "s", "f")]
    settings = {**SETTINGS, "constants": False, "smoothing": 0.0}
    model = (
        ml.Paths(max_length=2, aggregation="noisy-or", **settings).fit(ml.from_triples(rows)).model
    )
    best = model.top("t", head="d")[0]
    # t(X,Y) <= r(X,A), s(A,Y) holds of (a,c) and (d,f)
    assert best.entity == "f"
    assert best.score == pytest.approx(-np.log(1 - 0.5), abs=1e-4)
    explained = model.explain("d", "t", "f")
    assert not explained.known
    assert explained.rank == 1
    [reason] = explained.reasons
    assert str(reason.rule) == "t(X,Y) <= r(X,A), s(A,Y)"
    assert reason.paths == (("d", "e", "f"),)


def test_what_explains_a_triple_is_what_ranks_it(case):
    train, test, _, model = case
    for head, relation, tail in test:
        if head == tail or "nobody" in (head, tail):
            continue
        explained = model.explain(head, relation, tail, most=1000)
        [answer] = [a for a in model.top(relation, head=head, k=100) if a.entity == tail] or [None]
        if answer is not None:
            assert explained.score == pytest.approx(answer.score)
        assert explained.rank == model.rank([(head, relation, tail)], sides="tail").ranks[0]
        for reason in explained.reasons:
            for path in reason.paths if not reason.rule.constants else ():
                assert path[0] == head
                assert path[-1] == tail
                assert len(set(path)) == len(path) == len(reason.rule.path) + 1
    known = model.explain(*train[0])
    assert known.known


def test_metrics_of_a_ranking(case):
    _, test, _, model = case
    ranking = model.rank(test)
    ranks = ranking.ranks
    assert ranking.mrr == pytest.approx(np.mean(1 / ranks))
    assert ranking.hits(3) == np.mean(ranks <= 3)
    assert ranking.standard_errors["mrr"] == pytest.approx(np.std(1 / ranks) / len(ranks) ** 0.5)
    assert ranking.adjusted_mean_rank == pytest.approx(
        ranks.mean() / np.mean((ranking.candidates + 1) / 2)
    )
    parts = ranking.by_relation()
    assert sum(part["queries"] for part in parts.values()) == len(ranking)
    for side in ("head", "tail"):
        assert model.rank(test, sides=side).mrr == pytest.approx(
            np.mean(1 / ranks[ranking.sides == (side == "head")])
        )


def test_unknown_entities_rank_last_and_are_counted(case):
    *_, model = case
    ranking = model.rank([("e1", "r0", "nobody"), ("e1", "no such", "e2")])
    assert ranking.unknown == 4
    assert (ranking.ranks == len(model.entities)).all()


def test_same_model_for_any_number_of_workers_and_after_saving(case, tmp_path):
    _, test, split, model = case
    learner = ml.Paths(max_length=3, **SETTINGS)
    other = learner.fit(split, ml.Run(workers=3)).model
    assert (other.rank(test).ranks == model.rank(test).ranks).all()
    model.save(tmp_path / "rules.tsv")
    loaded = ml.load_model(tmp_path / "rules.tsv")
    with pytest.raises(ml.InputError, match="no graph"):
        loaded.rank(test)
    graph = ml.from_triples(split.train.rows()).train
    again = loaded.with_graph(graph)
    full = model.with_graph(graph)
    for row in test:
        if row[0] in graph.entities:
            ours, theirs = (m.top(row[1], head=row[0], k=5) for m in (again, full))
            assert [a.entity for a in ours] == [a.entity for a in theirs]
    assert [str(rule) for rule in again.rules()] == [str(rule) for rule in model.rules()]


def test_rules_are_written_and_read(case, tmp_path):
    *_, model = case
    model.save_rules(tmp_path / "rules.tsv", "r0")
    rules = read_rules(tmp_path / "rules.tsv")
    assert [str(rule) for rule in rules] == [str(rule) for rule in model.rules("r0")]
    assert [rule.support for rule in rules] == [rule.support for rule in model.rules("r0")]
    lines = "\n".join(f"{r.body}\t{r.support}\t{r.confidence}\t{r}" for r in rules)
    (tmp_path / "anyburl.txt").write_text(lines)
    assert [str(rule) for rule in read_rules(tmp_path / "anyburl.txt")] == list(map(str, rules))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5\t2\tr(X,Y) <= s(X,Y)", "expected 4 cells"),
        ("2\t5\t0.4\tr(X,Y) <= s(X,Y)", "the support 5 is not between"),
        ("x\t5\t0.4\tr(X,Y) <= s(X,Y)", "whole numbers"),
        ("5\t2\t0.4\tr(X,Y) <= s(X,A)", "no path"),
        ("5\t2\t0.4\tr(X,c) <= s(X,A), t(A,B)", "one atom"),
        ("5\t2\t0.4\tr(X,Y)", "expected head <= body"),
    ],
)
def test_rules_that_cannot_be_read(line, message):
    with pytest.raises(ValueError, match=message):
        parse_rule(line.split("\t"))


def test_rules_of_other_forms_are_left_out_and_said(tmp_path):
    lines = (
        "40\t30\t0.75\tr(X,Y) <= s(X,A), t(A,Y)",
        "40\t30\t0.75\tr(X,c) <= s(X,A), t(A,B)",
        "40\t30\t0.75\tr(X,c) <= ",
        "40\t30\t0.75\tr(c,Y) <= s(A,Y)",
    )
    (tmp_path / "rules.txt").write_text("\n".join(lines) + "\n")
    with pytest.warns(ml.DataWarning, match="2 rules are of no form that is used"):
        rules = read_rules(tmp_path / "rules.txt")
    assert list(map(str, rules)) == ["r(X,Y) <= s(X,A), t(A,Y)", "r(c,X) <= s(A,X)"]
    (tmp_path / "rules.txt").write_text(lines[0] + "\n40\t30\t0.75\tr(X,Y)\n")
    with pytest.raises(ml.InputError, match=r"rules.txt:2: expected head <= body"):
        read_rules(tmp_path / "rules.txt")


def test_a_path_read_backwards_twice_is_itself():
    for path in product(range(4), repeat=3):
        assert reversed_path(reversed_path(path, 2), 2) == path


def test_planted_rules_are_learned_and_the_rest_is_not():
    rng = np.random.default_rng(5)
    people = [f"p{number}" for number in range(120)]
    parents = {(a, b) for a in people for b in rng.choice(people, 2) if a < b}
    rows = [(a, "parent", b) for a, b in parents]
    grand = {(a, c) for a, b in parents for b2, c in parents if b == b2 and a != c}
    held = sorted(grand)[::5]
    rows += [(a, "grandparent", c) for a, c in sorted(grand - set(held))]
    split = ml.from_triples(rows)
    model = ml.Paths().fit(split).model
    assert str(next(model.rules("grandparent"))) == ("grandparent(X,Y) <= parent(X,A), parent(A,Y)")
    ranking = model.rank([(a, "grandparent", c) for a, c in held])
    assert ranking.hits(1) > 0.9


def test_an_empty_graph_is_refused():
    graph = ml.Graph.of([], entities=["a"], relations=["r"])
    with pytest.raises(ml.InputError, match="no triples"):
        ml.Paths().fit(graph)
    with pytest.raises(ml.InputError, match="give either head or tail"):
        ml.Paths().fit(ml.from_triples([("a", "r", "b")])).model.top("r")


def test_rules_of_a_file_are_counted_and_weighed(case, tmp_path):
    _, test, split, model = case
    path = tmp_path / "rules.tsv"
    model.save_rules(path)
    again = ml.Paths(max_length=3, rules=str(path), **SETTINGS).fit(split).model
    assert sorted(map(str, again.rules())) == sorted(map(str, model.rules()))
    counts = {str(rule): (rule.support, rule.body) for rule in model.rules()}
    assert {str(rule): (rule.support, rule.body) for rule in again.rules()} == counts
    assert again.rank(test).mrr == pytest.approx(model.rank(test).mrr, abs=0.2)
    path.write_text("5\t2\t0.4\tother(X,Y) <= another(X,Y)\n")
    with pytest.raises(ml.InputError, match="no rule is about relations of the graph"):
        ml.Paths(rules=str(path)).fit(split)


def test_rules_about_names_that_the_graph_lacks_are_told_of(tmp_path):
    split = ml.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "s", "a"), ("b", "s", "a")])
    path = tmp_path / "rules.txt"
    lines = ["r(X,Y) <= s(Y,X)", "r(X,Y) <= unheard(X,Y)", "r(X,nobody) <= s(X,a)"]
    path.write_text("".join(f"4\t2\t0.5\t{line}\n" for line in lines))
    with pytest.warns(ml.DataWarning, match="2 rules name relations or entities .* unheard"):
        ml.Paths(rules=str(path)).fit(split)


def test_a_relation_in_other_words_is_asked_back():
    model = ml.Paths().fit(ml.from_triples([("Ann", "lives in", "Rome")])).model
    with pytest.raises(ml.InputError, match="there are: lives in; did you mean 'lives in'"):
        model.top("live in", head="Ann")


def test_validation_triples_choose_how_rules_are_put_together():
    made = ml.synthetic.planted_graph(300, rng=2)
    rows = made.graph.rows()
    rng = np.random.default_rng(0)
    held = set(rng.permutation(len(rows))[:120].tolist())
    train = [row for number, row in enumerate(rows) if number not in held]
    split = ml.from_triples(train, [rows[number] for number in sorted(held)])
    model = ml.Paths(max_length=2, epochs=2).fit(split).model
    learned = ml.Paths(max_length=2, epochs=2).fit(split.train).model
    less = {link: replace(w, rules=0.0 * w.rules) for link, w in learned.weights.items()}
    ways = [replace(learned, aggregation=how) for how in ("learned", "maximum", "noisy-or")]
    ways.append(replace(learned, weights=less))
    often = {link: LinkWeights.by_frequency(w) for link, w in learned.weights.items()}
    ways.append(replace(learned, weights=often))
    assert model.rank(split.valid).mrr >= max(way.rank(split.valid).mrr for way in ways)
    few = ml.from_triples(train, [rows[number] for number in sorted(held)[:10]])
    assert ml.Paths(max_length=2, epochs=2).fit(few).model.aggregation == "learned"


def test_where_relations_are_random_rules_are_not_believed():
    # few entities are in most triples, and one triple says nothing of another
    rng = np.random.default_rng(1)
    often = 1.0 / np.arange(1, 61)
    ends = rng.choice(60, (2, 500), p=often / often.sum())
    rows = sorted({(f"e{a}", f"r{rng.integers(3)}", f"e{b}") for a, b in ends.T.tolist()})
    held = rng.permutation(len(rows))
    valid, train = ([rows[number] for number in part] for part in (held[:80], held[80:]))
    split = ml.from_triples(train, valid)
    by_hand = ml.Paths(max_length=2).fit(split.train).model.rank(split.valid).mrr
    assert ml.Paths(max_length=2).fit(split).model.rank(split.valid).mrr > by_hand


def test_where_only_frequency_tells_anything_it_alone_is_chosen():
    rng = np.random.default_rng(1)
    often = 1.0 / np.arange(1, 31)
    ends = rng.choice(30, (2, 260), p=often / often.sum())
    rows = sorted({(f"h{a}", "likes", f"t{b}") for a, b in ends.T.tolist()})
    held = rng.permutation(len(rows))
    valid, train = ([rows[number] for number in part] for part in (held[:60], held[60:]))
    model = ml.Paths(max_length=3).fit(ml.from_triples(train, valid)).model
    listed = [answer.entity for answer in model.top("likes", head="h0", k=50, new=False)]
    counts = [sum(tail == name for _, _, tail in train) for name in listed]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_queries_with_many_candidates_are_fewer(case):
    _, _, split, model = case
    collector = Collector(split.train, model.constants, 5.0, 1, 1 << 20)
    nothing = LinkRules(0, [], np.empty(0, np.int64), np.empty(0, np.int64))
    sources = np.arange(8) % len(split.train.entities)
    strangers = np.tile(np.arange(5), (8, 1))
    whole = collector.collect(nothing, sources, strangers=strangers)
    assert len(whole.row_starts) == 9
    part = collector.collect(nothing, sources, strangers=strangers, most_rows=12)
    queries = len(part.row_starts) - 1
    assert whole.candidate_starts[queries - 1] < 12 <= whole.candidate_starts[queries]
    assert part.candidates.tolist() == whole.candidates[: len(part.candidates)].tolist()


def test_queries_with_many_uses_of_rules_with_constants_are_fewer():
    graph = ml.from_triples(random_split(3, entities=12, triples=150)[0]).train
    collector = Collector(graph, mine_constants(graph, **EVERY), 5.0, 1, 1 << 20)
    nothing = LinkRules(0, [], np.empty(0, np.int64), np.empty(0, np.int64))
    sources = np.arange(12)
    whole = collector.collect(nothing, sources, list_constants=True)
    most = int(whole.candidate_starts[-1]) + 1  # which candidates alone would never reach
    assert whole.row_starts[-1] > 8 * most
    part = collector.collect(nothing, sources, most_rows=most)
    queries = len(part.row_starts) - 1
    assert whole.row_starts[queries - 1] < 8 * most <= whole.row_starts[queries]


def test_rules_with_constants_for_one_answer_are_the_surest_within_a_bound(case):
    _, _, split, model = case
    found = mine_constants(split.train, **EVERY | {"most_holders": 12})

    def by_head(rules):
        groups = {}
        share = rules.support / (rules.body + 5.0)
        for row in np.lexsort((-rules.support, -share)).tolist():
            head = int(rules.head_link[row]), int(rules.head_end[row])
            holders = int(rules.body[row]) if rules.body_end[row] >= 0 else 0
            groups.setdefault(head, []).append((float(share[row]), holders))
        return groups

    every, some = by_head(model.constants), by_head(found)
    assert len(found) < len(model.constants)
    for head, rules in every.items():
        within = np.cumsum([holders for _, holders in rules]) <= 12
        assert [share for share, _ in some.get(head, [])] == [
            share for (share, _), kept in zip(rules, within, strict=True) if kept
        ]


def test_the_work_of_weighing_is_bounded_over_all_relations(monkeypatch):
    rng = np.random.default_rng(2)
    sizes = [2 + 200 // (1 + number) for number in range(40)]
    rows = {
        (f"e{rng.integers(60)}", f"r{number}", f"e{rng.integers(60)}")
        for number, size in enumerate(sizes)
        for _ in range(size)
    }
    allowed, left = {}, []

    def counted(collector, rules, *, most_rows, **others):
        choices = choices_of(collector, rules, most_rows=most_rows, **others)
        evidence = choices.evidence
        before_last = max(evidence.row_starts[-2], evidence.candidate_starts[-2])
        assert before_last < most_rows
        left.append(int(np.sum(rules.link % 40 == collector.graph.triples[1])))
        left[-1] -= len(evidence.row_starts) - 1
        allowed[rules.link] = most_rows
        return choices

    monkeypatch.setattr(learner, "choices_of", counted)
    settings = {"max_length": 2, "epochs": 1, "max_rows": 400}
    ml.Paths(**settings).fit(ml.from_triples(sorted(rows)).train)
    assert len(allowed) == 80
    assert sum(allowed.values()) <= 25 * 400
    assert max(allowed.values()) == 400  # the largest relation has all that one may have
    assert any(left)  # there were more queries than rows


@pytest.mark.parametrize("aggregation", ["learned", "noisy-or", "maximum"])
def test_ranks_are_the_same_however_few_are_asked_at_once(case, aggregation, monkeypatch):
    _, _, split, model = case
    model = replace(model, aggregation=aggregation)
    whole = model.rank(split.test, filtered=split.all)
    monkeypatch.setattr(path_model, "_ROWS", 1)
    assert model.link_scores(0, np.arange(3)).starts.shape == (2,)
    assert model.rank(split.test, filtered=split.all).ranks.tolist() == whole.ranks.tolist()


def test_what_scores_a_link_keeps_nothing_as_long_as_all_rules_with_constants(case):
    model = case[3]
    scorers = [model.scorer(link) for link in range(2 * len(model.relations))]
    assert all(scorer.constant_shares is scorers[0].constant_shares for scorer in scorers)
    assert all(len(scorer.shares) == len(scorer.rules.paths) for scorer in scorers)


def test_planted_rules_come_first():
    made = ml.synthetic.planted_graph(2000, rng=1)
    model = ml.Paths(aggregation="noisy-or", constants=False).fit(made.graph).model
    found = [str(rule) for rule, _ in zip(model.rules(), range(10), strict=False)]
    assert sorted(found) == sorted(made.rules)


def test_probabilities_of_atoms_are_the_noisy_or_of_rules():
    schema = ml.Schema.of("parent(person,person)", "grand(person,person)", "old(person)")
    pairs = [(f"P{a}", f"P{b}") for a in range(15) for b in (2 * a + 1, 2 * a + 2)]
    grand = [(a, d) for a, b in pairs for c, d in pairs if b == c]
    facts = {"parent": pairs, "grand": grand[8:], "old": [("P0",), ("P1",), ("P2",)]}
    database = ml.Database.from_facts(schema, facts)
    model = ml.Paths(max_length=2, constants=False, smoothing=1.0).fit(database).model
    codes = database.domains["person"].codes
    asked = np.array([[codes[a], codes[b]] for a, b in (grand[0], ("P0", "P30"))]).T
    found = model.predict(database, "grand", asked)
    shares = [
        rule.smoothed(1.0)
        for rule in model.rules("grand")
        if any(
            walk[-1] == grand[0][1]
            for walk in simple_walks(
                [(a, name, b) for name in ("parent", "grand") for a, b in facts[name]],
                tuple(model.link_names.index(link) for link in rule.path),
                list(model.relations),
                grand[0][0],
            )
        )
    ]
    assert shares
    assert found[0] == pytest.approx(1 - np.prod(1 - np.minimum(shares, 0.999)))
    assert found[1] == pytest.approx(len(facts["grand"]) / database.ground_atoms("grand"))
    old = model.predict(database, "old", np.array([[codes["P0"], codes["P9"]]]))
    assert ((old > 0) & (old <= 1)).all()
