"""`python -m controller`: says that this version changes nothing on a deployment, and ends."""

import sys

if __name__ == "__main__":
    sys.stderr.write("controller: nothing to do yet, this version only observes; changes come with a later one\n")
