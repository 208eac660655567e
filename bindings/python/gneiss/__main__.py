"""python -m gneiss, and the script `gneiss`: the command of this wheel, in place of this process."""

import os
import sys


def main():
    """Runs the command with the arguments of this process."""
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "gneiss")
    os.execv(command, ["gneiss", *sys.argv[1:]])


if __name__ == "__main__":
    main()
