"""``python -m mlnlearn``: the program, where its script is not on the path."""

from mlnlearn.cli.main import run

if __name__ == "__main__":
    run()
