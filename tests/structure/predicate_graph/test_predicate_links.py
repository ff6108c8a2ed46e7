"""Links, edges and variabilisation as in the examples of Dinh et al. 2011."""

from xml.etree import ElementTree

from mlnlearn.logic.atoms import Literal, Predicate
from mlnlearn.logic.canonical import canonical, canonical_key, clause_of
from mlnlearn.logic.clauses import clause
from mlnlearn.structure.predicate_graph.draw import to_dot, to_svg
from mlnlearn.structure.predicate_graph.graph import PredicateGraph
from mlnlearn.structure.predicate_graph.links import (
    Edge,
    PredicateLink,
    SignedPredicate,
    formula_of,
    links,
)
from mlnlearn.structure.predicate_graph.paths import Drafting

ADVISED = Predicate("AdvisedBy", ("person", "person"))
PROFESSOR = Predicate("Professor", ("person",))
STUDENT = Predicate("student", ("person",))
MOVIE = Predicate("movie", ("title", "person"))
WORKED = Predicate("workedUnder", ("person", "person"))


def texts(found):
    return [str(link) for link in found]


def test_example_4():
    assert texts(links(PROFESSOR, ADVISED)) == ["<0 0>", "<0 1>"]
    assert texts(links(ADVISED, PROFESSOR)) == ["<0 0>", "<1 0>"]
    assert texts(links(PROFESSOR, PROFESSOR)) == ["<0 0>"]
    assert texts(links(ADVISED, ADVISED)) == [
        "<0 0>", "<0 1>", "<1 0>", "<1 1>",
        "<0 0|1 0>", "<0 0|1 1>", "<0 1|1 0>", "<0 1|1 1>",
    ]  # fmt: skip
    edge = Edge(SignedPredicate(PROFESSOR), SignedPredicate(ADVISED), PredicateLink(((0, 1),)))
    expected = clause(PROFESSOR("a"), ADVISED("b", "a"))
    assert formula_of(edge) == canonical(expected)


def test_no_link_without_a_shared_type():
    assert links(Predicate("p", ("t",)), Predicate("q", ("s",))) == ()
    assert texts(links(MOVIE, Predicate("r", ("person", "title")))) == [
        "<0 1>",
        "<1 0>",
        "<0 1|1 0>",
    ]


def test_similar_links_are_one_edge_and_trivial_ones_none():
    graph = PredicateGraph.of([ADVISED])
    clauses = list(graph.edges.values())
    assert len(set(clauses)) == len(clauses)
    assert all(len({literal.atom for literal in found}) == 2 for found in clauses)
    labels = {str(edge) for edge in graph.edges}
    # <1 0> is <0 1> seen from the other side where both signs are equal
    assert "AdvisedBy <0 1> AdvisedBy" in labels
    assert "AdvisedBy <1 0> AdvisedBy" not in labels
    assert {"AdvisedBy <0 1> !AdvisedBy", "AdvisedBy <1 0> !AdvisedBy"} <= labels
    assert not any("<0 0|1 1>" in label for label in labels)


def test_graph_has_a_node_for_each_sign_and_can_be_drawn():
    graph = PredicateGraph.of([ADVISED, PROFESSOR])
    assert [str(node) for node in graph.nodes] == [
        "AdvisedBy", "!AdvisedBy", "Professor", "!Professor",
    ]  # fmt: skip
    chosen = next(iter(graph.edges))
    reduced = graph.reduced({chosen: 0.25})
    assert list(reduced.edges) == [chosen]
    line = f'"{chosen.first}" -- "{chosen.second}" [label="{chosen.link} 0.25"]'
    assert line in to_dot(reduced)
    assert line not in to_dot(graph)


def test_a_picture_has_every_node_and_edge_and_thick_lines_for_high_measures():
    graph = PredicateGraph.of([ADVISED, PROFESSOR])
    picture = ElementTree.fromstring(to_svg(graph))
    space = "{http://www.w3.org/2000/svg}"
    assert len(picture.findall(f"{space}path")) == len(graph.edges)
    titles = {title.text.strip() for title in picture.iter(f"{space}title")}
    assert titles == {f"{edge} {edge.link}" for edge in graph.edges}
    one, two = list(graph.edges)[:2]
    reduced = ElementTree.fromstring(to_svg(graph.reduced({one: 1.0, two: 0.01})))
    thick, thin = (float(p.get("stroke-width")) for p in reduced.iter(f"{space}path"))
    assert thick > thin
    names = [text.text for text in reduced.findall(f"{space}text") if text.get("text-anchor")]
    assert names == [str(node) for node in graph.nodes]


def variabilise(path, closing=()):
    """The clause of a path of edges, of which some close cycles."""
    edges = [*path, *closing]
    nodes = list(dict.fromkeys(n for edge in edges for n in (edge.first, edge.second)))
    drafted = Drafting(nodes).draft(
        [
            (nodes.index(e.first), nodes.index(e.second), e.link.pairs, place >= len(path))
            for place, e in enumerate(edges)
        ]
    )
    if drafted is None:
        return None
    labels = [(node.predicate, node.positive) for node in nodes]
    return clause_of(canonical_key((node, *terms) for node, terms in drafted), labels)


def test_example_6():
    advised, student = SignedPredicate(ADVISED, positive=False), SignedPredicate(STUDENT)
    self_link = Edge(advised, advised, PredicateLink(((0, 1),)))
    other = Edge(advised, student, PredicateLink(((0, 0),)))
    expected = clause(
        ~Literal(ADVISED("a", "b")), ~Literal(ADVISED("c", "a")), Literal(STUDENT("a"))
    )
    assert variabilise([self_link, other]) == canonical(expected)
    # advisedBy is more frequent, so it comes first however the path is written
    assert variabilise([other, self_link]) == canonical(expected)


def test_a_closing_step_ties_two_literals():
    movie, worked = SignedPredicate(MOVIE, positive=False), SignedPredicate(WORKED)
    path = [
        Edge(movie, movie, PredicateLink(((0, 0),))),
        Edge(movie, worked, PredicateLink(((1, 0),))),
    ]
    opened = clause(~Literal(MOVIE("m", "a")), ~Literal(MOVIE("m", "b")), WORKED("a", "c"))
    closed = clause(~Literal(MOVIE("m", "a")), ~Literal(MOVIE("m", "b")), WORKED("a", "b"))
    assert variabilise(path) == canonical(opened)
    closing = Edge(movie, worked, PredicateLink(((1, 1),)))
    assert variabilise(path, [closing]) == canonical(closed)
    # nothing is left to tie
    assert variabilise(path, [closing, closing]) is None


def test_a_place_linked_to_two_places_makes_them_equal():
    advised = SignedPredicate(ADVISED)
    found = variabilise([Edge(advised, advised, PredicateLink(((0, 0), (1, 0))))])
    assert found == canonical(clause(ADVISED("a", "a"), ADVISED("a", "b")))
