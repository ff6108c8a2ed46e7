"""Files from the web, kept in a folder, and taken only where their checksum is the one expected."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

from mlnlearn.data.graph import GraphSplit
from mlnlearn.data.load.triples import read_graph
from mlnlearn.errors import InputError, did_you_mean

_RAW = "https://raw.githubusercontent.com"
_UMLS = f"{_RAW}/villmow/datasets_knowledge_embedding/9e392453d6804d1f51c13e5650ae58ed48b638d5"
_WN18RR = (
    f"{_RAW}/DeepGraphLearning/KnowledgeGraphEmbedding/617062aaedf53bf4d6b44450a580a96dc30e0632"
)
PUBLIC_GRAPHS = {
    "umls": (
        (
            f"{_UMLS}/other/umls/train.txt",
            "30202640f8b26be8ba2323361ec8831e9e6882396138ae5ca3bef326e7fb6ded",
        ),
        (
            f"{_UMLS}/other/umls/valid.txt",
            "4cba113f49a7ae9bd1e43f659649b03486ac66642168f67b41e434d9e133f92d",
        ),
        (
            f"{_UMLS}/other/umls/test.txt",
            "3d9e6e8722cfbb7b3eb8aa5b77eff3eeda1d86d3b968fe0a0b95c641e1c9c6e4",
        ),
    ),
    "wn18rr": (
        (
            f"{_WN18RR}/data/wn18rr/train.txt",
            "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df",
        ),
        (
            f"{_WN18RR}/data/wn18rr/valid.txt",
            "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab",
        ),
        (
            f"{_WN18RR}/data/wn18rr/test.txt",
            "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5",
        ),
    ),
}
"""Addresses and checksums of public knowledge graphs: what to learn from, choose by and test on."""
_SHA256 = re.compile(r"[0-9a-fA-F]{64}\Z")


def fetch(url: str, sha256: str, folder: str | PathLike[str] | None = None) -> Path:
    """Return a file from the web; it is fetched once, and checked every time.

    Parameters
    ----------
    url
        Its address: ``https://…``, or what else pooch knows.
    sha256
        Its checksum, 64 hexadecimal digits; a file with another one is refused, and not kept.
    folder
        Where files are kept; by default the cache folder of the user.

    Examples
    --------
    >>> fetch("https://example.org/data.tsv", "abc")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: 'abc' is no SHA-256 checksum: 64 hexadecimal digits
    """
    if not _SHA256.match(sha256):
        raise InputError(f"{sha256!r} is no SHA-256 checksum: 64 hexadecimal digits")
    try:
        import pooch  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError("fetching needs pooch", hint="pip install mlnlearn[fetch]") from error
    pooch.get_logger().setLevel("ERROR")
    home = Path(folder) if folder is not None else Path(pooch.os_cache("mlnlearn"))
    try:
        found = pooch.retrieve(url, known_hash=f"sha256:{sha256.lower()}", path=home)
    except ValueError as error:
        if "hash" not in str(error).lower():
            raise InputError(f"{url}: {error}") from error
        raise InputError(
            f"{url}: the file has another checksum than {sha256[:12]}…",
            hint="it was changed or damaged: look at the address, and at who serves it",
        ) from error
    except Exception as error:  # whatever a network answers with
        raise InputError(
            f"{url}: cannot fetch the file: {type(error).__name__}",
            hint=f"without the web, put the file into {home} and read it from there",
        ) from error
    return Path(found)


def fetch_graph(name: str, folder: str | PathLike[str] | None = None) -> GraphSplit:
    """Return a public knowledge graph with its standard split, fetched once.

    Parameters
    ----------
    name
        ``"umls"`` or ``"wn18rr"``.
    folder
        Where files are kept; by default the cache folder of the user.

    Examples
    --------
    >>> split = fetch_graph("umls")  # doctest: +SKIP
    >>> print(split.train)  # doctest: +SKIP
    5,215 triples, 135 entities, 46 relations
    """
    files = PUBLIC_GRAPHS.get(name.lower())
    if files is None:
        raise InputError(f"no public graph {name!r}", hint=did_you_mean(name, PUBLIC_GRAPHS))
    train, valid, test = (fetch(url, sha256, folder) for url, sha256 in files)
    return read_graph(train, valid, test)
