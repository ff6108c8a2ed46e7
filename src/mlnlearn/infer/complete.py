"""From databases to worlds of a network and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mlnlearn.data.database import Database
from mlnlearn.data.population import domain_sizes
from mlnlearn.data.sampling import is_among, pack
from mlnlearn.errors import InputError
from mlnlearn.infer.network import Codes, GroundAtoms, Ints, Network


def observed_world(network: Network, database: Database) -> Codes:
    """Return the world of a network that a database describes: its true atoms, all others false.

    The network must have been grounded in a database with the same domains.
    """
    world = np.zeros(network.variables, np.int32)
    seen = np.zeros(network.variables, np.int64)
    members = np.zeros(network.variables, np.int64)
    for atoms in network.atoms:
        true = np.flatnonzero(is_among(_keys(database, atoms), _fact_keys(database, atoms)))
        world[atoms.variable[true]] = atoms.value[true]
        np.add.at(seen, atoms.variable[true], 1)
        np.add.at(members, atoms.variable, 1)
    wrong = int(((members == network.cardinalities) & (seen != 1)).sum())
    for name, columns in network.forced.items():
        # the only value of a block is no variable, but must be there all the same
        sizes = domain_sizes(database, name)
        known = np.sort(pack(database.facts(name), sizes))
        wrong += int((~is_among(pack(columns, sizes), known)).sum())
    if wrong:
        raise InputError(
            f"{wrong} blocks of mutually exclusive atoms do not have exactly one true atom "
            f"in {database.name or 'the database'}",
            hint="mend the data, or strip the '!' markers with Schema.without_functional()",
        )
    return world


def completed(database: Database, network: Network, world: Codes) -> Database:
    """Return a database with the unknown atoms of a network as they are in a world.

    All that was unknown and is not in the network is taken as false.
    """
    facts = {**database.true}
    for name, columns in network.forced.items():
        facts[name] = np.concatenate([database.facts(name), columns], axis=1)
    for atoms in network.atoms:
        chosen = atoms.columns[:, world[atoms.variable] == atoms.value]
        name = atoms.predicate.name
        facts[name] = np.concatenate([facts.get(name, database.facts(name)), chosen], axis=1)
    whole = Database.from_codes(database.schema, database.domains, facts, name=database.name)
    return replace(whole, false=database.false)


def _keys(database: Database, atoms: GroundAtoms) -> Ints:
    return pack(atoms.columns, domain_sizes(database, atoms.predicate.name))


def _fact_keys(database: Database, atoms: GroundAtoms) -> Ints:
    name = atoms.predicate.name
    return np.sort(pack(database.facts(name), domain_sizes(database, name)))
