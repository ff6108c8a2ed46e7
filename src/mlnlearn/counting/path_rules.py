"""Rules along the paths of a knowledge graph, as codes of links and entities, with their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.walks import Path, Trie, reversed_path
from mlnlearn.data.graph import Codes, Longs


@dataclass(frozen=True, eq=False)
class ClosedRules:
    """Rules ``relation(x,y) <= path(x,y)`` with their counts, of all relations."""

    heads: Longs
    paths: Sequence[Path]
    support: Longs
    body: Longs
    pca_body: Longs

    def __len__(self) -> int:
        return len(self.paths)

    def at(self, rows: NDArray[np.integer]) -> ClosedRules:
        """Return some of the rules."""
        return ClosedRules(
            self.heads[rows],
            [self.paths[row] for row in rows.tolist()],
            self.support[rows],
            self.body[rows],
            self.pca_body[rows],
        )

    @cached_property
    def by_link(self) -> dict[int, LinkRules]:
        """The rules of links, as they were asked for: models that share rules share these."""
        return {}

    def of_link(self, link: int, relations: int) -> LinkRules:
        """Return the rules of a link, in its direction.

        Parameters
        ----------
        link
            A relation, or that number and the number of relations for its inverse.
        relations
            How many there are.
        """
        if link not in self.by_link:
            part = self.at(np.flatnonzero(self.heads == link % relations))
            rules = LinkRules(link % relations, part.paths, part.support, part.body)
            self.by_link[link] = rules if link < relations else rules.backward(relations)
        return self.by_link[link]


@dataclass(frozen=True, eq=False)
class ConstantRules:
    """Rules ``head(x,c) <= body(x,e)`` with constants c and e, or with any entity for e.

    Attributes
    ----------
    head_link, head_end, body_link, body_end
        Links and constants; a `body_end` of -1 is any entity.
    support, body
        How many x both hold of, and the body.
    """

    head_link: Codes
    head_end: Codes
    body_link: Codes
    body_end: Codes
    support: Longs
    body: Longs

    def __len__(self) -> int:
        return len(self.support)

    @classmethod
    def none(cls) -> ConstantRules:
        """Return no rules."""
        codes, counts = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(codes, codes, codes, codes, counts, counts)

    def at(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> ConstantRules:
        """Return some of the rules."""
        columns = (self.head_link, self.head_end, self.body_link, self.body_end)
        codes = [column[rows] for column in columns]
        return ConstantRules(
            codes[0], codes[1], codes[2], codes[3], self.support[rows], self.body[rows]
        )

    def by_body(self, entities: int) -> tuple[Longs, Longs]:
        """Return keys of bodies in order, and the rules in that order, then by their heads."""
        keys = self.body_link.astype(np.int64) * (entities + 1) + self.body_end + 1
        order = np.lexsort((self.head_end, self.head_link, keys))
        return keys[order], order

    def by_head(self, entities: int) -> tuple[Longs, Longs]:
        """Return keys of heads in order, and the rules in that order, then by their bodies."""
        keys = self.head_link.astype(np.int64) * (entities + 1) + self.head_end + 1
        order = np.lexsort((self.body_end, self.body_link, keys))
        return keys[order], order


@dataclass(frozen=True, eq=False)
class LinkRules:
    """The closed rules of one link, in its direction: paths, and their counts."""

    link: int
    paths: Sequence[Path]
    support: Longs
    body: Longs

    @cached_property
    def trie(self) -> Trie:
        """The paths by their beginnings."""
        return Trie.of(list(self.paths))

    def backward(self, relations: int) -> LinkRules:
        """Return the same rules for the link read the other way."""
        link = (self.link + relations) % (2 * relations)
        paths = [reversed_path(path, relations) for path in self.paths]
        return LinkRules(link, paths, self.support, self.body)
