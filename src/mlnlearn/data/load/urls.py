"""Addresses of databases: ``sqlite:///shop.sqlite``, ``duckdb:///shop.duckdb``, ``postgresql://…``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from mlnlearn.errors import InputError, Location, without_secrets

FILES = ("sqlite", "duckdb")
SERVERS = ("postgresql", "postgres")

# Nothing in it looks like a password, which would be taken out of the message.
_ADDRESS = (
    "in a user or password write %2F for '/', %3F for '?', %23 for '#', %40 for '@'; an address is "
    "postgresql://user@host:port/name, with a password user:password"
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


@dataclass(frozen=True)
class ServerAddress:
    """A PostgreSQL server and database, and which of its schemas to read.

    Attributes
    ----------
    url
        What the client library connects to.
    schemas
        Schemas asked for by ``?schema=one,two``; those of the search path where there are none.
    """

    url: str = field(repr=False)
    schemas: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The address without a password, to name it in messages and in what is stored."""
        return shown_address(self.url)

    @property
    def name(self) -> str:
        """The name of the database."""
        return unquote(urlsplit(self.url).path.lstrip("/"))


def is_url(text: str) -> bool:
    """Tell an address from a file name.

    Examples
    --------
    >>> is_url("postgresql://localhost/shop"), is_url("shop.sqlite")
    (True, False)
    """
    return bool(_SCHEME.match(text))


def read_url(text: str) -> Path | ServerAddress:
    """Return the file or the server that an address names.

    Three slashes precede the path of a file, relative to where the program runs; four, an absolute
    one.

    Examples
    --------
    >>> read_url("sqlite:///data/shop.sqlite")
    PosixPath('data/shop.sqlite')
    >>> read_url("postgresql://anna:secret@localhost/shop?schema=lab").schemas
    ('lab',)
    """
    found = _SCHEME.match(text)
    scheme = found.group(1).lower() if found else ""
    where = Location(shown_address(text))
    if scheme in FILES:
        parts = _split(text, where)
        path = unquote(parts.path.removeprefix("/"))
        if parts.netloc or not path:
            example = f"{scheme}:///folder/file, or {scheme}:////folder/file for an absolute path"
            raise InputError("an address of a file has three slashes", where, example)
        return Path(path)
    if scheme not in SERVERS:
        known = ", ".join(f"{name}://" for name in (*FILES, SERVERS[0]))
        raise InputError(f"no databases with addresses {scheme}://…; there are: {known}", where)
    parts = _split(text, where)
    options = parse_qsl(parts.query, keep_blank_values=True)
    schemas = [name for key, value in options if key == "schema" for name in value.split(",")]
    query = urlencode([(key, value) for key, value in options if key != "schema"])
    return ServerAddress(urlunsplit(parts._replace(query=query)), tuple(filter(None, schemas)))


def _split(text: str, where: Location) -> SplitResult:
    """Split an address; a complaint quotes no part of it, which might be a password."""
    try:
        parts = urlsplit(text)
        if parts.scheme in FILES:
            return parts
        _ = parts.port
    except ValueError:
        raise InputError("the host or port cannot be read", where, _ADDRESS) from None
    if "@" not in parts.netloc and "@" in f"{parts.path}{parts.query}{parts.fragment}":
        raise InputError("there is a '/', '?' or '#' before the '@'", where, _ADDRESS)
    return parts


def shown_source(source: str | Path) -> str:
    """Return the name of a file, folder or address as it may be shown: without a password.

    Examples
    --------
    >>> shown_source("postgresql://anna:secret@localhost/shop"), shown_source("shop.sqlite")
    ('postgresql://anna@localhost/shop', 'shop.sqlite')
    """
    text = str(source)
    return shown_address(text) if is_url(text) else without_secrets(text)


def shown_address(text: str) -> str:
    """Return an address as it may be shown and stored: without password and settings.

    Examples
    --------
    >>> shown_address("postgresql://anna:secret@localhost:5433/shop?password=secret")
    'postgresql://anna@localhost:5433/shop'
    >>> shown_address("postgresql://anna:se#cr/et@localhost/shop")
    'postgresql://anna@localhost/shop'
    """
    return re.split("[?#]", without_secrets(text), maxsplit=1)[0]
