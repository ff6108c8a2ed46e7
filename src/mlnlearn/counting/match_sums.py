"""Counts of joined rows added up by place where places are few, else packed: no row is made."""

from __future__ import annotations

import numpy as np

from mlnlearn.compiled import njit

_TOP = 2**63 - 1
_NEAR = 2.0**62  # products of floats below this are products of whole numbers that fit


@njit(cache=True, nogil=True)
def add_matches(sums, seen, first, second, starts, lengths, order):  # type: ignore[no-untyped-def]
    """Add the products of the counts of matching rows; tell whether none left 64 bits on the way.

    Parameters
    ----------
    sums, seen
        A sum for each place, and whether any match has it.
    first, second
        Of each table, what a row adds to the place of its matches, and its count.
    starts, lengths
        The matches of each row of the first table: a range of rows of the second one,
    order
        or of places in this order of them; empty where there is none.
    """
    (places, counts), (more_places, more_counts) = first, second
    fits = True
    for row in range(len(places)):
        for match in range(starts[row], starts[row] + lengths[row]):
            other = order[match] if len(order) else match
            left, right = counts[row], more_counts[other]
            if abs(float(left) * float(right)) >= _NEAR and abs(right) > _TOP // abs(left):
                fits = False
            place, more = places[row] + more_places[other], left * right
            before = sums[place]
            if (more > 0 and before > _TOP - more) or (more < 0 and before < -_TOP - more):
                fits = False
            sums[place] = before + more
            seen[place] = True
    return fits


@njit(cache=True, nogil=True)
def pack_matches(together, bits, least, first, second, starts, lengths, order):  # type: ignore[no-untyped-def]
    """Put the places of matching rows, and in so many lowest bits their counts, into `together`.

    Counts are products, less the least one; else it is as for `add_matches`.
    """
    (places, counts), (more_places, more_counts) = first, second
    in_order, filled = len(order) == 0, 0
    for row in range(len(places)):
        for match in range(starts[row], starts[row] + lengths[row]):
            other = np.uint64(match if in_order else order[match])
            place, count = places[row] + more_places[other], np.uint64(0)
            if bits:
                count = np.uint64(counts[row] * more_counts[other] - least)
            together[filled] = np.uint64(place) << bits | count
            filled += 1
